package algos

import (
	"errors"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// D2 is one worker of D²: Tang et al., "D²: Decentralized Training over Decentralized Data", ICML 2018, algorithm 1,
//
//	z_k = 2x_k − x_{k−1} − α_k g_k + α_{k−1} g_{k−1},  x_{k+1,i} = Σ_j W_ij z_{k,j},
//
// which removes the error that D-PSGD keeps when the workers' data differ. With r = x_{k−1} − α_{k−1} g_{k−1}, one
// vector is enough:
//
//	z = 2x − α_k g − r,  r ← x − α_k g;  z = x − α_0 g in round 0.
//
// Workers send z, by any Codec: with Moniqua's, x_{k+1} = z + Σ_j W_ij (ẑ_j − ẑ_i) recovers against z. W needs λₙ >
// −1/3. A round that one worker skips alone breaks the recursion, so the rounds are in lock-step.
//
// D² adds the correction c = x − r to each gradient step. In the end c is the difference between the worker's own
// gradient step and the mean. Of H steps between two exchanges each adds c/H, and then r ← z − c. So the optimum stays
// a fixed point (Alghunaim, "Local Exact-Diffusion for Decentralized Optimization and Learning", 2023).
type D2 struct {
	X     []float32 // the model x_{k,i}, z while a round mixes; updated in place
	Alpha StepSize
	Codec Codec
	Every int // H, 0 means 1

	r     []float32
	local bool   // steps were taken since the last exchange: r holds c
	mine  []byte // the payload of this round, owned by the machine

	pieces parcel
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *D2) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *D2) Params() []float32 { return a.X }

// Descend turns x into z.
func (a *D2) Descend(k int, g []float32) error {
	alpha := a.Alpha(k)
	if a.r == nil { // round 0
		a.r = make([]float32, len(a.X))
		for c, x := range a.X {
			half := x - float32(alpha*g[c])
			a.X[c], a.r[c] = half, half
		}
		return nil
	}
	r, g := a.r[:len(a.X)], g[:len(a.X)]
	if a.local {
		a.local = false
		share := 1 / float32(a.Every)
		for c, x := range a.X {
			z := x - float32(alpha*g[c]) + float32(share*r[c])
			a.X[c], r[c] = z, z-r[c]
		}
		return nil
	}
	for c, x := range a.X {
		half := x - float32(alpha*g[c])
		a.X[c], r[c] = half+(x-r[c]), half
	}
	return nil
}

// Local subtracts α_k·g and adds c/H.
func (a *D2) Local(k int, g []float32) error {
	switch {
	case a.r == nil:
		a.r = make([]float32, len(a.X)) // x_{−1} = x_0: c = 0
	case !a.local:
		vec.Sub(a.r, a.X, a.r)
	}
	a.local = true
	vec.Axpy(a.X, -a.Alpha(k), g)
	vec.Axpy(a.X, 1/float32(a.Every), a.r)
	return nil
}

// Carries returns the codec of its one lane.
func (a *D2) Carries() []Codec { return []Codec{a.Codec} }

// Send appends z as the codec encodes it.
func (a *D2) Send(k, _ int, dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := a.Codec.Encode(dst, k, a.X)
	a.mine = dst[start:]
	return dst, err
}

// Mix moves z towards the neighbours' z in place.
func (a *D2) Mix(k, _ int, in []Message) (Mixed, error) {
	return a.Codec.Mix(a.X, k, a.X, a.mine, in)
}

// Pieces returns the number of pieces of a message.
func (a *D2) Pieces() int { return a.pieces.by(a.Codec, len(a.X)) }

// SendPiece appends a piece of z.
func (a *D2) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	return a.pieces.send(k, piece, a.X, dst)
}

// CheckPiece verifies a piece of the messages.
func (a *D2) CheckPiece(k, piece int, in []Message) error {
	return a.pieces.codec.CheckPiece(k, piece, a.X, in)
}

// MixPiece moves a piece of z towards the neighbours' z.
func (a *D2) MixPiece(k, piece int, in []Message) (Mixed, error) {
	return a.pieces.mix(a.X, k, piece, a.X, in)
}

// ExtraMemory returns the bytes of r.
func (a *D2) ExtraMemory() int { return floatBytes * len(a.r) }

// State shows r and whether r holds c.
func (a *D2) State(v *state.Visit) {
	v.Vector("r", &a.r, len(a.X))
	v.Bool("local", &a.local)
	if v.Loading() && a.local && a.r == nil {
		v.Fail("local", errors.New("local steps, but no correction c"))
	}
}

// Restart forgets r, so that z = x − α p. The mean of the models moves by −α p̄ + d, and d is the same in all rounds.
// Over other members it is not 0, and the mean would drift for ever. After z = x − α p it is 0.
func (a *D2) Restart(Origin) { a.r, a.local = nil, false }
