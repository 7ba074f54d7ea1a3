package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/plural"
)

// checkShards refuses workers without a sample, and batches with more samples than a worker has. For a Dirichlet
// partition, whose shards differ, the mean size counts.
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

// checkPictures refuses to move and mirror samples that are no pictures.
func checkPictures(c configs.Config, info data.Info) error {
	if s := info.Shape; c.Train.Augment != "none" && (s.H < 2 || s.W < 2) {
		return configs.Errorf("train.augment", "samples of %s are no pictures: must be none, got %s", info.Name,
			c.Train.Augment).With("data.name")
	}
	return nil
}

// Memory returns the least number of bytes that a worker takes: its model, gradient, direction and message, and the
// memory for a batch.
func (r *Run) Memory() int64 {
	const vectors = 4
	of := vectors
	switch {
	case r.cfg.External():
		of++ // the vector that the program shares
	case r.data == nil:
		of += 2 // curvatures and optimum of a quadratic
	}
	return floatBytes * (int64(of)*int64(r.dim) + int64(r.cfg.Train.Batch)*int64(r.sample))
}
