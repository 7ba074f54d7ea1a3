package experiment

import (
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// builder returns the builder of a worker of the run.
func (r *Run) builder(rank topology.Rank, audit *moniqua.Audit) (*builder, error) {
	b := &builder{Run: r, rank: rank, rows: r.rows[rank], beside: beside{audit: audit}}
	if !r.controlled() {
		return b, nil
	}
	var err error
	b.choice.agreed, err = r.agreement(rank, nil)
	return b, err
}

// Worker builds one worker. It reads only the samples of its shard, for a process per worker.
func (r *Run) Worker(rank topology.Rank) (*Worker, error) { return r.Resume(rank, nil) }

// Resume is Worker from the saved state s; nil is the beginning. It fails if s is not the state of such a worker.
func (r *Run) Resume(rank topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := r.checkRank(rank); err != nil {
		return nil, err
	}
	if err := r.checkStill(); err != nil {
		return nil, err
	}
	b, err := r.builder(rank, nil)
	if err != nil {
		return nil, fmt.Errorf("experiment: worker %d: %w", rank, err)
	}
	return b.alone(s)
}

// Workers builds all workers for one process. It reads the data once.
func (r *Run) Workers() ([]*Worker, error) {
	if err := r.checkStill(); err != nil {
		return nil, err
	}
	var shards []data.Set
	if r.data != nil {
		var err error
		if shards, err = r.data.Shards(r.N()); err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
	}
	workers, audit := make([]*Worker, r.N()), r.newAudit()
	for i := range workers {
		var err error
		var shard *data.Set
		if r.data != nil {
			shard = &shards[i]
		}
		if workers[i], err = r.again(topology.Rank(i), shard, audit, nil); err != nil {
			return nil, fmt.Errorf("experiment: worker %d: %w", i, err)
		}
	}
	return workers, nil
}

// again builds a worker on shard that supports Again, from the beginning or from the saved state s.
func (r *Run) again(rank topology.Rank, shard *data.Set, audit *moniqua.Audit, s *state.Snapshot) (*Worker, error) {
	b, err := r.builder(rank, audit)
	if err != nil {
		return nil, err
	}
	b.beside.late = true
	w, err := b.worker(shard, s)
	if err != nil {
		return nil, err
	}
	if err := w.count(audit, s); err != nil {
		return nil, err
	}
	w.later.again = func(s *state.Snapshot) (*Worker, error) { return r.again(rank, shard, audit, s) }
	return w, nil
}

// count makes the count of the worker's audit a part of its state, and takes it from s where that is not nil.
func (w *Worker) count(audit *moniqua.Audit, s *state.Snapshot) error {
	if audit == nil || w.Save == nil {
		return nil
	}
	w.Counts = audit.All(w.Rank)
	const name = "audit"
	own, save := audit.Of(w.Rank), w.Save
	if s != nil {
		if err := s.Load(name, own); err != nil {
			return err
		}
	}
	w.Save = func(s *state.Snapshot) {
		save(s)
		s.Save(name, own)
	}
	return nil
}

// alone builds the only worker of a process.
func (b *builder) alone(s *state.Snapshot) (*Worker, error) {
	var shard data.Set
	var err error
	if b.data != nil {
		shard, err = b.data.Shard(b.rank)
	}
	var w *Worker
	if err == nil {
		w, err = b.worker(&shard, s)
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: worker %d: %w", b.rank, err)
	}
	return w, nil
}

// worker builds the worker with its shard of the data, nil without data.
func (b *builder) worker(shard *data.Set, s *state.Snapshot) (*Worker, error) {
	if b.cfg.External() {
		return b.external(s)
	}
	objective, err := model.New(b.modelSpec(int(b.rank), b.cfg.Train.Batch))
	if err != nil {
		return nil, err
	}
	oracle, err := b.oracle(objective, shard)
	if err != nil {
		return nil, err
	}
	x, err := b.begin(objective, s)
	if err != nil {
		return nil, err
	}
	w, err := b.trained(x, oracle, s)
	if err != nil {
		return nil, err
	}
	w.later.score = func(x []float32, rows score.Rows, watch func(done, all int)) (model.Score, error) {
		return b.scorer.Own(b.rank, objective, x, rows, watch)
	}
	w.Evaluate = w.evaluate
	w.Statistics = func() []float32 { return score.Statistics(objective) }
	return w, nil
}

// begin returns the starting point of the worker: as its seed or a file says. A saved state s replaces it, and then no
// file is read.
func (b *builder) begin(objective model.Objective, s *state.Snapshot) ([]float32, error) {
	x := make([]float32, b.dim)
	if b.cfg.Train.From == "" || s != nil {
		objective.Init(x, b.cfg.Seed)
		return x, nil
	}
	start, err := b.files.start()
	if err != nil {
		return nil, err
	}
	copy(x, start.x)
	return x, score.SetStatistics(objective, start.statistics)
}

// oracle builds the oracle that takes the gradients of the worker.
func (b *builder) oracle(objective model.Objective, shard *data.Set) (*train.Oracle, error) {
	batches, err := b.batches(shard)
	if err != nil {
		return nil, err
	}
	rule := b.directions()
	if b.cfg.Algorithm.MeanGradients { // the optimizer takes their mean
		rule = train.Rule{}
	}
	rule.Bound = b.updateBound()
	if b.cfg.Data.Weighted() {
		weights, err := b.data.Weights()
		if err != nil {
			return nil, err
		}
		rule.Weight = weights[b.rank]
		rule.Bound *= rule.Weight
	}
	return train.NewOracle(int(b.rank), objective, batches, rule)
}

// directions returns the rule from gradients to directions of a worker of weight 1, without a bound.
func (r *Run) directions() train.Rule {
	t, o := r.cfg.Train, r.cfg.Train.Optimizer
	rule := train.Rule{
		Kind: train.Kind(o.Name), Momentum: t.Momentum, WeightDecay: t.WeightDecay, ClipNorm: o.ClipNorm,
	}
	if rule.Kind != train.SGD {
		rule.Beta1, rule.Beta2, rule.Eps = o.Beta1, o.Beta2, o.Eps
	}
	return rule
}

// batches returns the mini-batches of the worker.
func (b *builder) batches(shard *data.Set) (train.Batches, error) {
	if b.data == nil {
		return train.NoData, nil
	}
	sampler, err := data.NewSampler(b.cfg.Seed, int(b.rank), shard.Len(), b.cfg.Train.Batch)
	if err != nil {
		return nil, err
	}
	batches := train.FromShard(*shard, sampler)
	if b.cfg.Train.Augment == "none" {
		return batches, nil
	}
	augmenter, err := train.NewAugmenter(b.cfg.Seed, int(b.rank), shard.Shape)
	if err != nil {
		return nil, err
	}
	return augmenter.Change(batches), nil
}
