package experiment

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
)

// A Prediction is what a worker sends in a round that exchanges, known before
// any is trained: without repairs and entropy coding, and where bits change with
// the fewest.
type Prediction struct {
	Payload int     // bytes of a message
	Frames  []int   // by hop: messages of the worker that sends most
	Mean    float64 // messages of a worker, over all workers

	Exchanges int // the rounds of the run that exchange
}

// Predict returns what the workers send.
func (r *Run) Predict() Prediction {
	p := Prediction{Payload: r.steadyPayload(), Exchanges: r.cfg.Train.Rounds / r.cfg.Algorithm.LocalSteps}
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
		fewest := *r
		fewest.cfg.Algorithm.Controller.MaxBits = r.cfg.Algorithm.Controller.MinBits
		return r.method.payload(&fewest)
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
