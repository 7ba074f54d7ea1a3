package link

import (
	"sync"
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// A pace is the speed at which a link carries messages. It is the best of the last few messages, since other work of
// the
// machine slows single ones down. Messages that fit into the buffers on the way do not count. Of a message in pieces
// all count together: some wait in a buffer until the reader comes.
type pace struct {
	mu    sync.Mutex
	last  [paceMessages]float64 // bytes per second
	seen  int
	bytes int // of the running message
	took  time.Duration
}

const (
	paceMessages = 8
	paceBytes    = 16 << 10 // least bytes of a message that counts
)

// begin ends a message, and begins the next one.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes >= paceBytes {
		p.last[p.seen%paceMessages] = float64(p.bytes) / max(p.took, time.Nanosecond).Seconds()
		p.seen++
	}
	p.bytes, p.took = 0, 0
}

// add enters the time that a number of bytes of the running message took.
func (p *pace) add(bytes int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes, p.took = p.bytes+bytes, p.took+took
}

// best returns the bytes per second, 0 if they are unknown.
func (p *pace) best() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := 0.0
	for _, rate := range p.last {
		best = max(best, rate)
	}
	return best
}

// linkCost returns the cost of a byte to a neighbour: at the rate of the run file, else at the lesser
// of the measured ones, else 0. A writer waits only when the buffers are full, a reader always. The
// links of a run are alike, so the rate of received frames bounds that of sent ones.
func linkCost(limit float64, sent, received *pace) entropy.LinkCost {
	if limit > 0 {
		return entropy.LinkCostOf(limit)
	}
	return entropy.LinkCostOf(8 * min(received.best(), sent.best()))
}

// costSample is the size of the payload for measuring coders, costTries the number of measurements, of
// which the best counts.
const (
	costSample = 64 << 10
	costTries  = 5
)

// measureCosts returns the cost of coding on this machine.
func measureCosts() (entropy.Costs, error) {
	sample := make([]byte, costSample)
	key := rng.At(0, 0)
	for i := range sample { // triangular distribution: 7.7 bits a byte
		sample[i] = byte(128 * (key.Uniform(uint32(2*i)) + key.Uniform(uint32(2*i+1))))
	}
	huff0, err := measureCost(entropy.Huff0, sample)
	if err != nil {
		return entropy.Costs{}, err
	}
	fse, err := measureCost(entropy.FSE, sample)
	return entropy.Costs{Huff0: huff0, FSE: fse}, err
}

// measureCost returns the seconds that c takes to encode and decode a byte.
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
