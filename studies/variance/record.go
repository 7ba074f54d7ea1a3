package main

import (
	"context"
	"fmt"
	"slices"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/studies/gradients"
	"gossiptrainer/topology"
)

// A sample holds the vectors of two neighbours in a round.
type sample struct {
	round    int
	gradient []float32 // of worker 0
	own      []float32 // the model of worker 0 at which it took the gradient
	other    []float32 // that of worker 1
}

// A plan says how long to train and where to look.
type plan struct {
	rounds, looks int
	more          []string // settings of tests
}

func (p plan) check() error {
	if p.looks < 2 || p.rounds < p.looks {
		return fmt.Errorf("%d looks in %d rounds: must be at least 2 looks, in rounds of their own", p.looks, p.rounds)
	}
	return nil
}

// looked returns the rounds of the samples, spread evenly from the first round
// to the last.
func (p plan) looked() []int {
	rounds := make([]int, p.looks)
	for i := range rounds {
		rounds[i] = i * (p.rounds - 1) / (p.looks - 1)
	}
	return rounds
}

// fits returns the rounds in which levels are fitted: round 0 and early rounds, as in the paper, then each quarter.
func (p plan) fits() []int {
	at := []int{0, p.rounds / 40, p.rounds / 8, p.rounds / 4, p.rounds / 2, 3 * p.rounds / 4}
	return slices.Compact(at)
}

// kept returns the rounds of looked and fits.
func (p plan) kept() []int {
	all := slices.Concat(p.looked(), p.fits())
	slices.Sort(all)
	return slices.Compact(all)
}

// run returns the training run.
func (p plan) run() (*experiment.Run, error) {
	return gradients.Assemble(preset, slices.Concat(network, []string{fmt.Sprint("train.rounds=", p.rounds)}, p.more))
}

// train returns the samples of the rounds to keep, in order.
func (p plan) train(ctx context.Context) ([]sample, error) {
	run, err := p.run()
	if err != nil {
		return nil, err
	}
	kept := p.kept()
	samples := make([]sample, len(kept))
	_, _, err = gradients.Train(ctx, run, map[topology.Rank]gradients.Look{
		0: func(k int, x, g []float32) error {
			if i, found := slices.BinarySearch(kept, k); found {
				samples[i].round, samples[i].gradient, samples[i].own = k, slices.Clone(g), slices.Clone(x)
			}
			return nil
		},
		1: func(k int, x, _ []float32) error {
			if i, found := slices.BinarySearch(kept, k); found {
				samples[i].other = slices.Clone(x)
			}
			return nil
		},
	})
	return samples, err
}
