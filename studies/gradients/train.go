// Package gradients trains runs in the simulator and shows what their workers
// compute to those who measure compressors on it. It judges and writes nothing.
package gradients

import (
	"context"
	"strings"
	"time"

	"gossiptrainer/configs"
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

// AllGather returns the settings of an all-reduce that gathers what a compressor
// makes of gradients: its name, then its settings, as in "qsgd bits=3".
func AllGather(compressor string) []string {
	settings := []string{"algorithm.name=allreduce", "algorithm.reduce=allgather"}
	for s := range strings.FieldsSeq("name=" + compressor) {
		settings = append(settings, "algorithm.compressor."+s)
	}
	return settings
}

// A Look is shown the update direction g that a worker takes at x in round k.
// Both change after it has returned.
type Look func(k int, x, g []float32) error

// Train drives the workers of a run from its beginning to its end, in no time of
// the virtual clock. Each Look sees one worker, in its order of rounds, and an
// error of it ends the training.
func Train(ctx context.Context, run *experiment.Run, looks map[topology.Rank]Look) ([]*experiment.Worker, sim.Result,
	error) {
	workers, err := run.Workers()
	if err != nil {
		return nil, sim.Result{}, err
	}
	tasks := experiment.Tasks(workers)
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

// at returns the gradient of a worker that is looked at.
func (look Look) at(w *experiment.Worker) func(g []float32, k int, x []float32) (float32, error) {
	return func(g []float32, k int, x []float32) (float32, error) {
		loss, err := w.Gradient(g, k, x)
		if err != nil {
			return loss, err
		}
		return loss, look(k, x, g)
	}
}
