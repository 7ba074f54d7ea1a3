// Package gradients trains runs in the simulator and passes the gradients of their workers to studies that measure
// compressors. It judges and writes nothing.
package gradients

import (
	"context"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// Assemble returns the run of a preset with some settings changed.
func Assemble(preset string, settings []string) (*experiment.Run, error) {
	loaded, err := configs.Load(configs.Source{File: preset, Set: settings})
	if err != nil {
		return nil, err
	}
	run, err := experiment.New(loaded.Config)
	return run, loaded.Locate(err)
}

// AllGather returns the settings of an all-reduce that gathers compressed gradients. The compressor is a name with
// settings behind it, as in "qsgd bits=3".
func AllGather(compressor string) []string {
	settings := []string{"algorithm.name=allreduce", "algorithm.reduce=allgather"}
	for s := range strings.FieldsSeq("name=" + compressor) {
		settings = append(settings, "algorithm.compressor."+s)
	}
	return settings
}

// A Look receives the update direction g that a worker takes at x in round k. Training overwrites both slices after it
// returns.
type Look func(k int, x, g []float32) error

// Train drives the workers of a run from the first round to the last; gradients take no virtual time. Each Look sees
// the rounds of one worker in order. An error of a Look ends the training.
func Train(ctx context.Context, run *experiment.Run, looks map[topology.Rank]Look) ([]*build.Worker, sim.Result,
	error) {
	workers, err := build.All(run)
	if err != nil {
		return nil, sim.Result{}, err
	}
	tasks := build.Tasks(workers)
	for i, w := range workers {
		if look := looks[w.Rank]; look != nil {
			tasks[i].Gradient = look.at(w)
		}
	}
	result, err := sim.Run(ctx, tasks, sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return 0 },
	})
	return workers, result, err
}

// at returns the gradient function of a worker, which also calls the Look.
func (look Look) at(w *build.Worker) func(g []float32, k int, x []float32) (float32, error) {
	return func(g []float32, k int, x []float32) (float32, error) {
		loss, err := w.Gradient(g, k, x)
		if err != nil {
			return loss, err
		}
		return loss, look(k, x, g)
	}
}
