// Package work describes the task of one worker of a run for every driver: packages internal/sim and node
// take the same Task and add options of their own.
package work

import (
	"errors"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Gradient writes the update direction of round k at x into g, which has the
// length of x, and returns the loss of the mini-batch. A driver calls it from one
// goroutine at a time, while the machine receives. It keeps neither g nor x.
type Gradient func(g []float32, k int, x []float32) (loss float32, err error)

// ErrGone is the error of a gradient whose process has been killed. A worker ends with it as if its own process had
// been killed: it tells no other worker, and they wait for it as the run says.
var ErrGone = errors.New("the process that computes the updates is gone")

// ErrOver is the error of a gradient when no worker takes a step in its round or a later one. The run ends before that
// round. All workers of a run learn it for the same round, but those that share no rounds.
var ErrOver = errors.New("no further round takes place")

// A Change is another vector with which a worker goes on. All workers of the run make it from the same round on, which
// is the Succession of the one in which they learned of it.
type Change struct {
	From       int // round
	MaxPayload int // bytes of payload in a frame, from then on
	// Next returns the task with the vector, made of the model at that round. Its machine is an heir, see gossip.Succeed.
	// The driver takes over its Recording and its Coding too, and calls Next between two gradients.
	Next func(x []float32) (*Task, error)
}

// A Task is the work of one worker. It has the machine that a driver runs, the gradients for
// it, and the properties of its frames and its state that drivers need.
type Task struct {
	Rank topology.Rank
	Rows topology.Sequence // neighbours from which the worker receives and to which it sends
	// Closing says who takes the place of a lost neighbour; nil: no worker does.
	Closing  *topology.Closing
	Machine  gossip.Machine
	Gradient Gradient
	// Momentum, given to Gradient as g, spares the driver the memory of a gradient. It is the worker's momentum, which
	// the machine leaves as it is. Nil: g has to be a vector of the driver.
	Momentum []float32
	// Save copies the state of the worker. It may be called where the machine calls
	// the hook of AtBoundary, and before the first round. Nil: the worker has no
	// state that could be saved.
	Save func(*state.Snapshot)
	// Counts are about all workers of a simulation: they are saved when all are at one
	// moment. Nil: there are none.
	Counts state.Keeper
	// Rounds is the number of rounds that the machine was made for.
	Rounds int
	// Asynchronous says that workers share no rounds: neighbours may be any number
	// of rounds apart.
	Asynchronous bool
	// MaxPayload bounds the payload of a frame of the run, in bytes.
	MaxPayload int
	// Coding says how payloads become shorter on their way.
	Coding Coding

	Recording
}

// A Coding says how a driver codes payloads without loss.
type Coding struct {
	// Entropy is the coder of payloads. Neighbours need not have the same.
	Entropy entropy.Coder
	// Layout returns the parts of a frame's payload, for the entropy coder; nil: unknown.
	Layout func(f gossip.Frame) quant.Layout
	// Still is what the exact elements were at the start, the same on all workers. A payload leaves it out where it has
	// not changed. Nil: nothing is left out.
	Still []float32
	// Span returns where the exact elements are in a frame's payload.
	Span func(f gossip.Frame) Span
}

// A Span is where exact elements are in a payload.
type Span = still.Span

// A Recording says how often a worker writes a record, and holds the figures that its driver
// does not measure. The driver reads nothing of the record back.
type Recording struct {
	// Every is how many rounds pass between two Step events; 0 for none.
	Every int
	// Parameters is how many parameters of the model one message covers.
	Parameters int
	// Theta returns the bound of the modulo codec in round k, nil without one.
	Theta func(k int) float64
	// Bits returns the bits per parameter of the messages of round k; nil: unknown.
	Bits func(k int) int
}
