package experiment

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
)

// A Prediction is what a worker sends in a round, known before any is trained:
// without repairs, with the bits of the beginning.
type Prediction struct {
	Payload int   // bytes of a message
	Frames  []int // by hop: messages of the worker that sends most
	Mean    float64
}

// Predict returns what the workers send in a round that exchanges. Mean is how
// many messages a worker sends in it, over all workers.
func (r *Run) Predict() Prediction {
	p := Prediction{Payload: r.steadyPayload()}
	most, all := 0, 0
	for _, row := range r.rows {
		most, all = max(most, len(row.Out)), all+len(row.Out)
	}
	switch a := r.cfg.Algorithm; {
	case r.Asynchronous(): // an offer of one's own, and on the mean an answer
		p.Frames = []int{min(2, 2*most)}
		all = r.N() * p.Frames[0]
	case a.Name == allReduce && a.Reduce == "ring":
		hops := 2 * (r.N() - 1)
		p.Frames = slices.Repeat([]int{1}, hops)
		all *= hops
	case a.Name == allReduce && a.Reduce == "server":
		p.Frames = []int{min(1, most), most}
	default:
		p.Frames = []int{most}
	}
	p.Mean = float64(all) / float64(r.N())
	return p
}

// steadyPayload returns the bytes of a usual message.
func (r *Run) steadyPayload() int {
	if !r.method.codec {
		return r.method.payload(r)
	}
	bytes := modelPayload(r)
	if r.Asynchronous() {
		bytes += gossip.CensusBytes(r.N())
	}
	if r.quantized() && r.cfg.Algorithm.Theta.Verify {
		bytes += moniqua.HashLen
	}
	return bytes
}
