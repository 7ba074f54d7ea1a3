// Package gossiptrainer trains an objective of your own: as one worker of a run over the
// network, or with all workers in one process.
//
//	type line struct{ x, y []float32 } // the data of one worker
//
//	func (l line) Dim() int { return 2 }
//
//	func (l line) Gradient(g []float32, k int, w []float32) (loss float32, err error) { ... }
//
//	result, err := gossiptrainer.Train(ctx, gossiptrainer.Training{
//		Run: "line", Workers: 2, Rounds: 200,
//		StepSize: func(k int) float32 { return 0.1 },
//	}, line{x, y})
//
// Every process that calls Train with the same Run on one network becomes a
// worker. TrainAll runs the same rounds without a network and gives the same
// bits. By default the workers form a ring and run D-PSGD in full precision;
// Training says how to choose another graph, update rule or codec.
//
// The package draws no mini-batches, keeps no checkpoints and reads no run
// files: the command peer does.
package gossiptrainer

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// An Objective is what one worker minimises: the mean loss over its own data.
// The run minimises the mean over all workers. Its methods are called by one
// goroutine at a time.
type Objective interface {
	// Dim returns the number of parameters, at least 1 and the same at all workers.
	Dim() int
	// Gradient writes the gradient at x into g and returns the loss there. The
	// mini-batch, if there is one, is that of round k = 0, 1, … Both slices have
	// Dim elements; Gradient keeps neither and does not change x. An error ends
	// the run for all workers.
	Gradient(g []float32, k int, x []float32) (loss float32, err error)
}

// A Training describes a run. All workers need the same, except for Observe and Network.
type Training struct {
	Run      string         // name of the run, 1 to 64 bytes
	Workers  int            // n ≥ 1
	Rounds   int            // of the run, ≥ 0
	StepSize algos.StepSize // α_k > 0 in round k = 0, 1, …
	// Start is the model in which every worker begins. Nil stands for zeros.
	Start []float32
	// Graph says which workers are neighbours. The zero value is a ring of
	// Workers; a Slack of 0 stands for 1.
	Graph topology.Spec
	// Algorithm makes the update rule of a worker, from package algos or your own. Nil stands for
	// D-PSGD in full precision. Its messages may have up to 8 bytes per parameter and 4 KiB more.
	Algorithm func(w Worker) (gossip.Algorithm, error)
	// Observe, if not nil, is called with every gradient of this process's workers, one call at a
	// time.
	Observe func(Progress)
	// Network says how Train reaches the other workers. TrainAll ignores it.
	Network Network
}

// A Worker describes the worker of an update rule.
type Worker struct {
	Rank     topology.Rank     // 0 to n−1
	Workers  int               // n
	Rows     topology.Sequence // its weights and neighbours in the mixing matrices
	X        []float32         // x⁰; the update rule owns it and changes it in place
	StepSize algos.StepSize    // of the Training
}

// A Progress is the progress of a worker.
type Progress struct {
	Rank  topology.Rank
	Round int     // k, from 0
	Loss  float32 // of the gradient of round k
}

// A Result is the final model of a worker.
type Result struct {
	Rank   topology.Rank
	X      []float32 // its model
	Digest string    // SHA-256 of the model's float32 values in little-endian order, in hex
}

// plan is a checked Training with the values derived from it.
type plan struct {
	Training
	graph *topology.Graph
	dim   int

	observing sync.Mutex
}

// newPlan checks t for objectives of dim parameters and fills in the defaults.
func newPlan(t Training, dim int) (*plan, error) {
	switch {
	case t.Rounds < 0:
		return nil, fmt.Errorf("node: %d rounds: set Training.Rounds to at least 0", t.Rounds)
	case t.StepSize == nil:
		return nil, errors.New("node: no step size: set Training.StepSize")
	case dim < 1:
		return nil, fmt.Errorf("node: the objective has %d parameters: Dim must return at least 1", dim)
	case t.Start != nil && len(t.Start) != dim:
		return nil, fmt.Errorf("node: Training.Start has %d parameters, the objective %d", len(t.Start), dim)
	}
	if t.Start == nil {
		t.Start = make([]float32, dim)
	}
	if t.Graph.Kind == "" {
		t.Graph = topology.Spec{Kind: topology.Ring, N: t.Workers}
	}
	if t.Graph.Slack == 0 {
		t.Graph.Slack = 1
	}
	if t.Algorithm == nil {
		t.Algorithm = fullPrecision
	}
	graph, err := topology.New(t.Graph)
	if err != nil {
		return nil, fmt.Errorf("node: graph: %w", err)
	}
	if graph.N() != t.Workers {
		return nil, fmt.Errorf("node: Training.Graph %s has %d workers, Training.Workers says %d", graph.Spec(),
			graph.N(), t.Workers)
	}
	return &plan{Training: t, graph: graph, dim: dim}, nil
}

// fullPrecision is the update rule of a Training that names none.
func fullPrecision(w Worker) (gossip.Algorithm, error) {
	return &algos.DPSGD{X: w.X, Alpha: w.StepSize, Codec: algos.Full{}}, nil
}

// machine returns the state machine of a worker at the beginning of its first round.
func (p *plan) machine(rank topology.Rank) (gossip.Machine, error) {
	rows := p.graph.Sequence(rank)
	rule, err := p.Algorithm(Worker{
		Rank: rank, Workers: p.Workers, Rows: rows, X: slices.Clone(p.Start), StepSize: p.StepSize,
	})
	if err != nil {
		return nil, fmt.Errorf("node: worker %d: Training.Algorithm: %w", rank, err)
	}
	if got := len(rule.Params()); got != p.dim {
		return nil, fmt.Errorf("node: worker %d: the update rule has %d parameters, the objective %d", rank, got, p.dim)
	}
	m, err := gossip.New(rank, rows, rule, p.Rounds)
	if err != nil {
		return nil, fmt.Errorf("node: worker %d: %w", rank, err)
	}
	return m, nil
}

// watched returns the gradients of a worker, and reports each to Observe.
func (p *plan) watched(rank topology.Rank, o Objective) work.Gradient {
	return func(g []float32, k int, x []float32) (float32, error) {
		loss, err := o.Gradient(g, k, x)
		if err == nil && p.Observe != nil {
			p.observing.Lock()
			defer p.observing.Unlock()
			p.Observe(Progress{Rank: rank, Round: k, Loss: loss})
		}
		return loss, err
	}
}

// result returns the final model of a worker's machine.
func result(rank topology.Rank, m gossip.Machine) Result {
	digest := record.Digest(m.Params())
	return Result{Rank: rank, X: m.Params(), Digest: hex.EncodeToString(digest[:])}
}

// shared is the part of a plan that peers compare when they meet.
func (p *plan) shared() ([]byte, error) {
	start := record.Digest(p.Start)
	var text bytes.Buffer
	err := json.NewEncoder(&text).Encode(struct {
		Rounds int           `json:"rounds"`
		Graph  topology.Spec `json:"graph"`
		Start  string        `json:"start"`
	}{p.Rounds, p.graph.Spec(), hex.EncodeToString(start[:])})
	return bytes.TrimSpace(text.Bytes()), err
}
