// Package experiment resolves a run file to a Run: names become the graph, the algorithm, its settings, bounds, sizes
// and codecs. Values of auto are chosen, and contradictions are found at their keys. It reads no samples and makes no
// worker: package build does.
package experiment

import (
	"math"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/modelfile"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/model"
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
		if trained, err = modelfile.StartOf(cfg); err != nil {
			return nil, err
		}
	}
	if r.data, err = shards.Open(cfg, trained); err != nil {
		return nil, err
	}
	return assemble(r)
}

// assemble builds the run on its data.
func assemble(r *Run) (*Run, error) {
	cfg := r.cfg
	err := countRounds(r)
	if err != nil {
		return nil, err
	}
	if r.graph, r.cfg.Topology.Slack, err = newGraph(r); err != nil {
		return nil, err
	}
	r.rows = r.method.Neighbours(r.graph)
	if r.links, err = linksOf(cfg, r.graph.Spec(), r.rows); err != nil {
		return nil, err
	}
	if err := checkScript(r); err != nil {
		return nil, err
	}
	clipping, err := checkClip(r)
	if err != nil {
		return nil, err
	}
	if r.schedule, err = newSchedule(r.cfg.Train); err != nil {
		return nil, err
	}
	if r.modulo, err = newModulo(r); err != nil {
		return nil, err
	}
	if err = measure(r); err != nil {
		return nil, err
	}
	if kind, _ := model.Find(cfg.Model.Name); kind.Has("spread") {
		if r.problem, err = model.NewProblem(r.ModelSpec(0, 1)); err != nil {
			return nil, configs.Errorf("model", "%v", err)
		}
		r.problem.Redraw = r.N()*r.size.Dim > keptOptima
	}
	r.scorer = newScorer(r)
	r.compressors = newCompressors(r)
	if err := checkController(r); err != nil {
		return nil, err
	}
	var compressing []string
	if r.method.Compresses() {
		if compressing, err = r.compressors.Check(); err != nil {
			return nil, err
		}
	}
	quiet, loud := r.data.Told()
	r.notes = slices.Concat(r.notes, quiet)
	r.warnings = slices.Concat(loud, clipping, compressing, checkSecurity(r), checkCoding(r))
	if r.method.Gamma != nil && cfg.Algorithm.Gamma == configs.Computed && r.size.Dim > 0 {
		if r.cfg.Algorithm.Gamma, err = chooseGamma(r); err != nil {
			return nil, err
		}
	}
	if _, err := entropy.Parse(cfg.Wire.Entropy); err != nil {
		return nil, configs.Errorf("wire.entropy", "%v", err)
	}
	return r, checkViews(r)
}

// keptOptima is the number of coordinates of all workers up to which a run keeps the optima of its quadratics: 4 bytes
// each.
const keptOptima = 1 << 25

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
func countRounds(r *Run) error {
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

// measure takes the size of the model.
func measure(r *Run) (err error) {
	if r.size, err = model.Measure(r.ModelSpec(0, 1)); err != nil {
		return configs.Errorf("model.name", "%v", err).With("data.name", "model.hidden", "model.depth")
	}
	if o := r.cfg.Model.Outline; o != nil {
		r.exact = o.Exact
	}
	if r.modulo != nil {
		r.modulo.Dim, r.modulo.Exact = r.size.Dim, r.exact
	}
	r.files, err = modelfile.New(r.cfg, r.size, r.N(), r.data)
	return err
}

// methodOf returns the registry's row of the algorithm in a.
func methodOf(a configs.Algorithm) (registry.Algorithm, error) {
	if row, ok := registry.Find(a.Name, a.Reduce); ok {
		return row, nil
	}
	if names := registry.Names(nil); !slices.Contains(names, a.Name) {
		return registry.Algorithm{}, configs.Errorf("algorithm.name", "%q is not one of %v", a.Name, names)
	}
	return registry.Algorithm{}, configs.Errorf("algorithm.reduce", "%q is not one of %v", a.Reduce, registry.Forms())
}
