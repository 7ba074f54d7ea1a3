package session

import (
	"fmt"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/runfolder"
)

// safe describes the safe state, if there is one.
func (s *Session) safe() (text string, there bool) {
	cfg := s.Run.Config()
	low, high, there := runfolder.SafeRounds(cfg, s.Folder.Dir, s.Run.N())
	where := runfolder.CheckpointsOf(cfg, s.Folder.Dir)
	return fmt.Sprintf("the state at the beginning of %s is safe in %s", runfolder.NameRounds(low, high), where), there
}

// Lost describes the part of the run that an interruption loses, and that the command again resumes from the rest.
func (s *Session) Lost(again string) string {
	if safe, there := s.safe(); there {
		return fmt.Sprintf("what came after is lost, %s; go on with: %s", safe, again)
	}
	return "the run is lost, no state is safe: " + runfolder.WhyNothing(s.Run.Config())
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
	s.Screen.say("%s", advice.Next(again, "go on"))
}

// SayResumed tells where a run resumes.
func (s *Session) SayResumed() {
	cfg := s.Run.Config()
	low, high, _ := runfolder.SafeRounds(cfg, s.Folder.Dir, s.Run.N())
	s.Screen.say("going on at %s, from %s", runfolder.NameRounds(low, high), runfolder.CheckpointsOf(cfg, s.Folder.Dir))
}
