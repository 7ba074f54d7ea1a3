package algos

import (
	"fmt"
	"sync/atomic"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// QG is one worker of QG-DSGDm: Lin et al., "Quasi-Global Momentum: Accelerating Decentralized Deep Learning on
// Heterogeneous Data", ICML 2021, algorithm 1. Its momentum follows the steps of the mixed model, not the worker's own
// gradients. So it does not pull the models apart where the workers' data differ:
//
//	p = g + β m̂,  y = x_k − α_k p,  x_{k+1,i} = y_i + Σ_j W_ij (ŷ_j − ŷ_i)
//	m̂ ← β m̂ + (1−β) (x_k − x_{k+1})/α_k
//
// from m̂ = 0. The last line is computed as β m̂ + (1−β) (p − Σ_j W_ij (ŷ_j − ŷ_i)/α_k), which is the same and has no
// difference of two models. At consensus the effective step is α/(1−β). Workers send y, by any Codec.
type QG struct {
	X     []float32 // the model x_{k,i}, y while a round mixes; updated in place
	Alpha StepSize
	Codec Codec
	Beta  float32 // β in [0, 1)

	momentum []float32 // m̂; while a round mixes β m̂ + (1−β) p
	alpha    float32   // α_k while a round mixes
	move     move
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *QG) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *QG) Params() []float32 { return a.X }

// Descend turns x into y.
func (a *QG) Descend(k int, g []float32) error {
	if a.alpha = a.Alpha(k); !(a.alpha > 0) {
		return noStep("qg", k, a.alpha)
	}
	if a.momentum == nil {
		a.momentum = make([]float32, len(a.X))
	}
	m, x, rest := a.momentum[:len(g)], a.X[:len(g)], 1-a.Beta
	for c, v := range g {
		old := float32(a.Beta * m[c])
		p := v + old
		x[c] -= float32(a.alpha * p)
		m[c] = old + float32(rest*p)
		g[c] = 0
	}
	a.move.begin(g)
	return nil
}

// Carries returns the codec of its one lane.
func (a *QG) Carries() []Codec { return []Codec{a.Codec} }

// Send appends y as the codec encodes it.
func (a *QG) Send(k, _ int, dst []byte) ([]byte, error) { return a.move.send(a.Codec, k, a.X, dst) }

// Mix moves y towards the neighbours' y, and the momentum with it.
func (a *QG) Mix(k, _ int, in []Message) (Mixed, error) {
	saw, err := a.move.mix(a.Codec, k, a.X, in)
	if err == nil {
		a.finish()
	}
	return saw, err
}

// Pieces returns the number of pieces of a message.
func (a *QG) Pieces() int { return a.move.pieces.by(a.Codec, len(a.X)) }

// SendPiece appends a piece of y.
func (a *QG) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	return a.move.pieces.send(k, piece, a.X, dst)
}

// CheckPiece verifies a piece of the messages.
func (a *QG) CheckPiece(k, piece int, in []Message) error {
	return a.move.pieces.codec.CheckPiece(k, piece, a.X, in)
}

// MixPiece mixes a piece of y. The model moves after the last one.
func (a *QG) MixPiece(k, piece int, in []Message) (Mixed, error) {
	saw, last, err := a.move.mixPiece(k, piece, a.X, in)
	if last {
		a.finish()
	}
	return saw, err
}

// finish adds the movement of the round to the model and to the momentum.
func (a *QG) finish() {
	vec.Add(a.X, a.X, a.move.sum)
	vec.Axpy(a.momentum, -(1-a.Beta)/a.alpha, a.move.sum)
}

// ExtraMemory returns the bytes of m̂.
func (a *QG) ExtraMemory() int { return floatBytes * len(a.momentum) }

// State shows m̂.
func (a *QG) State(v *state.Visit) { v.Vector("m", &a.momentum, len(a.X)) }

// Restart forgets nothing: the mean of the models moves by that of p, for any momentum. The part of m̂ that belongs to
// another W decays as β^t.
func (a *QG) Restart(Origin) {}

// noStep is the error of a rule that divides by α_k.
func noStep(name string, k int, alpha float32) error {
	return fmt.Errorf("%s: round %d: step size %v: must be above 0, because momentum divides by it", name, k, alpha)
}

// A move is the part of an update rule that adds a round's mixing to a vector, at once or piece by piece. The model
// that was sent is its reference until the last piece.
type move struct {
	sum    []float32 // the vector
	mine   []byte    // the payload of this round, owned by the machine
	pieces parcel
	left   atomic.Int32 // pieces to mix, perhaps at the same time
}

// begin begins a round that adds to sum.
func (m *move) begin(sum []float32) {
	m.sum = sum
	m.left.Store(int32(max(1, len(m.pieces.mine))))
}

func (m *move) send(codec Codec, k int, x []float32, dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := codec.Encode(dst, k, x)
	m.mine = dst[start:]
	return dst, err
}

func (m *move) mix(codec Codec, k int, x []float32, in []Message) (Mixed, error) {
	return codec.Mix(m.sum, k, x, m.mine, in)
}

// mixPiece reports whether this was the last piece of the round.
func (m *move) mixPiece(k, piece int, x []float32, in []Message) (saw Mixed, last bool, err error) {
	if saw, err = m.pieces.mix(m.sum, k, piece, x, in); err != nil {
		return saw, false, err
	}
	return saw, m.left.Add(-1) == 0, nil
}
