package main

import (
	"context"
	"fmt"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A result is the outcome of the script of a row.
type result struct {
	row
	effects []sim.Effect
	same    bool // the digest is that of the run without faults
	digest  string
	virtual time.Duration
	wall    time.Duration
}

// run makes the run of a row without faults and with them.
func (row row) run(ctx context.Context, seed uint64) (result, error) {
	set := append(settings(), fmt.Sprintf("topology.size=%d", row.peers), fmt.Sprintf("train.rounds=%d", row.rounds))
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: set})
	if err != nil {
		return result{}, err
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		return result{}, err
	}
	want, _, err := simulate(ctx, run, nil)
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	got, played, err := simulate(ctx, run, row.script(seed))
	if err != nil {
		return result{}, err
	}
	return result{
		row: row, effects: played.Effects, same: got == want, digest: fmt.Sprintf("%x", got[:4]),
		virtual: played.Time, wall: time.Since(began),
	}, nil
}

// simulate makes a run with a script, and returns the digest of all models.
func simulate(ctx context.Context, run *experiment.Run, script []fault.Fault) ([32]byte, sim.Result, error) {
	workers, err := build.All(run)
	if err != nil {
		return [32]byte{}, sim.Result{}, err
	}
	cfg := run.Config()
	options := sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return compute },
		Network: shape.Network{Uplink: shape.Link{Rate: rate, Latency: latency}},
	}
	if script != nil {
		options.Faults = &sim.Faults{
			Script: script, Every: cfg.Checkpoint.Every, Keep: cfg.Checkpoint.Keep, Detect: time.Duration(cfg.Node.Detect),
			Revive: func(rank topology.Rank, s *state.Snapshot) (work.Task, error) {
				w, err := workers[rank].Restart(s)
				if err != nil {
					return work.Task{}, err
				}
				workers[rank] = w
				return *w.Task, nil
			},
		}
	}
	result, err := sim.Run(ctx, build.Tasks(workers), options)
	if err != nil {
		return [32]byte{}, result, err
	}
	var models []float32
	for _, w := range workers {
		models = append(models, w.Machine.Params()...)
	}
	return record.Digest(models), result, nil
}
