package experiment

import (
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/compress"
	"gossiptrainer/internal/modelfile"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A Run is an assembled configuration, which does not change. Its methods may be called from several goroutines.
type Run struct {
	cfg         configs.Config // with values in place of auto
	method      registry.Algorithm
	data        *shards.Dataset // nil for an objective without data
	graph       *topology.Graph
	rows        []topology.Sequence // by rank: who hears whom
	links       shape.Network
	schedule    train.Schedule
	size        model.Size       // of the model, zero before it is known
	exact       int              // E: trailing elements that travel in full precision
	modulo      *modulo.Maker    // nil in full precision
	compressors *compress.Maker  // for an algorithm that compresses
	files       *modelfile.Files // of the model
	problem     *model.Problem   // that the quadratics of all workers share, nil for other models
	scorer      *score.Scorer
	program     *Program // of an external model, nil where none runs
	notes       []string // of the loader
	warnings    []string
}

// Config returns the configuration of the run.
func (r *Run) Config() configs.Config { return r.cfg }

// Data returns the data of the run, nil for an objective without data.
func (r *Run) Data() *shards.Dataset { return r.data }

// Scorer returns what evaluates the models of the run.
func (r *Run) Scorer() *score.Scorer { return r.scorer }

// Method returns the registry's row of the algorithm.
func (r *Run) Method() *registry.Algorithm { return &r.method }

// Schedule returns the step sizes.
func (r *Run) Schedule() *train.Schedule { return &r.schedule }

// Size returns the size of the model, zero before it is known.
func (r *Run) Size() model.Size { return r.size }

// Exact returns the number E of trailing elements that travel in full precision.
func (r *Run) Exact() int { return r.exact }

// Modulo returns what makes the modulo codecs, nil where models travel in full precision or compressed.
func (r *Run) Modulo() *modulo.Maker { return r.modulo }

// Program returns the program of an external model, nil where none runs.
func (r *Run) Program() *Program { return r.program }

// Compressors returns what makes the compressors of an algorithm that compresses.
func (r *Run) Compressors() *compress.Maker { return r.compressors }

// Graph returns the graph of the configuration. All-reduce has a graph of its own, whose weights play no part. Its
// messages go around the ring in one direction, or over all edges of a complete graph or a star.
func (r *Run) Graph() *topology.Graph { return r.graph }

// Warnings returns likely mistakes in a legal configuration, each with its fix, to print before the run.
func (r *Run) Warnings() []string { return slices.Clone(r.warnings) }

// Notes returns the notes of the loader: the keys that an override has made meaningless.
func (r *Run) Notes() []string { return slices.Clone(r.notes) }

// Network returns the links of the run with their limits.
func (r *Run) Network() shape.Network { return r.links }

// N returns the number of workers.
func (r *Run) N() int { return len(r.rows) }

// Dim returns the number of parameters of the model, with exact elements. It is 0 for an external model without an
// outline, whose size only its program knows.
func (r *Run) Dim() int { return r.size.Dim }

// Files returns what knows the files of the run's model.
func (r *Run) Files() *modelfile.Files { return r.files }

// Rows returns the neighbours that each worker hears and tells, by rank.
func (r *Run) Rows() []topology.Sequence { return r.rows }

// ModelSpec describes the objective of a worker, for batches up to a size.
func (r *Run) ModelSpec(worker, batch int) model.Spec {
	m := r.cfg.Model
	s := model.Spec{
		Name: m.Name, Batch: batch, Hidden: m.Hidden, Depth: m.Depth, Norm: m.Norm,
		Dim: m.Dim, Spread: m.Spread, Seed: r.cfg.Seed, Worker: worker, Outline: m.Outline,
		Problem: r.problem,
	}
	if r.data != nil {
		info := r.data.Info()
		s.Shape, s.Classes = info.Shape, len(info.Classes)
	}
	return s
}

// Closing returns the workers that replace the lost neighbours of a worker, nil where the run does not close gaps.
func (r *Run) Closing(rank topology.Rank) *topology.Closing {
	if !r.cfg.Reweights() {
		return nil
	}
	return r.graph.Closing(rank)
}

// A Program is what a worker of an external model needs of its program.
type Program struct {
	// Start is x_0, of the length of the outline; the worker keeps it. Nil where the worker begins from a saved state.
	Start []float32
	// Exact is what the exact elements were at the start of the run, the same on all workers; nil: unknown.
	Exact []float32
	// Heir says that the worker only gives its algorithm to one that trains already, see gossip.Succeed.
	Heir bool
	// Gradient writes g = x − y. It returns the loss that the program has told last, 0 before any.
	Gradient work.Gradient
}

// Programmed returns a copy of r whose worker is that of an external model that p trains, in a process of its own. The
// run needs an outline. The saved state of the worker holds nothing of the program. Its Evaluate is nil, and the loss
// and accuracy of a result are left to the caller.
func (r *Run) Programmed(p Program) *Run {
	programmed := *r // a run does not change, so both may share it
	programmed.program = &p
	return &programmed
}
