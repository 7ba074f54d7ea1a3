package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// Choco is one worker of ChocoSGD: Koloskova, Stich and Jaggi, "Decentralized Stochastic Optimization and Gossip
// Algorithms with Compressed Communication", ICML 2019, algorithm 2. Every worker has a public copy h, which all its
// neighbours know. It sends the compressed difference between its model and h:
//
//	y = x_k − α_k g_k
//	q_i = C(y − h_i),  h_i ← h_i + q_i,  s_i ← s_i + Σ_j W_ij q_j     (j = i included)
//	x_{k+1} = y + γ(s_i − h_i)
//
// from h = s = 0. The sum s = Σ_j W_ij h_j replaces the copies of the neighbours: two vectors are enough. C is a
// contraction, biased or not; the smaller its ω, the smaller γ must be.
type Choco struct {
	X           []float32 // the model x_{k,i}, y while a round mixes; updated in place
	Alpha       StepSize
	Gamma       float32 // γ in (0, 1]
	Compression Compression

	h, s []float32
	g    []float32 // the gradient of the round, overwritten by y − h
	mine []byte    // the payload of this round, owned by the machine
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *Choco) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *Choco) Params() []float32 { return a.X }

// Descend turns x into y.
func (a *Choco) Descend(k int, g []float32) error {
	if a.h == nil {
		a.h, a.s = make([]float32, len(a.X)), make([]float32, len(a.X))
	}
	vec.Axpy(a.X, -a.Alpha(k), g)
	vec.Sub(g, a.X, a.h)
	a.g = g
	return nil
}

// Local subtracts α_k·g.
func (a *Choco) Local(k int, g []float32) error {
	vec.Axpy(a.X, -a.Alpha(k), g)
	return nil
}

// Send appends q_i.
func (a *Choco) Send(k, _ int, dst []byte) (out []byte, err error) {
	out, a.mine, err = a.Compression.send(dst, k, a.g)
	return out, err
}

// Mix updates the public copies and takes the consensus step.
func (a *Choco) Mix(k, _ int, in []Message) (Mixed, error) {
	c := a.Compression
	saw, err := c.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if err := c.Own.AddTo(a.h, 1, k, a.mine); err != nil {
		return Mixed{}, err
	}
	if err := c.Own.AddTo(a.s, 1-weights(in), k, a.mine); err != nil {
		return Mixed{}, err
	}
	if err := c.addAll(a.s, 1, k, in); err != nil {
		return Mixed{}, err
	}
	h, s := a.h[:len(a.X)], a.s[:len(a.X)]
	for c := range a.X {
		a.X[c] += float32(a.Gamma * (s[c] - h[c]))
	}
	return saw, nil
}

// ExtraMemory returns the bytes of h and s.
func (a *Choco) ExtraMemory() int { return floatBytes * (len(a.h) + len(a.s)) }

// State shows h, s and the table of the compressor.
func (a *Choco) State(v *state.Visit) {
	v.Vector("h", &a.h, len(a.X))
	v.Vector("s", &a.s, len(a.X))
	a.Compression.State(v)
}
