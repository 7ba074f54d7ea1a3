// Package forecast says before training what a run takes: traffic, memory and disk.
package forecast

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modulo"
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
func Predict(r *experiment.Run) Prediction {
	cfg, method := r.Config(), r.Method()
	frames := method.Sends.Frames(r.Rows())
	return Prediction{
		Payload: usual(r), Frames: frames.Most, Mean: float64(frames.All) / float64(r.N()),
		Exchanges: int(cfg.Train.Rounds) / cfg.Algorithm.LocalSteps,
	}
}

// usual returns the bytes of a usual message.
func usual(r *experiment.Run) int {
	cfg, method := r.Config(), r.Method()
	switch {
	case r.Dim() == 0:
		return 0
	case method.Compresses():
		return r.Compressors().Fewest().Len(r.Dim())
	case !method.ByCodec():
		return experiment.Largest(r)
	}
	bytes := floatBytes * r.Dim()
	if r.Modulo() != nil {
		bytes = r.Modulo().Usual()
		if cfg.Algorithm.Theta.Verify {
			bytes += moniqua.HashLen
		}
	}
	if method.Asynchronous() {
		bytes += gossip.CensusBytes(r.N())
	}
	return bytes
}

const floatBytes = 4

// Claim returns the bytes of a message as papers count them: bits times parameters, without hashes and headers. It is 0
// where the bits per parameter are not fixed.
func Claim(r *experiment.Run) float64 {
	cfg, method, each := r.Config(), r.Method(), 0
	switch a := cfg.Algorithm; {
	case bits.Controlled(cfg.Algorithm.Controller) || r.Dim() == 0:
	case method.Compresses() && r.Compressors().HasBits():
		each = a.Compressor.Bits
	case method.Compresses():
	case r.Modulo() == nil:
		each = modulo.FullBits
	case a.Levels == 0:
		each = a.Bits
	}
	return float64(each) / 8 * float64(r.Parameters())
}

// OnLinks returns about how long a message of one byte for each parameter is on the uplink of a worker.
func OnLinks(r *experiment.Run) time.Duration {
	_, arrives := r.Network().NewSender(0).Book(0, 0, r.Dim())
	return arrives
}
