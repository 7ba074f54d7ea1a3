// Package algos holds the update rules of decentralized training: one file per paper, whose
// loop body it is, over flat float32 vectors. Choose a rule, give it the model and a step size,
// and let a machine of package gossip call it:
//
//	rule := &algos.DPSGD{
//		X:     x,                                      // the model, updated in place
//		Alpha: func(k int) float32 { return 0.1 },     // α_k
//		Codec: algos.Full{},                           // or a moniqua.Codec
//	}
//	machine, err := gossip.New(rank, graph.Row(rank, 0), rule, rounds)
//
// DPSGD and D2 send models by a Codec, and so does ADPSGD, whose workers mix in pairs and share
// no rounds. Choco, DCD, ECD, DeepSqueeze, Naive, AllGather and Server send what a
// quant.Compressor makes of a vector. AllReduce sums gradients in full precision.
//
// An update rule sees neither sockets nor clocks nor other workers, and takes no gradients. To
// add one, implement gossip.Algorithm.
package algos

import (
	"errors"
	"fmt"

	"gossiptrainer/topology"
)

// A Plan describes a round of an algorithm to the protocol.
type Plan struct {
	Hops    int  // exchanges with the neighbours per round, ≥ 0
	Overlap bool // the message depends on x_k alone: it travels while the gradient is computed
	Lead    int  // slots (round, hop) a worker may be ahead of one it sends to, ≥ 1: the number of sent frames to keep
}

// A Message is the payload of neighbour From in the current hop. Its receiver must not change the bytes.
type Message struct {
	From    topology.Rank
	Weight  float32 // W_ij
	Payload []byte
	Repair  []byte  // data to recover the message for certain, nil unless a MismatchError asked for it
	Limit   float32 // the largest magnitude allowed for a value, or for its distance; 0: any
}

// Believe returns a *MessageError that wraps ErrAbsurd if largest, the largest magnitude in the message, is beyond the
// limit.
func (m Message) Believe(largest float32) error {
	if m.Limit > 0 && !(largest <= m.Limit) {
		return &MessageError{m.From, fmt.Errorf("%w: %.3g in magnitude, want at most %.3g", ErrAbsurd, largest,
			m.Limit)}
	}
	return nil
}

// ErrAbsurd is wrapped by the error of a message whose values are beyond its limit.
var ErrAbsurd = errors.New("absurd values")

// Mixed holds the observations of one call of Mix.
type Mixed struct {
	Gap   float32 // max over messages of |x̂_j − x̂_i|_∞ as recovered
	Moved int     // coordinates in which some x̂_j differs from x̂_i
	// Largest bounds the magnitudes of the messages' values, or of their distances if they hold only distances; 0 if it
	// was not measured.
	Largest float32
}

// Join returns the observations of two parts of a mixing.
func (m Mixed) Join(o Mixed) Mixed {
	return Mixed{Gap: max(m.Gap, o.Gap), Moved: m.Moved + o.Moved, Largest: max(m.Largest, o.Largest)}
}

// A Codec encodes models for a link (full precision, Moniqua). It has no clock and no random source of its own; k is
// the round.
type Codec interface {
	// Encode appends the payload of model x to dst. It fails on NaN and Inf.
	Encode(dst []byte, k int, x []float32) ([]byte, error)
	// Mix adds Σ_j w_j·(x̂_j − x̂_i) over the messages in, in increasing rank, to acc. One call takes all neighbours,
	// so that one pass over memory is enough. The receiver's model x is the reference for recovery, and mine is its own
	// payload of round k. The vector acc may be x itself. Messages are read-only. On error acc is unchanged. An error
	// caused by a message is a *MessageError, and a *MismatchError if messages need their Repair.
	Mix(acc []float32, k int, x []float32, mine []byte, in []Message) (Mixed, error)
}

// A MessageError says which neighbour's message could not be used.
type MessageError struct {
	From topology.Rank
	Err  error
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("message from worker %d: %v", e.From, e.Err)
}
func (e *MessageError) Unwrap() error { return e.Err }

// A MismatchError names the senders of messages that were recovered wrongly. The messages are sound: with their Repair
// they can be used.
type MismatchError struct {
	From []topology.Rank // in increasing rank; valid until the next Mix
	Ask  [][]byte        // the request that each sender's Repair answers, see gossip.Verifier; nil: none
}

// Asked returns the request that the Repair of sender i answers.
func (e *MismatchError) Asked(i int) []byte {
	if i >= len(e.Ask) {
		return nil
	}
	return e.Ask[i]
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("messages from workers %v: recovered wrongly", e.From)
}

// An Origin says whose state a worker begins with, where the members of a run change.
type Origin int

// The origins.
const (
	Kept   Origin = iota // its own
	Cloned               // that of another worker: a newcomer is a clone
)

// A StepSize is α_k as a function of the round k = 0, 1, …
type StepSize func(k int) float32
