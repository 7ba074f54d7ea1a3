// Package experiment assembles a run: from a configuration to each worker's row of the graph, algorithm, codec, model
// and shard of the data. Only this package knows the meaning of the names in a run file.
//
// It does not run the workers: packages internal/sim and node drive the machines that it builds.
package experiment

import (
	"math"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// New assembles cfg as far as that needs no samples. Settings that contradict each other are a *configs.Error at the
// key. Missing data can be a *data.MissingError for sets whose shape is in their files. Notes of the loader are kept,
// see Notes.
//
// An external model without an outline gives a run of unknown size: Dim is 0, and there are no workers. Graph, links,
// settings and sections are those of the whole run, apart from the section script and a gamma of auto.
func New(cfg configs.Config, notes ...string) (*Run, error) { return NewFor(nil, cfg, notes...) }

// NewFor is New for a model that exists: the data are read as it needs them. nil is a new model.
func NewFor(trained *data.Trained, cfg configs.Config, notes ...string) (*Run, error) {
	r := &Run{cfg: cfg, notes: notes}
	var err error
	if r.method, err = methodOf(cfg.Algorithm); err != nil {
		return nil, err
	}
	if trained == nil {
		if trained, err = startOf(cfg); err != nil {
			return nil, err
		}
	}
	if r.data, err = shards.Open(cfg, trained); err != nil {
		return nil, err
	}
	return r.assemble()
}

// assemble builds the run on its data.
func (r *Run) assemble() (*Run, error) {
	cfg := r.cfg
	err := r.countRounds()
	if err != nil {
		return nil, err
	}
	if r.graph, r.cfg.Topology.Slack, err = r.newGraph(); err != nil {
		return nil, err
	}
	r.rows = r.method.Neighbours(r.graph)
	if r.links, err = linksOf(cfg, r.graph.Spec(), r.rows); err != nil {
		return nil, err
	}
	if err := r.checkScript(); err != nil {
		return nil, err
	}
	clipping, err := r.checkClip()
	if err != nil {
		return nil, err
	}
	if r.schedule, err = newSchedule(r.cfg.Train); err != nil {
		return nil, err
	}
	if r.bound, err = r.largestBound(); err != nil {
		return nil, err
	}
	if r.theta, r.control, err = r.chooseTheta(); err != nil {
		return nil, err
	}
	if r.extent, err = r.measure(); err != nil {
		return nil, err
	}
	if kind, _ := model.Find(cfg.Model.Name); kind.Has("spread") {
		if r.problem, err = model.NewProblem(r.modelSpec(0, 1)); err != nil {
			return nil, configs.Errorf("model", "%v", err)
		}
		r.problem.Redraw = r.N()*r.dim > keptOptima
	}
	r.scorer = r.newScorer()
	if err := r.checkController(); err != nil {
		return nil, err
	}
	compressing, err := r.checkCompressor()
	if err != nil {
		return nil, err
	}
	quiet, loud := r.data.Told()
	r.notes = slices.Concat(r.notes, quiet)
	r.warnings = slices.Concat(loud, clipping, compressing, r.checkSecurity())
	if r.method.Gamma != nil && cfg.Algorithm.Gamma == configs.Computed && r.dim > 0 {
		if r.cfg.Algorithm.Gamma, err = r.chooseGamma(); err != nil {
			return nil, err
		}
	}
	if r.coder, err = coderOf(cfg.Wire); err != nil {
		return nil, err
	}
	return r, r.checkViews()
}

// keptOptima is the number of coordinates of all workers up to which a run keeps the optima of its quadratics: 4 bytes
// each.
const keptOptima = 1 << 25

// newGraph returns the graph of the run, and its slack, which auto may have chosen.
func (r *Run) newGraph() (*topology.Graph, configs.Auto, error) {
	t := r.cfg.Topology
	spec := t.Spec()
	spec.Slack, spec.Seed = float64(t.Slack), r.cfg.Seed
	spec.Exchanges = max(1, int(r.cfg.Train.Rounds)/r.cfg.Algorithm.LocalSteps)
	if r.data.Local() && r.cfg.Train.Epochs > 0 {
		spec.Exchanges = topology.DefaultExchanges // the slack must not depend on rows that another machine does not see
	}
	if own := r.method.On.Kind; own != "" {
		spec = topology.Spec{Kind: own, N: t.Size, Slack: 1}
	}
	choose := spec.Slack == float64(configs.Computed)
	if choose {
		spec.Slack = 1
	}
	graph, err := topology.New(spec)
	if err != nil {
		return nil, 0, configs.Errorf("topology.kind", "%v", err).
			With("topology.size", "topology.file", "topology.degree", "topology.chance", "algorithm.reduce")
	}
	slack := t.Slack
	if choose {
		if graph, err = r.chooseSlack(graph); err == nil {
			graph, err = r.steadySlack(graph)
		}
		if err != nil {
			return nil, 0, err
		}
		slack = configs.Auto(graph.Spec().Slack)
	}
	return graph, slack, r.admit(graph)
}

func newSchedule(t configs.Train) (train.Schedule, error) {
	schedule, err := train.NewSchedule(train.StepPlan{
		Name: t.Schedule, StepSize: t.StepSize, Rounds: int(t.Rounds), Warmup: t.Warmup, DropEvery: t.Drop.Every,
		DropFactor: t.Drop.Factor,
	})
	if err != nil {
		return schedule, configs.Errorf("train.schedule", "%v", err).
			With("train.step_size", "train.rounds", "train.epochs", "train.warmup", "train.drop.every")
	}
	return schedule, nil
}

// countRounds computes the rounds of a run whose file gives epochs.
func (r *Run) countRounds() error {
	t := &r.cfg.Train
	if t.Epochs == 0 || r.data == nil {
		return nil
	}
	samples, err := r.data.Used()
	if err != nil {
		return err
	}
	rounds := math.Ceil(t.Epochs * float64(samples) / (float64(r.cfg.Topology.Size) * float64(t.Batch)))
	if !(rounds <= configs.MostRounds) {
		return configs.Errorf("train.epochs", "%v epochs of %d samples are %.3g rounds: must be at most %d", t.Epochs,
			samples, rounds, configs.MostRounds).With("train.batch")
	}
	t.Rounds = max(1, configs.Rounds(rounds))
	return nil
}

// measure returns the size of the model.
func (r *Run) measure() (extent, error) {
	size, err := model.Measure(r.modelSpec(0, 1))
	if err != nil {
		return extent{}, configs.Errorf("model.name", "%v", err).With("data.name", "model.hidden", "model.depth")
	}
	files, err := newModelFiles(r.cfg, size)
	e := extent{files: files, dim: size.Dim, sample: size.Sample, packed: size.Packed, part: size.Part}
	if o := r.cfg.Model.Outline; o != nil {
		e.exact = o.Exact
	}
	e.files.layers = size.Layout
	return e, err
}
