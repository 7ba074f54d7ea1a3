package build

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// checkStill returns an error at its key if the script lets members come and go. Without such faults the founders are
// the workers of all rounds.
func checkStill(c configs.Config) error {
	if len(c.Faults.Script) == 0 || !c.Views() {
		return nil
	}
	return configs.Errorf("membership.mode", "members that come and go train in peer run, lab and sim: must be fixed here")
}

// New builds one worker, from the saved state s; nil is the beginning. It reads only the samples of its shard, for a
// process per worker. It fails if s is not the state of such a worker.
func New(r *experiment.Run, rank topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := checkRank(r, rank); err != nil {
		return nil, err
	}
	if err := checkStill(r.Config()); err != nil {
		return nil, err
	}
	b, err := lasting(r, rank, nil)
	if err != nil {
		return nil, fmt.Errorf("build: worker %d: %w", rank, err)
	}
	return b.alone(s)
}

func checkRank(r *experiment.Run, rank topology.Rank) error {
	if rank < 0 || int(rank) >= r.N() {
		return fmt.Errorf("build: worker %d: the run has workers 0 to %d", rank, r.N()-1)
	}
	return nil
}

// All builds all workers for one process. It reads the data once.
func All(r *experiment.Run) ([]*Worker, error) {
	if err := checkStill(r.Config()); err != nil {
		return nil, err
	}
	var shards []data.Set
	if r.Data() != nil {
		var err error
		if shards, err = r.Data().Shards(r.N()); err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	workers, audit := make([]*Worker, r.N()), newAudit(r)
	models := algos.NewRows(r.N(), r.Dim())
	for i := range workers {
		var err error
		var shard *data.Set
		if r.Data() != nil {
			shard = &shards[i]
		}
		if workers[i], err = again(origin{r, topology.Rank(i), shard, audit}, models.At(i), nil); err != nil {
			return nil, fmt.Errorf("build: worker %d: %w", i, err)
		}
	}
	workers[0].later.models = models
	return workers, nil
}

// From assembles a run and builds all its workers.
func From(c configs.Config) ([]*Worker, error) {
	r, err := experiment.New(c)
	if err != nil {
		return nil, err
	}
	return All(r)
}

// An origin is what a worker among all in one process is built from.
type origin struct {
	run   *experiment.Run
	rank  topology.Rank
	shard *data.Set
	audit *moniqua.Audit
}

// again builds a worker that supports Again, from the beginning or from the saved state s. Its model is in x; nil: in
// memory of its own.
func again(o origin, x []float32, s *state.Snapshot) (*Worker, error) {
	b, err := lasting(o.run, o.rank, o.audit)
	if err != nil {
		return nil, err
	}
	b.late, b.x = true, x
	w, err := b.worker(o.shard, s)
	if err != nil {
		return nil, err
	}
	if err := w.count(o.audit, s); err != nil {
		return nil, err
	}
	w.later.again = func(s *state.Snapshot) (*Worker, error) { return again(o, nil, s) }
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
	if b.run.Data() != nil {
		shard, err = b.run.Data().Shard(b.rank)
	}
	var w *Worker
	if err == nil {
		w, err = b.worker(&shard, s)
	}
	if err != nil {
		return nil, fmt.Errorf("build: worker %d: %w", b.rank, err)
	}
	return w, nil
}

// worker builds the worker with its shard of the data, nil without data.
func (b *builder) worker(shard *data.Set, s *state.Snapshot) (*Worker, error) {
	cfg := b.run.Config()
	if cfg.External() {
		return b.external(s)
	}
	objective, err := model.New(b.run.ModelSpec(int(b.rank), cfg.Train.Batch))
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
		return b.run.Scorer().Own(b.rank, objective, x, rows, watch)
	}
	w.Evaluate = w.evaluate
	w.later.statistics = func() []float32 { return score.Statistics(objective) }
	return w, nil
}

// begin returns the starting point of the worker: as its seed or a file says. A saved state s replaces it, and then no
// file is read.
func (b *builder) begin(objective model.Objective, s *state.Snapshot) ([]float32, error) {
	cfg := b.run.Config()
	x := b.x
	if x == nil {
		x = make([]float32, b.run.Dim())
	}
	if cfg.Train.From == "" || s != nil {
		objective.Init(x, cfg.Seed)
		return x, nil
	}
	start, statistics, err := b.run.Files().Start()
	if err != nil {
		return nil, err
	}
	copy(x, start)
	return x, score.SetStatistics(objective, statistics)
}

// oracle builds the oracle that takes the gradients of the worker.
func (b *builder) oracle(objective model.Objective, shard *data.Set) (*train.Oracle, error) {
	cfg := b.run.Config()
	batches, err := b.batches(shard)
	if err != nil {
		return nil, err
	}
	rule := experiment.Directions(cfg.Train)
	if cfg.Algorithm.MeanGradients { // the optimizer takes their mean
		rule = train.Rule{}
	}
	rule.Bound = experiment.UpdateBound(b.run)
	if cfg.Data.Weighted() {
		weights, err := b.run.Data().Weights()
		if err != nil {
			return nil, err
		}
		rule.Weight = weights[b.rank]
		rule.Bound *= rule.Weight
	}
	return train.NewOracle(int(b.rank), objective, batches, rule)
}

// batches returns the mini-batches of the worker.
func (b *builder) batches(shard *data.Set) (train.Batches, error) {
	cfg := b.run.Config()
	if b.run.Data() == nil {
		return train.NoData, nil
	}
	sampler, err := data.NewSampler(cfg.Seed, int(b.rank), shard.Len(), cfg.Train.Batch)
	if err != nil {
		return nil, err
	}
	batches := train.FromShard(*shard, sampler)
	if cfg.Train.Augment == "none" {
		return batches, nil
	}
	augmenter, err := train.NewAugmenter(cfg.Seed, int(b.rank), shard.Shape)
	if err != nil {
		return nil, err
	}
	return augmenter.Change(batches), nil
}

// Join builds a lost worker that comes back with the state of its sponsor, at first its only neighbour.
func Join(r *experiment.Run, rank, sponsor topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := checkRank(r, rank); err != nil {
		return nil, err
	}
	b, err := lasting(r, rank, nil)
	if err != nil {
		return nil, err
	}
	row := topology.Row{Out: []topology.Rank{sponsor}}
	if c := r.Closing(rank); c != nil {
		row.In = []topology.Edge{{Peer: sponsor, Weight: c.Weight}}
		row.Self = 1 - c.Weight
	}
	b.rows = row
	return b.alone(s)
}
