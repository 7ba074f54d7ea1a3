package experiment

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A Run is an assembled configuration, which does not change. Its methods may be called from several goroutines.
// Objects that a Worker returns must not be shared between goroutines.
type Run struct {
	network
	cfg      configs.Config // with values in place of auto
	method   registry.Algorithm
	data     *shards.Dataset // nil for an objective without data
	schedule train.Schedule
	bound    float64               // on the update directions of all workers, 0 = none
	theta    []func(k int) float64 // by lane; nil in full precision and under control
	control  thetaControl
	extent
	problem  *model.Problem // that the quadratics of all workers share, nil for other models
	scorer   *score.Scorer
	program  *Program // of an external model, nil where none runs
	coder    entropy.Coder
	notes    []string // of the loader
	warnings []string
}

// An extent is the size of a model, zero before it is known.
type extent struct {
	files  modelFiles
	dim    int // d
	exact  int // E: trailing elements that travel in full precision
	sample int // floats of memory for every sample of a batch
	packed int // the same for any batch
	part   int // coordinates of the longest part of a gradient; 0: it comes whole
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

// A network says which workers hear each other, and over which links.
type network struct {
	graph *topology.Graph
	rows  []topology.Sequence // by rank
	links shape.Network
}

// A builder makes one worker of a run.
type builder struct {
	*Run
	rank   topology.Rank
	rows   topology.Sequence // neighbours that the worker hears and tells
	choice choice            // with all others
	beside beside            // of workers in one process
}

// A choice is what a worker chooses together with all others.
type choice struct {
	agreed  *gossip.Agreement // its part in the choice of bits; nil: bits do not change
	chapter *chapter          // of a run whose members come and go; nil: they stay
}

// A chapter is a view of a run whose members come and go, as far as θ and bits depend on it. In each view the members
// choose them again. The log says with what they begin, and what holds around a change.
type chapter struct {
	log  *view.Log
	view int

	theta []func(k int) float64 // certified, by lane; nil: as the run says
}

// A beside is what a worker has where all workers are in one process.
type beside struct {
	audit *moniqua.Audit // nil: messages are not compared
	late  bool           // its first message may wait until it is asked for
}

// typical returns the builder of a worker that does not train. It gives sizes and properties that all workers share.
func (r *Run) typical() *builder { return &builder{Run: r} }

// Config returns the configuration of the run.
func (r *Run) Config() configs.Config { return r.cfg }

// Data returns the data of the run, nil for an objective without data.
func (r *Run) Data() *shards.Dataset { return r.data }

// Scorer returns what evaluates the models of the run.
func (r *Run) Scorer() *score.Scorer { return r.scorer }

// newScorer makes the scorer when all else is known. While the run goes on, the mean of the replicas is evaluated
// except in three cases. Asynchronous workers have no rounds in common. Only its script can evaluate an external model.
// Running statistics are averaged only at the end.
func (r *Run) newScorer() *score.Scorer {
	m := r.cfg.Model
	kind, _ := model.Find(m.Name)
	return score.New(score.Setup{
		Data: r.data, Spec: func(batch int) model.Spec { return r.modelSpec(0, batch) }, Workers: r.N(), Dim: r.dim,
		Batch: r.cfg.Train.Batch, Most: r.cfg.Output.EvaluateSamples, Every: r.cfg.Output.Evaluate,
		Sampled: r.cfg.Output.ReplicaSamples,
		Means:   !kind.External && !(kind.Has("norm") && m.Norm == "batch") && !r.Asynchronous(),
		Scripts: r.cfg.External(), Memory: r.activations(),
	})
}

// activations returns the bytes of the values of a batch between layers, and of packed weights.
func (r *Run) activations() int64 {
	return floatBytes * (int64(r.cfg.Train.Batch)*int64(r.sample) + int64(r.packed))
}

// Weights returns the weights of the workers in the objective, 1 where all count equally. It may read the labels.
func (r *Run) Weights() ([]float64, error) {
	if r.data == nil || !r.cfg.Data.Weighted() {
		return data.EqualShares(r.N()), nil
	}
	return r.data.Weights()
}

// Graph returns the graph of the configuration. All-reduce has a graph of its own, whose weights play no part. Its
// messages go around the ring in one direction, or over all edges of a complete graph or a star.
func (r *Run) Graph() *topology.Graph { return r.graph }

// Warnings returns likely mistakes in a legal configuration, each with its fix, to print before the run.
func (r *Run) Warnings() []string { return slices.Clone(r.warnings) }

// Notes returns the notes of the loader: the keys that an override has made meaningless.
func (r *Run) Notes() []string { return slices.Clone(r.notes) }

// Network returns the links of the run with their limits.
func (r *Run) Network() shape.Network { return r.links }

// OnLinks returns about how long a message of one byte for each parameter is on the uplink of a worker.
func (r *Run) OnLinks() time.Duration {
	_, arrives := r.links.NewSender(0).Book(0, 0, r.dim)
	return arrives
}

// N returns the number of workers.
func (r *Run) N() int { return len(r.rows) }

// Dim returns the number of parameters of the model, with exact elements. It is 0 for an external model without an
// outline, whose size only its program knows.
func (r *Run) Dim() int { return r.dim }

// Layout returns the names and shapes of the tensors in files of the model, see SavedModel.
func (r *Run) Layout() []model.Param { return r.files.form.Layout() }

// Sequence returns the neighbours that worker rank hears and tells.
func (r *Run) Sequence(rank topology.Rank) topology.Sequence { return r.rows[rank] }

func (r *Run) checkRank(rank topology.Rank) error {
	if rank < 0 || int(rank) >= r.N() {
		return fmt.Errorf("experiment: worker %d: the run has workers 0 to %d", rank, r.N()-1)
	}
	return nil
}

// modelSpec describes the objective of a worker, for batches up to a size.
func (r *Run) modelSpec(worker, batch int) model.Spec {
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

// controlled says whether the bits change while the run goes on.
func (r *Run) controlled() bool {
	_, ok := controllers[r.cfg.Algorithm.Controller.Name]
	return ok
}

// quantized says whether models travel as symbols of the modulo codec.
func (r *Run) quantized() bool {
	a := r.cfg.Algorithm
	return r.method.ByMoniqua() && a.Codec == registry.Moniqua && a.Bits != fullBits
}

// fullBits are the bits per parameter of full precision.
const fullBits = 32

// levels returns the N of the modulo codec, the smallest where it changes: a bound for coarse values holds for fine
// ones.
func (r *Run) levels() int {
	if r.controlled() {
		return 1 << r.cfg.Algorithm.Controller.MinBits
	}
	if r.cfg.Algorithm.Levels > 0 {
		return r.cfg.Algorithm.Levels
	}
	return 1 << r.cfg.Algorithm.Bits
}

// Asynchronous reports whether workers do not wait for each other, so that some do more steps than others.
func (r *Run) Asynchronous() bool { return r.method.Asynchronous() }

// Compresses says whether algorithm.compressor makes the messages.
func (r *Run) Compresses() bool { return r.method.Compresses() }

// Reweights reports whether workers go on without lost workers.
func (r *Run) Reweights() bool { return r.cfg.Faults.OnLostNeighbor == "reweight" }
