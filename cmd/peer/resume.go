package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
)

// addResume adds the flag of commands that can go on with a run.
func (f *runFile) addResume(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on where the run stopped; FILE is its run file or its folder")
}

// start is where the workers of the command begin.
func (f *runFile) start() checkpoints.Start {
	if f.resume {
		return checkpoints.Resume
	}
	return checkpoints.Fresh
}

// folderOf returns the folder of the run to go on with, "" where a new one is to
// be made: for a new run, and for one whose checkpoints are elsewhere. The folder
// belongs to the peer with this id, or is ofLab. It fails if
// there is nothing to go on from, or something that run cannot go on from: before
// anything in the folder changes.
func (f *runFile) folderOf(run *experiment.Run, id string) (string, error) {
	if !f.resume {
		return "", nil
	}
	dir := f.folder
	if dir == "" && run.Config().Checkpoint.Dir == "" {
		var err error
		if dir, err = runfolder.Find(run.Config(), id); err != nil {
			return "", runfolder.HintNothing(run.Config(), err)
		}
	}
	if err := checkpoints.CheckAny(run, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// safe says which state is safe, if any is.
func (s *session) safe() (text string, there bool) {
	cfg := s.run.Config()
	low, high, there := runfolder.SafeRounds(cfg, s.folder.Dir, s.run.N())
	where := runfolder.CheckpointsOf(cfg, s.folder.Dir)
	return fmt.Sprintf("the state at the beginning of %s is safe in %s", runfolder.NameRounds(low, high), where), there
}

// canGoOn notes which command goes on with the run, for one that is broken off.
func (s *session) canGoOn(again string) {
	s.c.loses(func() string {
		if safe, there := s.safe(); there {
			return fmt.Sprintf("what came after is lost, %s; go on with: %s", safe, again)
		}
		return "the run is lost, no state is safe: " + runfolder.WhyNothing(s.run.Config())
	})
}

// sayStopped tells the user of a run that was stopped what is safe, and how it
// goes on.
func (s *session) sayStopped(again string) {
	s.display.Close()
	s.c.lost.Store(nil)
	safe, there := s.safe()
	if !there {
		s.c.say("no state is safe: %s", runfolder.WhyNothing(s.run.Config()))
		return
	}
	s.c.say("%s", safe)
	s.c.next(again, "go on")
}

// sayResumed tells from where a run goes on.
func (s *session) sayResumed() {
	cfg := s.run.Config()
	low, high, _ := runfolder.SafeRounds(cfg, s.folder.Dir, s.run.N())
	s.c.say("going on at %s, from %s", runfolder.NameRounds(low, high), runfolder.CheckpointsOf(cfg, s.folder.Dir))
}
