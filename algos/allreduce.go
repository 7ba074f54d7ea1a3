package algos

import (
	"encoding/binary"
	"fmt"
	"math"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// AllReduce is one worker of synchronous data-parallel SGD,
//
//	x_{k+1} = x_k − α_k (1/n) Σ_i g_{k,i},
//
// the centralized baseline. The sum is a ring all-reduce along topology.Cycle (Patarasuk & Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 2009). After n−1 hops of reduce-scatter, worker i holds the
// sum of chunk i+1. Then n−1 hops of all-gather copy the sums. A worker sends 2(n−1)/n·4d bytes per round.
//
// The workers sum a chunk one after the other along the cycle, and then copy it. The order of additions is fixed, so
// the replicas stay equal, bit for bit. The gradient itself is the buffer: no vector besides X is kept.
type AllReduce struct {
	X       []float32 // the model x_k, updated in place
	Alpha   StepSize
	Rank    int       // the worker's place in the cycle, 0..Workers−1
	Workers int       // n ≥ 1
	After   Optimizer // of the mean gradient; nil: workers send directions

	sum []float32 // the gradient of the round; sums replace it chunk by chunk
}

// Plan describes 2(n−1) hops. A worker that sends slot s has received slot s−1 of the worker before it. That worker had
// received slot s−2, and so on around the cycle. So the worker that it sends to is at most n−1 slots behind.
func (a *AllReduce) Plan() Plan {
	return Plan{Hops: 2 * (a.Workers - 1), Lead: max(1, a.Workers-1)}
}

// Params returns x_k.
func (a *AllReduce) Params() []float32 { return a.X }

// Descend makes g the reduction buffer of the round. A single worker has the sum already.
func (a *AllReduce) Descend(k int, g []float32) error {
	a.sum = g
	if a.Workers == 1 {
		a.step(k)
	}
	return nil
}

// Send appends the chunk that the next worker on the cycle lacks.
func (a *AllReduce) Send(k, hop int, dst []byte) ([]byte, error) {
	dst, err := appendFloats(dst, a.chunk(a.sent(hop)))
	if err != nil {
		return dst, fmt.Errorf("allreduce: round %d hop %d: %w", k, hop, err)
	}
	return dst, nil
}

// Mix adds the received chunk to this worker's sum. In the all-gather it copies the chunk instead, and takes the step
// after the last hop.
func (a *AllReduce) Mix(k, hop int, in []Message) (Mixed, error) {
	if len(in) != 1 {
		return Mixed{}, fmt.Errorf("allreduce: round %d hop %d: %d messages, want 1", k, hop, len(in))
	}
	chunk := a.chunk(a.sent(hop) - 1) // the chunk that the worker before this one sent
	largest, err := checkFloats(in[0], len(chunk))
	if err != nil {
		return Mixed{}, err
	}
	if hop < a.Workers-1 {
		addLE(chunk, in[0].Payload)
	} else {
		vec.ReadLE(chunk, in[0].Payload)
	}
	if hop == 2*(a.Workers-1)-1 {
		a.step(k)
	}
	return Mixed{Largest: largest}, nil
}

// ExtraMemory returns 0.
func (a *AllReduce) ExtraMemory() int { return 0 }

// sent returns the number, modulo n, of the chunk that this worker sends in a hop: its own first, then the chunk that
// it completed last.
func (a *AllReduce) sent(hop int) int {
	if gather := hop - (a.Workers - 1); gather >= 0 {
		return a.Rank + 1 - gather
	}
	return a.Rank - hop
}

// chunk returns coordinates ⌊c·d/n⌋ to ⌊(c+1)·d/n⌋ of the sum, c modulo n.
// With fewer coordinates than workers some chunks are empty.
func (a *AllReduce) chunk(c int) []float32 {
	n, d := a.Workers, len(a.sum)
	c = (c%n + n) % n
	return a.sum[c*d/n : (c+1)*d/n]
}

// step applies the mean of the gradients.
func (a *AllReduce) step(k int) {
	descend(a.X, a.sum, a.Workers, a.Alpha(k), a.After)
}

// State shows the memory of the optimizer.
func (a *AllReduce) State(v *state.Visit) { visit(v, a.After) }

// addLE adds the floats in payload to dst.
func addLE(dst []float32, payload []byte) {
	payload = payload[:4*len(dst)]
	for i := range dst {
		dst[i] += math.Float32frombits(binary.LittleEndian.Uint32(payload[4*i:]))
	}
}

// Restart forgets nothing: replicas are equal, and so is the clone of one.
func (a *AllReduce) Restart(Origin) {}

// Settle keeps nothing: the worker owes nothing.
func (a *AllReduce) Settle(int, int) error { return nil }

// Shared shows the memory of the optimizer.
func (a *AllReduce) Shared(v *state.Visit) { visit(v, a.After) }
