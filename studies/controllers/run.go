package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/lab/rehearse"
	"gossiptrainer/topology"
)

// A result is the outcome of one run.
type result struct {
	row
	steps  []record.Step // of worker 0
	scores []score       // of its replica
	bits   float64       // mean over the exchanges

	diverged bool
	why      string // how the run ended: its time, or that it diverged
}

// A score is the accuracy and loss of a replica at a virtual time.
type score struct {
	time           time.Duration
	loss, accuracy float64
}

// assemble builds the run of a row.
func (r row) assemble(p plan) (*experiment.Run, error) {
	set := slices.Concat(base(), r.settings, []string{
		fmt.Sprintf("train.rounds=%d", p.rounds), fmt.Sprintf("output.evaluate=%d", p.every),
	})
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		return nil, err
	}
	return experiment.New(loaded.Config)
}

// run makes the run of a row. One that diverges is a result.
func (r row) run(ctx context.Context, p plan) (result, error) {
	got := result{row: r}
	run, err := r.assemble(p)
	if err != nil {
		return got, err
	}
	workers, err := build.All(run)
	if err != nil {
		return got, err
	}
	scores := map[int]score{} // by rounds finished
	tasks := build.Tasks(workers)
	for i := range tasks {
		tasks[i].Every = 1
	}
	tasks[0].Gradient = build.Scored(workers[0], workers[0].Gradient, func(e record.Event) {
		scores[e.Score.Round] = score{loss: e.Score.Loss, accuracy: e.Score.Accuracy}
	})
	out, err := sim.Run(ctx, tasks, sim.Options{
		Network: shape.Network{Uplink: shape.Link{Rate: run.Network().Uplink.Rate}},
		Compute: func(topology.Rank, int) time.Duration { return p.compute },
		Observe: func(e record.Event) {
			if e.Step != nil && e.Step.Rank == 0 {
				got.steps = append(got.steps, *e.Step)
			}
		},
	})
	switch {
	case errors.Is(err, train.ErrDiverged):
		got.diverged = true
		got.why = fmt.Sprintf("diverged after %v", out.Time.Round(time.Millisecond))
	case err != nil:
		return got, err
	default:
		got.why = fmt.Sprintf("%d rounds in %v", p.rounds, out.Time.Round(time.Millisecond))
		s, err := workers[0].Evaluate(workers[0].Machine.Params(), nil)
		if err != nil {
			return got, err
		}
		scores[p.rounds] = score{loss: s.Loss, accuracy: s.Accuracy}
	}
	got.bits = workers[0].MeanBits()
	for _, s := range got.steps {
		if at, ok := scores[s.Round]; ok {
			at.time = s.Time
			got.scores = append(got.scores, at)
		}
	}
	return got, nil
}

// measureGradient returns the time of a gradient on this machine, the least of several tries.
func measureGradient(p plan) (time.Duration, error) {
	run, err := rows()[0].assemble(p)
	if err != nil {
		return 0, err
	}
	const samples = 50
	return rehearse.Gradient(run, samples)
}
