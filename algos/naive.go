package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// Naive is one worker of D-PSGD with the neighbours' models quantized directly,
//
//	x_{k+1,i} = W_ii x_i + Σ_{j≠i} W_ij C(x_j) − α_k g_k,
//
// the baseline that cannot work: Lu and De Sa, "Moniqua", ICML 2020, theorem 1. On a grid of step δ it stays a distance
// of the order of δ away from an optimum between two grid points. Smaller step sizes do not help, and the rounding
// errors move the mean of the models. It keeps no vector besides X.
type Naive struct {
	X           []float32 // the model x_{k,i}, updated in place
	Alpha       StepSize
	Compression Compression
}

// Plan describes one exchange per round, during which the gradient is computed.
func (a *Naive) Plan() Plan { return Plan{Hops: 1, Overlap: true, Lead: 1} }

// Params returns x_{k,i}.
func (a *Naive) Params() []float32 { return a.X }

// Descend subtracts α_k·g.
func (a *Naive) Descend(k int, g []float32) error {
	vec.Axpy(a.X, -a.Alpha(k), g)
	return nil
}

// Local subtracts α_k·g.
func (a *Naive) Local(k int, g []float32) error { return a.Descend(k, g) }

// Send appends C(x).
func (a *Naive) Send(k, _ int, dst []byte) (out []byte, err error) {
	return a.Compression.Own.Compress(dst, k, a.X)
}

// Mix takes the weighted mean of the worker's own model and the neighbours' decoded models.
func (a *Naive) Mix(k, _ int, in []Message) (Mixed, error) {
	saw, err := a.Compression.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	vec.Scale(a.X, 1-weights(in), a.X)
	return saw, a.Compression.addAll(a.X, 1, k, in)
}

// ExtraMemory returns 0.
func (a *Naive) ExtraMemory() int { return 0 }

// State shows the table of the compressor.
func (a *Naive) State(v *state.Visit) { a.Compression.State(v) }

// Restart forgets nothing: the rule carries the model alone.
func (a *Naive) Restart(Origin) {}
