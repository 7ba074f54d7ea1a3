package experiment

import (
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/topology"
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

// checkUneven refuses files with other numbers of rows than stated, where this process has those of all workers.
func (d *dataset) checkUneven() error {
	if !d.local || len(d.sources) == 1 {
		return nil
	}
	for rank, source := range d.sources {
		if err := d.checkStated(topology.Rank(rank), source.Info.Train); err != nil {
			return err
		}
	}
	return nil
}

// checkStated compares the rows of a worker's own files with those that the run file states for the weights.
func (d *dataset) checkStated(rank topology.Rank, rows int) error {
	if !d.cfg.Data.Weighted() {
		return nil
	}
	if stated := d.cfg.Data.Sizes.Shares[rank]; stated != float64(rows) {
		return configs.Errorf("data.sizes.shares", "the files of worker %d have %d samples to train on, but the list says "+
			"%.0f: give the number of each worker, in the order of the ranks", rank, rows, stated)
	}
	return nil
}

// noisy returns the shard of a worker with the wrong labels that the run asks for.
func (d *dataset) noisy(rank topology.Rank, shard data.Set, rows []int) data.Set {
	noise := data.Noise{Seed: d.cfg.Seed, Worker: int(rank), Share: d.cfg.Data.NoiseOf(int(rank))}
	return noise.Apply(shard, rows)
}

// weigh returns the weights of the workers: n·m_i/m, where worker i has m_i of all m samples in use. With a doubly
// stochastic W the mean model moves by the mean over the workers of their updates. If each takes the gradient of its
// mean loss times its weight, that is the gradient of the mean over all samples.
func (d *dataset) weigh() ([]float64, error) {
	sizes := make([]int, d.cfg.Topology.Size)
	if d.local { // no machine sees the files of the others
		for i, share := range d.cfg.Data.Sizes.Shares {
			sizes[i] = int(share)
		}
		return data.Weights(sizes), nil
	}
	p, err := d.partition()
	if err != nil {
		return nil, err
	}
	return data.Weights(p.Sizes()), nil
}

// Weights returns the weights of the workers in the objective, 1 where all count equally. It may read the labels.
func (r *Run) Weights() ([]float64, error) {
	if r.data == nil || !r.cfg.Data.Weighted() {
		return data.EqualShares(r.N()), nil
	}
	return r.data.weights()
}

// largestBound returns a bound on the update directions of all workers, 0 for none. The direction of a worker is
// clipped to the bound times its weight, so a certificate holds with the largest weight. It reads the labels only where
// both are there.
func (r *Run) largestBound() (float64, error) {
	bound := r.updateBound()
	if bound == 0 || r.data == nil || !r.cfg.Data.Weighted() {
		return bound, nil
	}
	weights, err := r.data.weights()
	if err != nil {
		return 0, err
	}
	return bound * slices.Max(weights), nil
}
