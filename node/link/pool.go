package link

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A pool keeps the buffers of received frames that have been used, by classes of sizes: class c has capacities of c
// bits.
type pool struct {
	room int          // bytes that it keeps at most
	most atomic.Int64 // bytes of payload that a neighbour may send in one frame

	mu    sync.Mutex
	held  int // bytes
	kinds [bits.UintSize + 1][][]byte
}

// poolTries is how many buffers of the least class get looks at. Frames of a run have few different sizes.
const poolTries = 16

// Get returns a buffer of n bytes with arbitrary content. It is at most eight times longer than that.
func (p *pool) Get(n int) []byte {
	if n == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	class := bits.Len(uint(n))
	free := p.kinds[class]
	for i := len(free) - 1; i >= max(0, len(free)-poolTries); i-- {
		if cap(free[i]) >= n {
			return p.take(class, i)[:n]
		}
	}
	for c := class + 1; c <= min(class+2, bits.UintSize); c++ {
		if last := len(p.kinds[c]) - 1; last >= 0 {
			return p.take(c, last)[:n]
		}
	}
	return make([]byte, n)
}

// take removes a buffer.
func (p *pool) take(class, i int) []byte {
	free := p.kinds[class]
	last := len(free) - 1
	b := free[i]
	free[i], free[last] = free[last], nil
	p.kinds[class] = free[:last]
	p.held -= cap(b)
	return b
}

// Put keeps a buffer if there is room.
func (p *pool) Put(b []byte) {
	if cap(b) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held+cap(b) > p.room {
		return
	}
	p.held += cap(b)
	class := bits.Len(uint(cap(b)))
	p.kinds[class] = append(p.kinds[class], b)
}
