package shards

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
)

// partitions are the ways to cut a train split into shards. Shares give their sizes; nil: as each way gives them.
var partitions = map[string]func(y data.Labels, shares []float64, c configs.Config) (data.Partition, error){
	"iid": func(y data.Labels, shares []float64, c configs.Config) (data.Partition, error) {
		if shares == nil {
			return data.IID(y, c.Topology.Size, c.Seed)
		}
		return data.IIDSized(y, shares, c.Seed)
	},
	"labels": func(y data.Labels, shares []float64, c configs.Config) (data.Partition, error) {
		if shares == nil {
			return data.ByLabel(y, c.Topology.Size, c.Data.PerWorker, c.Seed)
		}
		return data.ByLabelSized(y, shares, c.Data.PerWorker, c.Seed)
	},
	"dirichlet": func(y data.Labels, shares []float64, c configs.Config) (data.Partition, error) {
		if shares == nil {
			return data.Dirichlet(y, c.Topology.Size, c.Data.Alpha, c.Seed)
		}
		return data.DirichletSized(y, shares, c.Data.Alpha, c.Seed)
	},
}

// sharesOf returns the share of the samples of each worker, nil where the partition decides.
func sharesOf(c configs.Config) ([]float64, error) {
	switch sizes, n := c.Data.Sizes, c.Topology.Size; sizes.Law {
	case "natural":
		return nil, nil
	case "equal":
		return data.EqualShares(n), nil
	case "shares":
		return sizes.Shares, nil
	case "power":
		return data.PowerShares(n, sizes.Exponent), nil
	case "dirichlet":
		return data.DirichletShares(n, sizes.Alpha, c.Seed)
	default:
		return nil, configs.Errorf("data.sizes.law", "law %q is not known", sizes.Law)
	}
}

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
			human.Count(c.Topology.Size, "worker"), human.Count(share, "sample"), info.Name, share, c.Train.Batch).
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
