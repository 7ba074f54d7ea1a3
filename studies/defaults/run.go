package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/topology"
)

// preset is what all runs share.
const preset = "ring8"

// An end is how a run ended.
type end int

const (
	broken end = iota // by an error other than a refusal of the settings
	trained
	diverged
	refused
)

// chance is the accuracy, and lost the loss, of a run that learns nothing. Such a run counts as diverged.
const (
	chance = 0.5
	lost   = 2
)

// A cell is one run.
type cell struct {
	set      []string
	end      end
	accuracy float64 // mean over the replicas
	why      string  // reason, if the run did not train
	warned   bool    // the program says before the run that the compressor does not suit
}

func newCell(set ...string) cell { return cell{set: set} }

// text returns what the table shows.
func (c *cell) text() string {
	switch c.end {
	case trained:
		return fmt.Sprintf("%.1f", 100*c.accuracy)
	case diverged:
		return "diverged"
	case refused:
		return "refused"
	}
	return "failed"
}

// run makes the run.
func (c *cell) run(ctx context.Context, rounds int) {
	set := append([]string{}, c.set...)
	if rounds > 0 {
		set = append(set, fmt.Sprintf("train.rounds=%d", rounds))
	}
	loaded, err := configs.Load(configs.Source{File: preset, Set: set})
	if err != nil {
		c.fail(err)
		return
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		c.fail(err)
		return
	}
	c.warned = len(run.Warnings()) > 0
	if err := c.train(ctx, run); err != nil {
		c.fail(err)
	}
}

// train fills in the accuracy.
func (c *cell) train(ctx context.Context, run *experiment.Run) error {
	workers, err := build.All(run)
	if err != nil {
		return err
	}
	if _, err := sim.Run(ctx, build.Tasks(workers), sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return time.Millisecond },
	}); err != nil {
		return err
	}
	loss := 0.0
	for _, w := range workers {
		score, err := w.Evaluate(w.Machine.Params(), nil)
		if err != nil {
			return err
		}
		c.accuracy += score.Accuracy / float64(len(workers))
		loss += score.Loss / float64(len(workers))
	}
	c.end = trained
	if c.accuracy < chance || !(loss < lost) {
		c.end, c.why = diverged, fmt.Sprintf("accuracy %.2f, test loss %.3g", c.accuracy, loss)
	}
	return nil
}

// fail enters an error.
func (c *cell) fail(err error) {
	c.why = err.Error()
	switch config := (*configs.Error)(nil); {
	case errors.As(err, &config):
		c.end, c.why = refused, config.Problems[0].Message
	case errors.Is(err, train.ErrDiverged):
		c.end = diverged
	}
}
