package algos

import "gossiptrainer/gossip/state"

// AllGather is one worker of data-parallel SGD with compressed gradients, as in Alistarh et al., "QSGD", NeurIPS 2017,
// algorithm 1. Every worker sends its compressed gradient to all others, and all take the same step,
//
//	x_{k+1} = x_k − α_k (1/n) Σ_i C(g_{k,i}),
//
// on the complete graph. Each worker adds the compressed gradients in the order of the ranks, its own as the others
// decode it. So the replicas stay equal, bit for bit. A worker sends n−1 copies of its payload: compressed gradients
// cannot be added on the way, as a ring would.
//
// C must be unbiased, or Feedback must correct its errors. The weights of the messages are not used.
type AllGather struct {
	X           []float32 // the model x_k, updated in place
	Alpha       StepSize
	Rank        int  // the worker's place in the sum, 0..n−1
	Feedback    bool // error feedback
	Compression Compression
	After       Optimizer // of the mean gradient; nil: workers send directions

	part contribution
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *AllGather) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_k.
func (a *AllGather) Params() []float32 { return a.X }

// Descend stores the gradient.
func (a *AllGather) Descend(_ int, g []float32) error {
	a.part.descend(g, a.Feedback)
	return nil
}

// Send appends C(v).
func (a *AllGather) Send(k, _ int, dst []byte) ([]byte, error) {
	return a.part.send(a.Compression, k, dst)
}

// Mix takes the step along the mean of all gradients.
func (a *AllGather) Mix(k, _ int, in []Message) (Mixed, error) {
	saw, err := a.Compression.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if err := a.part.settle(a.Compression, k); err != nil {
		return Mixed{}, err
	}
	if err := a.part.sum(a.Compression, a.Rank, k, in); err != nil {
		return Mixed{}, err
	}
	descend(a.X, a.part.g, 1+len(in), a.Alpha(k), a.After)
	return saw, nil
}

// ExtraMemory returns the bytes of the error.
func (a *AllGather) ExtraMemory() int { return floatBytes * len(a.part.e) }

// State shows the error and the table of the compressor.
func (a *AllGather) State(v *state.Visit) {
	v.Vector("e", &a.part.e, len(a.X))
	a.Compression.State(v)
	visit(v, a.After)
}

// Restart keeps the error, which is a debt of this worker alone. A newcomer owes nothing.
func (a *AllGather) Restart(of Origin) {
	if of == Cloned {
		a.part.e = nil
	}
}

// Settle keeps the error of the message of round k.
func (a *AllGather) Settle(k, _ int) error { return a.part.settle(a.Compression, k) }

// Shared shows the memory of the optimizer.
func (a *AllGather) Shared(v *state.Visit) { visit(v, a.After) }
