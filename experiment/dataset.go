package experiment

import (
	"fmt"
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/data"
	"gossiptrainer/topology"
)

// A dataset gives the shards and the test split of a run. Each part is read
// when it is first asked for, and shards are not kept.
type dataset struct {
	source    *data.Source
	partition func() (data.Partition, error)
	test      func() (data.Set, error)
}

// FindData returns *data.MissingError if files of the data set are not there.
func (r *Run) FindData() error {
	if r.data == nil {
		return nil
	}
	return r.data.source.Find()
}

// assembleData opens the data set. No samples are read, except of libsvm, whose
// shape only its files know.
func (r *Run) assembleData() error {
	if r.cfg.Model.Name == "quadratic" {
		return nil
	}
	c := r.cfg.Data
	root, err := data.Root(c.Dir)
	if err != nil && c.Name != "glyphs" {
		return err
	}
	source, err := data.Open(c.Name, root)
	if err != nil {
		return err
	}
	cut, ok := partitions[c.Partition]
	if !ok {
		return configs.Errorf("data.partition", "%q is no partition", c.Partition)
	}
	if classes := len(source.Info.Classes); c.Partition == "labels" && c.PerWorker > classes {
		return configs.Errorf("data.per_worker", "%s has %d labels, but every worker is to see %d", c.Name, classes, c.PerWorker).
			With("data.name")
	}
	r.data = &dataset{source: source}
	r.data.partition = sync.OnceValues(func() (data.Partition, error) {
		labels, err := source.TrainLabels()
		if err != nil {
			return data.Partition{}, err
		}
		return cut(labels, r.N(), r.cfg)
	})
	r.data.test = sync.OnceValues(source.Test)
	return nil
}

// shard reads the samples of one worker and nothing else.
func (d *dataset) shard(rank topology.Rank) (data.Set, error) {
	p, err := d.partition()
	if err != nil {
		return data.Set{}, err
	}
	return d.source.Train(p.Shards[rank])
}

// shards reads the train split once and cuts it up.
func (d *dataset) shards() ([]data.Set, error) {
	p, err := d.partition()
	if err != nil {
		return nil, err
	}
	all, err := d.source.Train(nil)
	if err != nil {
		return nil, err
	}
	sets := make([]data.Set, len(p.Shards))
	for i, rows := range p.Shards {
		sets[i] = all.Subset(rows)
	}
	return sets, nil
}

// Partition returns how the train split is cut. It reads the labels.
func (r *Run) Partition() (data.Partition, error) {
	if r.data == nil {
		return data.Partition{}, fmt.Errorf("experiment: model %s: there is no data to cut", r.cfg.Model.Name)
	}
	return r.data.partition()
}
