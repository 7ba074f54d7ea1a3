// Package experiment assembles a run: from a configuration to each worker's
// row of the graph, algorithm, codec, model and shard of the data. It is the
// only package that knows what the names in a run file stand for.
//
// It drives nothing: packages sim and node take the machines that it builds.
package experiment

import (
	"fmt"
	"slices"
	"strconv"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/model"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A Run is an assembled configuration. Its methods may be called from several
// goroutines; what a Worker gives must not be shared between them.
type Run struct {
	cfg      configs.Config
	graph    *topology.Graph
	method   registry.Algorithm
	rows     []topology.Row
	network  shape.Network
	schedule train.Schedule
	theta    func(k int) float64 // nil in full precision and under control
	control  func(registry.Lane) (*moniqua.Control, error)
	audit    *moniqua.Audit // nil where the workers are not together, or verify
	bound    float64        // of the update direction, 0 = none
	layout   []model.Param
	dim      int
	sample   int      // floats of memory for every sample of a batch
	data     *dataset // nil for an objective without data
	scorer   *scorer
	coder    entropy.Coder
	notes    []string // of the loader
	warnings []string
	agreed   *gossip.Agreement // of the worker that is built: nil but in its copy of the run
}

// New assembles cfg as far as that needs no samples. What does not fit together
// is a *configs.Error at the key that says so; missing data can be a
// *data.MissingError for sets whose shape is in their files. Notes of the loader
// are kept, see Notes.
func New(cfg configs.Config, notes ...string) (*Run, error) {
	r := &Run{cfg: cfg, notes: notes}
	var err error
	if r.method, err = methodOf(cfg.Algorithm); err != nil {
		return nil, err
	}
	for _, assemble := range []func() error{
		r.assembleData, r.assembleGraph, r.assembleClip, r.assembleSchedule, r.assembleTheta,
		r.assembleModel, r.assembleController, r.assembleCompressor, r.assembleGamma, r.assembleEntropy,
	} {
		if err := assemble(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Run) assembleGraph() error {
	t := r.cfg.Topology
	spec := topology.Spec{
		Kind: topology.Kind(t.Kind), N: t.Size, Rows: t.Rows, Cols: t.Cols, Edges: t.Edges, Slack: float64(t.Slack),
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
		return configs.Errorf("topology.kind", "%v", err).With("topology.size", "topology.file", "algorithm.reduce")
	}
	if choose {
		if graph, err = r.chooseSlack(graph); err != nil {
			return err
		}
		r.cfg.Topology.Slack = configs.Auto(graph.Spec().Slack)
	}
	if err := r.admit(graph); err != nil {
		return err
	}
	r.graph = graph
	r.rows = r.method.Neighbours(graph)
	if r.network, err = networkOf(r.cfg, graph.Spec(), r.rows); err != nil {
		return err
	}
	return r.checkScript()
}

func (r *Run) assembleSchedule() error {
	t := r.cfg.Train
	schedule, err := train.NewSchedule(t.Schedule, t.StepSize, t.Rounds)
	if err != nil {
		return configs.Errorf("train.schedule", "%v", err).With("train.step_size", "train.rounds")
	}
	r.schedule = schedule
	return nil
}

func (r *Run) assembleModel() error {
	size, err := model.Measure(r.modelSpec(0, 1))
	if err != nil {
		return configs.Errorf("model.name", "%v", err).With("data.name", "model.hidden", "model.depth")
	}
	r.layout, r.dim, r.sample = size.Layout, size.Dim, size.Sample
	r.scorer = newScorer(r)
	return nil
}

// modelSpec describes the objective of a worker, for batches up to a size.
func (r *Run) modelSpec(worker, batch int) model.Spec {
	m := r.cfg.Model
	s := model.Spec{
		Name: m.Name, Batch: batch, Hidden: m.Hidden, Depth: m.Depth, Norm: m.Norm,
		Dim: m.Dim, Spread: m.Spread, Seed: r.cfg.Seed, Worker: worker,
	}
	if r.data != nil {
		info := r.data.sources[0].Info // all sources have one form
		s.Shape, s.Classes = info.Shape, len(info.Classes)
	}
	return s
}

// Config returns what the run was made from.
func (r *Run) Config() configs.Config { return r.cfg }

// Sections returns what all peers and all parts of the run must agree on. The name of the
// run is not among them, for it is compared by itself.
func (r *Run) Sections() []configs.Section {
	sections := r.cfg.Sections()
	for i, s := range sections {
		if s.Name == "run" {
			sections[i].Name, sections[i].JSON = "seed", []byte(strconv.FormatUint(r.cfg.Seed, 10))
		}
	}
	return sections
}

// Graph returns the graph of the configuration. All-reduce has its own, whose
// weights play no part: messages go around the ring in one direction, or over
// all edges of a complete graph or a star.
func (r *Run) Graph() *topology.Graph { return r.graph }

// Warnings returns what is legal in the configuration and yet likely to be a
// mistake, each with its fix: for people, before the run.
func (r *Run) Warnings() []string { return slices.Clone(r.warnings) }

// Notes returns what the loader said: which keys an override has made meaningless.
func (r *Run) Notes() []string { return slices.Clone(r.notes) }

// Network returns the links of the run, as its limits make them.
func (r *Run) Network() shape.Network { return r.network }

// N returns the number of workers.
func (r *Run) N() int { return len(r.rows) }

// Dim returns the number of parameters of the model.
func (r *Run) Dim() int { return r.dim }

// Layout returns the names and shapes of the parameters.
func (r *Run) Layout() []model.Param { return slices.Clone(r.layout) }

// Row returns whom worker rank hears and tells.
func (r *Run) Row(rank topology.Rank) topology.Row { return r.rows[rank] }

func (r *Run) checkRank(rank topology.Rank) error {
	if rank < 0 || int(rank) >= r.N() {
		return fmt.Errorf("experiment: worker %d: the run has workers 0 to %d", rank, r.N()-1)
	}
	return nil
}

// Script returns the faults of the run file in the form in which they are played.
func (r *Run) Script() []fault.Fault { return configs.Script(r.cfg.Faults.Script) }

// kills reports whether processes end because of the script.
func (r *Run) kills() bool {
	return slices.ContainsFunc(r.Script(), func(f fault.Fault) bool { return f.Kind == fault.Kill })
}

// checkScript finds links in the script that the run does not have.
func (r *Run) checkScript() error {
	for i, f := range r.Script() {
		if f.Kind == fault.Cut && !r.linked(f.Peers[0], f.Peers[1]) {
			return configs.Errorf(fmt.Sprintf("faults.script.%d.cut", i),
				"workers %d and %d are no neighbours in %s", f.Peers[0], f.Peers[1], r.graph.Spec())
		}
	}
	return nil
}

// linked reports whether one of two workers sends to the other.
func (r *Run) linked(i, j topology.Rank) bool {
	tells := func(i, j topology.Rank) bool { return int(i) < len(r.rows) && slices.Contains(r.rows[i].Out, j) }
	return tells(i, j) || tells(j, i)
}
