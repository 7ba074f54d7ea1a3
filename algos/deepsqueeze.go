package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// DeepSqueeze is one worker of Tang et al., "DeepSqueeze: Decentralization Meets Error-Compensated Compression", 2019,
// algorithm 1. It compresses the model itself, and adds the compression error to the next model:
//
//	y = x_k − α_k g_k,  v = y + e,  c_i = C(v),  e ← v − c_i
//	x_{k+1} = y + η Σ_j W_ij (c_j − c_i)
//
// from e = 0. If the error of C scales with its input, e is as large as the error of a whole model, and does not
// shrink.
type DeepSqueeze struct {
	X           []float32 // the model x_{k,i}, y while a round mixes; updated in place
	Alpha       StepSize
	Eta         float32 // η in (0, 1]
	Compression Compression

	e    []float32 // the error, v while a round mixes
	mine []byte    // the payload of this round, owned by the machine
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *DeepSqueeze) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *DeepSqueeze) Params() []float32 { return a.X }

// Descend turns x into y and e into v.
func (a *DeepSqueeze) Descend(k int, g []float32) error {
	if a.e == nil {
		a.e = make([]float32, len(a.X))
	}
	vec.Axpy(a.X, -a.Alpha(k), g)
	vec.Add(a.e, a.e, a.X)
	return nil
}

// Local subtracts α_k·g.
func (a *DeepSqueeze) Local(k int, g []float32) error {
	vec.Axpy(a.X, -a.Alpha(k), g)
	return nil
}

// Send appends c_i.
func (a *DeepSqueeze) Send(k, _ int, dst []byte) (out []byte, err error) {
	out, a.mine, err = a.Compression.send(dst, k, a.e)
	return out, err
}

// Mix keeps the error and moves the model.
func (a *DeepSqueeze) Mix(k, _ int, in []Message) (Mixed, error) {
	c := a.Compression
	saw, err := c.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if err := c.Own.AddTo(a.e, -1, k, a.mine); err != nil {
		return Mixed{}, err
	}
	if err := c.Own.AddTo(a.X, -a.Eta*weights(in), k, a.mine); err != nil {
		return Mixed{}, err
	}
	return saw, c.addAll(a.X, a.Eta, k, in)
}

// ExtraMemory returns the bytes of e.
func (a *DeepSqueeze) ExtraMemory() int { return floatBytes * len(a.e) }

// State shows e and the table of the compressor.
func (a *DeepSqueeze) State(v *state.Visit) {
	v.Vector("e", &a.e, len(a.X))
	a.Compression.State(v)
}

// Restart sets the error to 0: it belongs to messages that other members got.
func (a *DeepSqueeze) Restart(Origin) { a.e = nil }
