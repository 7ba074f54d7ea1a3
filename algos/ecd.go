package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// ECD is one worker of ECD-PSGD, extrapolation compression: Tang et al., "Communication Compression for Decentralized
// Training", NeurIPS 2018, algorithm 2. Each worker sends a point beyond its model. All neighbours, and the worker
// itself, improve an estimate T from it, with t = k + 1:
//
//	x_{t+1} = Σ_j W_ij T_j − α g(x_t)                          (j = i included)
//	z = x_t + t/2·(x_{t+1} − x_t),  sent as C(z)
//	T_j ← (1 − 2/t)·T_j + 2/t·C(z_j)
//
// from T = x_0, in forms that do not cancel. T is the model if C is the identity. C must be unbiased with an error that
// does not grow with z, because z grows with t: at one or two bits the models diverge.
type ECD struct {
	X           []float32 // the model x_{k,i}, updated in place; x_0 is the same at all workers
	Alpha       StepSize
	Row         topology.Row
	Compression Compression

	own       []float32   // T_i
	estimates [][]float32 // T_j of the neighbours
	g         []float32   // the gradient of the round, overwritten by z
	mine      []byte      // the payload of this round, owned by the machine
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *ECD) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *ECD) Params() []float32 { return a.X }

// Descend takes the step and turns g into z.
func (a *ECD) Descend(k int, g []float32) error {
	if a.own == nil {
		a.own, a.estimates = append([]float32(nil), a.X...), replicas(a.X, a.Row)
	}
	vec.Scale(g, -a.Alpha(k), g)
	addTowards(g, a.own, a.estimates, a.Row)
	half := float32(k+1) / 2
	for c, x := range a.X {
		next := a.own[c] + g[c]
		a.X[c], g[c] = next, x+float32(half*(next-x))
	}
	a.g = g
	return nil
}

// Send appends C(z).
func (a *ECD) Send(k, _ int, dst []byte) (out []byte, err error) {
	out, a.mine, err = a.Compression.send(dst, k, a.g)
	return out, err
}

// Mix improves the estimates.
func (a *ECD) Mix(k, _ int, in []Message) (Mixed, error) {
	c := a.Compression
	saw, err := c.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if err := improve(a.own, c.Own, k, a.mine); err != nil {
		return Mixed{}, err
	}
	for j, m := range in {
		if err := improve(a.estimates[j], c.In[j], k, m.Payload); err != nil {
			return Mixed{}, err
		}
	}
	return saw, nil
}

// improve computes T ← T − 2/t·T + 2/t·C(z). A factor 1 − 2/t would always be rounded to the same side.
func improve(estimate []float32, c quant.Compressor, k int, payload []byte) error {
	step := 2 / float32(k+1)
	vec.Axpy(estimate, -step, estimate)
	return c.AddTo(estimate, step, k, payload)
}

// ExtraMemory returns the bytes of the estimates.
func (a *ECD) ExtraMemory() int { return floatBytes * (len(a.own) + len(a.estimates)*len(a.X)) }

// State shows the estimates and the table of the compressor.
func (a *ECD) State(v *state.Visit) {
	v.Vector("own", &a.own, len(a.X))
	visitVectors(v, "estimate", &a.estimates, len(a.Row.In), len(a.X))
	a.Compression.State(v)
}
