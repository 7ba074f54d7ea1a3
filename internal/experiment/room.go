package experiment

import (
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/plural"
)

// checkShards refuses workers without a sample, and batches that hold more
// samples than a worker has. Shards of a Dirichlet partition differ: their mean
// counts.
func checkShards(c configs.Config, info data.Info) error {
	if n := c.Topology.Size; n > info.Train && c.Data.Partition != "local" {
		return configs.Errorf("topology.size", "%s has %d samples to train on: must be at most %d workers, got %d",
			info.Name, info.Train, info.Train, n).With("topology.rows", "topology.cols", "topology.file", "data.name")
	}
	share := info.Train / c.Topology.Size
	switch classes := len(info.Classes); c.Data.Partition {
	case "local":
		share = info.Train // a worker trains on all samples of its own files
	case "labels":
		share = info.Train * min(classes, c.Topology.Size*c.Data.PerWorker) / classes / c.Topology.Size
	}
	if c.Train.Batch > share {
		return configs.Errorf("train.batch",
			"each of %s has about %s of %s: a batch must be at most %d, got %d",
			plural.Of(c.Topology.Size, "worker"), plural.Of(share, "sample"), info.Name, share, c.Train.Batch).
			With("topology.size", "topology.rows", "topology.cols", "topology.file", "data.name", "data.partition",
				"data.per_worker")
	}
	return nil
}

// Memory returns how many bytes a worker takes at least: its model, gradient,
// direction and message, and what a batch needs.
func (r *Run) Memory() int64 {
	const vectors = 4
	of := vectors
	if r.data == nil {
		of += 2 // curvatures and optimum of a quadratic
	}
	return floatBytes * (int64(of)*int64(r.dim) + int64(r.cfg.Train.Batch)*int64(r.sample))
}

// MeasureGradient returns the time of a gradient of worker 0 on this machine, the
// least of so many, at least 1. It takes a worker of its own, for gradients leave
// momentum behind.
func (r *Run) MeasureGradient(samples int) (time.Duration, error) {
	w, err := r.Worker(0)
	if err != nil {
		return 0, err
	}
	x := w.Machine.Params()
	g := make([]float32, len(x))
	least := time.Duration(1<<63 - 1)
	for k := range samples {
		began := time.Now()
		if _, err := w.Gradient(g, k, x); err != nil {
			return 0, err
		}
		least = min(least, time.Since(began))
	}
	return least, nil
}
