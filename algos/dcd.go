package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// DCD is one worker of DCD-PSGD, difference compression: Tang et al., "Communication Compression for Decentralized
// Training", NeurIPS 2018, algorithm 1. Models move only by compressed steps, so that every neighbour can keep an
// exact replica:
//
//	z = Σ_j W_ij x̂_j − α_k g_k − x_k,  q_i = C(z)
//	x_{k+1} = x_k + q_i,  and every replica of i adds the same q_i.
//
// With the identity as C, x_{k+1} is Σ_j W_ij x_j − α g. C must be unbiased with little noise: at one or two bits the
// models diverge. A replica equals its model, bit for bit, and takes as much memory.
type DCD struct {
	X           []float32 // the model x_{k,i}, updated in place; x_0 is the same at all workers
	Alpha       StepSize
	Row         topology.Row
	Compression Compression

	replicas [][]float32 // x_{k,j} of the neighbours
	g        []float32   // the gradient of the round, overwritten by z
	mine     []byte      // the payload of this round, owned by the machine
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *DCD) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *DCD) Params() []float32 { return a.X }

// Descend turns g into z.
func (a *DCD) Descend(k int, g []float32) error {
	if a.replicas == nil {
		a.replicas = replicas(a.X, a.Row)
	}
	vec.Scale(g, -a.Alpha(k), g)
	addTowards(g, a.X, a.replicas, a.Row)
	a.g = g
	return nil
}

// Send appends q_i.
func (a *DCD) Send(k, _ int, dst []byte) (out []byte, err error) {
	out, a.mine, err = a.Compression.send(dst, k, a.g)
	return out, err
}

// Mix moves the model and the replicas of the neighbours.
func (a *DCD) Mix(k, _ int, in []Message) (Mixed, error) {
	c := a.Compression
	saw, err := c.check(k, len(a.X), in)
	if err != nil {
		return saw, err
	}
	if err := c.Own.AddTo(a.X, 1, k, a.mine); err != nil {
		return Mixed{}, err
	}
	for j, m := range in {
		if err := c.In[j].AddTo(a.replicas[j], 1, k, m.Payload); err != nil {
			return Mixed{}, err
		}
	}
	return saw, nil
}

// ExtraMemory returns the bytes of the replicas.
func (a *DCD) ExtraMemory() int { return floatBytes * len(a.replicas) * len(a.X) }

// addTowards adds Σ_j W_ij (y_j − x) to acc.
func addTowards(acc, x []float32, y [][]float32, row topology.Row) {
	for j, e := range row.In {
		w, y := float32(e.Weight), y[j][:len(x)]
		for c, v := range x {
			acc[c] += float32(w * (y[c] - v))
		}
	}
}

// State shows the replicas and the table of the compressor.
func (a *DCD) State(v *state.Visit) {
	visitVectors(v, "replica", &a.replicas, len(a.Row.In), len(a.X))
	a.Compression.State(v)
}
