package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"gossiptrainer/internal/train"
	"gossiptrainer/studies/gradients"
	"gossiptrainer/topology"
)

// A result holds the outcomes of one row.
type result struct {
	row
	outcomes []outcome // by seed
}

// An outcome is the result of one run.
type outcome struct {
	diverged bool
	accuracy float64 // of the replicas, which are equal, on the test set
	bits     float64 // of a message per parameter
	sent     float64 // payload bytes of a worker per round
	lost     float64 // mean of |C(g) − g|²/|g|² over the rounds of worker 0
}

// runAll makes all runs, as many at a time as there are cores, because a simulator uses one core except for gradients.
func runAll(ctx context.Context, rows []row, rounds, seeds int) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(rows))
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, r := range rows {
		results[i] = result{r, make([]outcome, seeds)}
		for s := range seeds {
			all.Go(func() {
				cores <- struct{}{}
				defer func() { <-cores }()
				if ctx.Err() != nil {
					return
				}
				began := time.Now()
				got, err := r.run(ctx, rounds, s+1)
				if err != nil {
					cancel(fmt.Errorf("%s: seed %d: %w", r.name, s+1, err))
					return
				}
				results[i].outcomes[s] = got
				fmt.Fprintf(os.Stderr, "%s, seed %d, %.1fs: %+v\n", r.name, s+1, time.Since(began).Seconds(), got)
			})
		}
	}
	all.Wait()
	return results, context.Cause(ctx)
}

// run makes the run of a seed. A run that diverges is an outcome, too.
func (r row) run(ctx context.Context, rounds, seed int) (outcome, error) {
	set := append([]string{fmt.Sprint("seed=", seed), fmt.Sprint("train.rounds=", rounds)}, r.settings...)
	assembled, err := gradients.Assemble(preset, set)
	if err != nil {
		return outcome{}, err
	}
	p, err := newProbe(assembled)
	if err != nil {
		return outcome{}, err
	}
	workers, res, err := gradients.Train(ctx, assembled, map[topology.Rank]gradients.Look{0: p.look})
	got := outcome{bits: p.bits, lost: p.lost / float64(max(1, p.seen))}
	if errors.Is(err, train.ErrDiverged) {
		got.diverged = true
		return got, nil
	}
	if err != nil {
		return outcome{}, err
	}
	got.sent = float64(res.Sent[0].Payload) / float64(rounds)
	score, err := workers[0].Evaluate(workers[0].Machine.Params(), nil)
	got.accuracy = score.Accuracy
	return got, err
}
