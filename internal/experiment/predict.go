package experiment

import (
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
)

// A Prediction is the traffic of a worker in a round that exchanges, known before training. It counts neither repairs
// nor entropy coding, and the fewest bits where they change.
type Prediction struct {
	Payload int     // bytes of a message; 0 if the size of the model is not known
	Frames  []int   // by hop: messages of the worker that sends the most
	Mean    float64 // messages of a worker, over all workers

	Exchanges int // the rounds of the run that exchange
}

// Predict returns the traffic of the workers.
func (r *Run) Predict() Prediction {
	frames := r.method.Sends.Frames(r.rows)
	return Prediction{
		Payload: r.steadyPayload(), Frames: frames.Most, Mean: float64(frames.All) / float64(r.N()),
		Exchanges: int(r.cfg.Train.Rounds) / r.cfg.Algorithm.LocalSteps,
	}
}

// steadyPayload returns the bytes of a usual message.
func (r *Run) steadyPayload() int {
	if r.dim == 0 {
		return 0
	}
	if r.Compresses() && r.controlled() {
		t := r.typical()
		fewest, err := t.exactly(t.switched(r.cfg.Algorithm.Controller.MinBits, 0))
		if err != nil {
			panic("internal error: experiment: " + err.Error()) // checkController has made one of more bits
		}
		return fewest.Len(r.dim)
	}
	if !r.method.ByCodec() {
		return r.payload()
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
