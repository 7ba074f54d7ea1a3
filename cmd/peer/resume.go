package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

// addResume adds the flag of commands that can go on with a run.
func (f *runFile) addResume(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on where the run stopped; FILE is its run file or its folder")
}

// beginning is where the workers of the command begin.
func (f *runFile) beginning() beginning {
	if f.resume {
		return continued
	}
	return afresh
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
	dir, err := f.find(run.Config(), id)
	if err != nil {
		return "", hintNothing(run.Config(), err)
	}
	there := false
	for rank := range run.N() {
		r := refugeOf(run, dir, topology.Rank(rank), nil)
		found, err := checkpoint.Peek(r.dir)
		if errors.Is(err, checkpoint.ErrNone) {
			continue
		}
		if err == nil {
			err = found.Check(r.manifest(0), r.legal)
		}
		if err != nil {
			return "", err
		}
		there = true
	}
	if !there {
		return "", hintNothing(run.Config(), fmt.Errorf("%w in %s", checkpoint.ErrNone, checkpointsOf(run.Config(), dir)))
	}
	return dir, nil
}

// hintNothing adds to an error that says that there is no checkpoint why that may be,
// and what to do. Errors that have a hint, and others, it returns as they are.
func hintNothing(cfg configs.Config, err error) error {
	if !errors.Is(err, checkpoint.ErrNone) || isA[*advice.Error](err) {
		return err
	}
	hint := whyNothing(cfg) + ", or is kept elsewhere: start without --resume, or name its folder in place of the run file"
	switch kept := cfg.Checkpoint; {
	case cfg.Faults.OnLostNeighbor == "reweight":
		hint = whyNothing(cfg) + ": start without --resume; where the others of a ring go on, they take this peer back"
	case kept.Every == 0 && kept.Seconds == 0:
		hint = whyNothing(cfg) + ": start without --resume"
	}
	return advice.With(err, hint)
}

// safeRounds returns the smallest and the largest round of the newest checkpoints
// of all ranks, and whether there are any.
func safeRounds(cfg configs.Config, folder string, peers int) (low, high int, there bool) {
	for rank := range peers {
		round, ok := checkpoint.Newest(rankFolder(cfg, folder, rank))
		switch {
		case !ok:
			continue
		case !there:
			low, high, there = round, round, true
		}
		low, high = min(low, round), max(high, round)
	}
	return low, high, there
}

// rounds names one round or a range.
func rounds(low, high int) string {
	if low == high {
		return fmt.Sprintf("round %d", low)
	}
	return fmt.Sprintf("rounds %d to %d", low, high)
}

// safe says which state is safe, if any is.
func (s *session) safe() (text string, there bool) {
	cfg := s.run.Config()
	low, high, there := safeRounds(cfg, s.folder.dir, s.run.N())
	where := checkpointsOf(cfg, s.folder.dir)
	return fmt.Sprintf("the state at the beginning of %s is safe in %s", rounds(low, high), where), there
}

// canGoOn notes which command goes on with the run, for one that is broken off.
func (s *session) canGoOn(again string) {
	s.c.loses(func() string {
		if safe, there := s.safe(); there {
			return fmt.Sprintf("what came after is lost, %s; go on with: %s", safe, again)
		}
		return "the run is lost, no state is safe: " + whyNothing(s.run.Config())
	})
}

// sayStopped tells the user of a run that was stopped what is safe, and how it
// goes on.
func (s *session) sayStopped(again string) {
	s.display.Close()
	s.c.lost.Store(nil)
	safe, there := s.safe()
	if !there {
		s.c.say("no state is safe: %s", whyNothing(s.run.Config()))
		return
	}
	s.c.say("%s", safe)
	s.c.next(again, "go on")
}

// whyNothing says why there may be no checkpoint.
func whyNothing(cfg configs.Config) string {
	switch kept := cfg.Checkpoint; {
	case cfg.Faults.OnLostNeighbor == "reweight":
		return "with the policy reweight no checkpoints are taken"
	case kept.Every == 0 && kept.Seconds == 0:
		return "checkpoint.every and checkpoint.seconds are 0, so none are taken"
	}
	return "the run ended before its first checkpoint"
}

// sayResumed tells from where a run goes on.
func (s *session) sayResumed() {
	cfg := s.run.Config()
	low, high, _ := safeRounds(cfg, s.folder.dir, s.run.N())
	s.c.say("going on at %s, from %s", rounds(low, high), checkpointsOf(cfg, s.folder.dir))
}
