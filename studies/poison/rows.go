package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/studies/gradients"
	"gossiptrainer/topology"
)

// preset is the run file that all rows share.
const preset = "ring8-fashion"

// poisoned is the rank of the liar in rows that have one.
const poisoned = 3

// A row is the preset with some settings changed, with or without a liar.
type row struct {
	graph, name string
	lies        string // who lies, for people: no peer or one peer
	settings    []string
}

// rows returns the rows of the table: each codec on each graph, with plain and clipped mixing, without and with a liar.
func rows() []row {
	var all []row
	for _, graph := range []string{"ring", "complete"} {
		for _, codec := range [][2]string{{"32 bit", "algorithm.codec=full"}, {"Moniqua 8 bit", fixed + "}"},
			{"Moniqua 8 bit, not verified", fixed + ", verify: false}"}} {
			for _, mixing := range [][]string{{"plain"}, {"clipped", "algorithm.clip.liars=1"}} {
				for _, lies := range []string{none, one} {
					settings := append([]string{"topology.kind=" + graph, codec[1]}, mixing[1:]...)
					all = append(all, row{graph, codec[0] + ", " + mixing[0], lies, settings})
				}
			}
		}
	}
	return all
}

// fixed is a theta that no liar can change.
const fixed = "algorithm.theta={rule: fixed, value: 0.05"

const none, one = "no peer", "one peer"

// An outcome is the result of one run.
type outcome struct {
	diverged    bool
	mean, least float64 // accuracy of the honest peers' models on the test set
}

// run makes the run of a seed. A run that diverges is an outcome, too.
func (r row) run(ctx context.Context, rounds, seed int) (outcome, error) {
	run, err := gradients.Assemble(preset, append([]string{fmt.Sprint("seed=", seed), fmt.Sprint("train.rounds=", rounds)},
		r.settings...))
	if err != nil {
		return outcome{}, err
	}
	workers, err := build.All(run)
	if err != nil {
		return outcome{}, err
	}
	var bad *liar
	tasks := build.Tasks(workers)
	for i, w := range workers {
		if r.lies == one && i == poisoned {
			if bad, err = newLiar(w.Machine.(*gossip.Worker)); err != nil {
				return outcome{}, err
			}
			tasks[i].Machine = bad
		}
	}
	_, err = sim.Run(ctx, tasks, sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return time.Millisecond },
	})
	if bad != nil {
		err = errors.Join(err, bad.err)
	}
	if errors.Is(err, train.ErrDiverged) {
		return outcome{diverged: true}, nil
	}
	if err != nil {
		return outcome{}, err
	}
	got := outcome{least: 1}
	honest := 0
	for i, w := range workers {
		if r.lies == one && i == poisoned {
			continue
		}
		score, err := w.Evaluate(w.Machine.Params(), nil)
		if err != nil {
			return outcome{}, err
		}
		got.mean, got.least, honest = got.mean+score.Accuracy, min(got.least, score.Accuracy), honest+1
	}
	got.mean /= float64(honest)
	return got, nil
}

// command returns the line that makes the run of seed 1 without a liar.
func (r row) command(rounds int) string {
	return fmt.Sprintf("peer sim %s --set '%s' --set train.rounds=%d --set seed=1", preset,
		strings.Join(r.settings, "' --set '"), rounds)
}
