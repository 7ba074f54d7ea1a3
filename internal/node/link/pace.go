package link

import (
	"sync"
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// A pace is how fast a link carries frames: the best of the last few, for a slow
// one tells of the machine's other work as well. Frames that fit into the
// buffers on the way tell nothing.
type pace struct {
	mu   sync.Mutex
	last [paceFrames]float64 // bytes per second
	seen int
}

const (
	paceFrames = 8
	paceBytes  = 16 << 10 // of a frame that counts
)

// note enters that so many bytes took that long.
func (p *pace) note(bytes int, took time.Duration) {
	if bytes < paceBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[p.seen%paceFrames] = float64(bytes) / max(took, time.Nanosecond).Seconds()
	p.seen++
}

// best returns the bytes per second, 0 if they are not known.
func (p *pace) best() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := 0.0
	for _, rate := range p.last {
		best = max(best, rate)
	}
	return best
}

// linkCost returns the cost of a byte to a neighbour: from the rate of the run file, else from the measured rate. A
// writer waits only if more is in flight than the buffers hold, a reader always waits. Therefore the rate of incoming
// frames counts for outgoing ones, too: the links of a run are alike. Without a rate the cost is 0.
func linkCost(limit float64, sent, received *pace) entropy.LinkCost {
	if limit > 0 {
		return entropy.LinkCostOf(limit)
	}
	return entropy.LinkCostOf(8 * min(received.best(), sent.best()))
}

// costSample is the payload that coders are measured with, costTries how often:
// the best one counts.
const (
	costSample = 64 << 10
	costTries  = 5
)

// measureCosts returns what coding takes on this machine.
func measureCosts() (entropy.Costs, error) {
	sample := make([]byte, costSample)
	key := rng.At(0, 0)
	for i := range sample { // triangular: 7.7 bits a byte
		sample[i] = byte(128 * (key.Uniform(uint32(2*i)) + key.Uniform(uint32(2*i+1))))
	}
	huff0, err := measureCost(entropy.Huff0, sample)
	if err != nil {
		return entropy.Costs{}, err
	}
	fse, err := measureCost(entropy.FSE, sample)
	return entropy.Costs{Huff0: huff0, FSE: fse}, err
}

// measureCost returns the seconds that c takes for a byte, both ways.
func measureCost(c entropy.Coder, sample []byte) (float64, error) {
	encoder, err := entropy.NewEncoder(c, entropy.Costs{})
	if err != nil {
		return 0, err
	}
	decoder, back := new(entropy.Decoder), make([]byte, len(sample))
	layout := quant.Layout{Levels: 256, Count: len(sample)}
	least := time.Hour
	var coded []byte
	for range costTries {
		began := time.Now()
		var by entropy.Coder
		if coded, by, err = encoder.Encode(coded[:0], sample, layout, 0); err != nil {
			return 0, err
		}
		if err := decoder.Decode(back, by, coded); err != nil {
			return 0, err
		}
		least = min(least, time.Since(began))
	}
	return least.Seconds() / float64(len(sample)), nil
}
