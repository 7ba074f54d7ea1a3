package sim

import (
	"runtime"
	"slices"
	"sync"
)

// A crew takes gradients on the cores that the simulation leaves free, in the
// order in which they are asked for, and is some of them ahead of virtual time.
// Whoever waits for a gradient helps: with one core the crew is empty, and
// gradients are taken where they are needed.
type crew struct {
	shared bool // gradients are worth giving away
	most   int  // gradients that are there before they are needed

	mu      sync.Mutex
	change  sync.Cond
	orders  []*peer // oldest first
	ahead   int     // taken or ready, and not yet used
	free    [][]float32
	stopped bool
	members sync.WaitGroup
}

// A progress is how far the gradient of a peer is.
type progress uint8

const (
	none    progress = iota
	ordered          // nobody has begun
	taken
	ready
)

// aloneBelow is the number of coordinates below which handing over a gradient
// takes longer than computing it.
const aloneBelow = 1 << 11

// lookahead bounds the memory for gradients that nobody needs yet. More than a
// few for each core do not make anything faster.
const lookahead = 64

// newCrew starts the crew for models of dim coordinates; stop ends it.
func newCrew(dim int) *crew {
	c := &crew{most: lookahead}
	c.change.L = &c.mu
	if dim < aloneBelow {
		return c
	}
	for range runtime.GOMAXPROCS(0) - 1 {
		c.shared = true
		c.members.Go(c.work)
	}
	return c
}

// order asks for the gradient of p, whose point is known.
func (c *crew) order(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.progress = ordered
	if c.shared {
		c.orders = append(c.orders, p)
		c.change.Signal()
	}
}

// work takes gradients until the crew is stopped.
func (c *crew) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.stopped {
		if p := c.next(); p != nil {
			c.take(p)
		} else {
			c.change.Wait()
		}
	}
}

// fetch returns when the gradient of p is ready.
func (c *crew) fetch(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p.progress != ready {
		if p.progress == ordered {
			c.take(p)
		} else if other := c.next(); other != nil {
			c.take(other)
		} else {
			c.change.Wait()
		}
	}
	p.progress = none
	c.ahead--
	c.change.Signal()
}

// next returns the oldest order that nobody has begun, nil if there is none or
// enough are ahead.
func (c *crew) next() *peer {
	begun := slices.IndexFunc(c.orders, func(p *peer) bool { return p.progress == ordered })
	if begun < 0 {
		begun = len(c.orders)
	}
	c.orders = c.orders[begun:]
	if len(c.orders) == 0 || c.ahead >= c.most {
		return nil
	}
	return c.orders[0]
}

// take computes the gradient of p, with the lock released meanwhile.
func (c *crew) take(p *peer) {
	p.progress = taken
	c.ahead++
	p.g = c.buffer(len(p.at))
	c.mu.Unlock()
	p.loss, p.err = p.Gradient(p.g, p.asked, p.at)
	c.mu.Lock()
	p.progress = ready
	c.change.Broadcast()
}

// drop waits until nobody computes the gradient of p, which is not wanted any more.
func (c *crew) drop(p *peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p.progress == taken {
		c.change.Wait()
	}
	if p.progress == ready {
		c.ahead--
		c.change.Signal()
	}
	p.progress = none
}

// buffer returns room for a gradient, the one used last if there is one: it is
// the likeliest to be in a cache.
func (c *crew) buffer(dim int) []float32 {
	last := len(c.free) - 1
	if last < 0 {
		return make([]float32, dim)
	}
	g := c.free[last]
	c.free = c.free[:last]
	return g
}

// release takes back the gradient of p, which its machine is done with.
func (c *crew) release(p *peer) {
	if p.g == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, p.g)
	p.g = nil
}

// stop waits until nobody computes any more.
func (c *crew) stop() {
	c.mu.Lock()
	c.stopped = true
	c.change.Broadcast()
	c.mu.Unlock()
	c.members.Wait()
}
