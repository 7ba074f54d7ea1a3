package algos

import (
	"gossiptrainer/internal/vec"
)

// Decentralized parallel SGD: Lian et al., "Can Decentralized Algorithms Outperform Centralized Algorithms?", NeurIPS
// 2017, algorithm 1,
//
//	x_{k+1,i} = Σ_j W_ij x_{k,j} − α_k g_{k,i}               combine, then adapt
//	x_{k+1,i} = Σ_j W_ij (x_{k,j} − α_k g_{k,j})             adapt, then combine
//
// in the form x_i + Σ_j W_ij (x̂_j − x̂_i), which is the same in full precision. With the Moniqua codec this form is
// algorithm 1 of Lu & De Sa, ICML 2020: the mean of the models moves only by the gradients.

// An Order says whether a round mixes before or after the gradient step.
type Order int

const (
	// CTA, combine then adapt, is the order of the paper. The worker takes the gradient at the model that it sends, so
	// both happen at the same time.
	CTA Order = iota
	// ATC, adapt then combine, mixes the models after the gradient step.
	ATC
)

// DPSGD is one worker of D-PSGD. It keeps no vector besides X, unless it clips.
type DPSGD struct {
	X     []float32 // the model x_{k,i}, updated in place
	Alpha StepSize
	Codec Codec
	Order Order
	Clip  *Clip // limits how far each neighbour moves the model; nil: no limit

	mine   []byte // the payload of this round, owned by the machine
	pieces parcel
}

// Plan describes one exchange per round.
func (a *DPSGD) Plan() Plan { return Plan{Hops: 1, Overlap: a.Order == CTA, Lead: 1} }

// Params returns x_{k,i}.
func (a *DPSGD) Params() []float32 { return a.X }

// Descend subtracts α_k·g.
func (a *DPSGD) Descend(k int, g []float32) error {
	vec.Axpy(a.X, -a.Alpha(k), g)
	return nil
}

// Local subtracts α_k·g: local steps between exchanges (Stich, "Local SGD
// Converges Fast and Communicates Little", ICLR 2019).
func (a *DPSGD) Local(k int, g []float32) error { return a.Descend(k, g) }

// Carries returns the codec of its one lane.
func (a *DPSGD) Carries() []Codec { return []Codec{a.Codec} }

// Send appends the model as the codec encodes it.
func (a *DPSGD) Send(k, _ int, dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := a.Codec.Encode(dst, k, a.X)
	a.mine = dst[start:]
	return dst, err
}

// Mix moves the model towards the neighbours' models in place. The codec recovers against the model that was sent: no
// step changes it in between.
func (a *DPSGD) Mix(k, _ int, in []Message) (Mixed, error) {
	if a.Clip != nil {
		return a.Clip.mix(a.Codec, k, a.X, a.mine, in)
	}
	return a.Codec.Mix(a.X, k, a.X, a.mine, in)
}

// Pieces returns the number of pieces of a message: 1 with clipping, which needs whole messages.
func (a *DPSGD) Pieces() int {
	if a.Clip != nil {
		return 1
	}
	return a.pieces.by(a.Codec, len(a.X))
}

// SendPiece appends a piece of the model.
func (a *DPSGD) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	return a.pieces.send(k, piece, a.X, dst)
}

// CheckPiece verifies a piece of the messages.
func (a *DPSGD) CheckPiece(k, piece int, in []Message) error {
	return a.pieces.codec.CheckPiece(k, piece, a.X, in)
}

// MixPiece moves a piece of the model towards the neighbours' models.
func (a *DPSGD) MixPiece(k, piece int, in []Message) (Mixed, error) {
	return a.pieces.mix(a.X, k, piece, a.X, in)
}

// Stacks reports whether a round is that of a Stack of its codec: it mixes before the gradient step, in one piece,
// without clipping.
func (a *DPSGD) Stacks() bool { return a.Clip == nil && a.Order == CTA && a.Pieces() == 1 }

// Move lets the model be x from now on, which has the values of the model.
func (a *DPSGD) Move(x []float32) { a.X = x }

// Forget forgets the message that was sent last, which is never mixed.
func (a *DPSGD) Forget() { a.mine = nil }

// ExtraMemory returns the bytes of the working memory of clipping, 0 without it.
func (a *DPSGD) ExtraMemory() int {
	if a.Clip == nil {
		return 0
	}
	return floatBytes * len(a.Clip.pull)
}

// Restart forgets nothing: the mean of the models moves by −α p̄ from any start.
func (a *DPSGD) Restart(Origin) {}
