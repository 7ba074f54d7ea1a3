package session

import (
	"fmt"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/topology"
)

// safe describes the safe state, if there is one.
func (s *Session) safe() (text string, there bool) {
	low, high, there := s.safeRounds()
	where := runfolder.CheckpointsOf(s.config(), s.Folder.Dir)
	return fmt.Sprintf("the state at the beginning of %s is safe in %s", runfolder.NameRounds(low, high), where), there
}

// safeRounds returns the smallest and the largest round of the newest checkpoints, and whether there are any. A
// simulation has one for all ranks.
func (s *Session) safeRounds() (low, high int, there bool) {
	cfg, dir := s.config(), s.Folder.Dir
	if s.Mode != "sim" {
		return runfolder.SafeRounds(cfg, dir, cfg.Topology.Size)
	}
	low, there = checkpoint.Newest(runfolder.SimFolder(cfg, dir))
	return low, low, there
}

// Lost describes the part of the run that an interruption loses, and that the command again resumes from the rest.
func (s *Session) Lost(again string) string {
	if safe, there := s.safe(); there {
		return fmt.Sprintf("what came after is lost, %s; go on with: %s", safe, again)
	}
	return "the run is lost, no state is safe: " + runfolder.WhyNothing(s.config())
}

// SayStopped tells the user of a stopped run which state is safe, and that the command again resumes from there.
func (s *Session) SayStopped(again string) {
	s.Display.Close()
	safe, there := s.safe()
	if !there {
		s.Screen.say("no state is safe: %s", runfolder.WhyNothing(s.Run.Config()))
		return
	}
	s.Screen.say("%s", safe)
	advice.Next(s.Screen.Talk, again, "go on")
}

// SayDiverged tells the user of a run that has ended because another worker's model diverged why no state is offered.
// No record shows which messages of that worker the states on disk hold. With --resume they would be mixed again.
func (s *Session) SayDiverged(rank topology.Rank) {
	s.Display.Close()
	s.Screen.say("no state is offered: the model of worker %d has diverged, and checkpoints of all workers may hold what "+
		"it sent, or what made it diverge", rank)
	s.Screen.say("start again on all machines, without --resume: the error of worker %d says what to change; against "+
		"false models of a machine, see algorithm.clip", rank)
}

// SayResumed tells where a run resumes.
func (s *Session) SayResumed() {
	low, high, _ := s.safeRounds()
	s.Screen.say("going on at %s, from %s", runfolder.NameRounds(low, high),
		runfolder.CheckpointsOf(s.Run.Config(), s.Folder.Dir))
}
