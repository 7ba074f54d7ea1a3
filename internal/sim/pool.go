package sim

import (
	"runtime"
	"slices"
	"sync"

	"gossiptrainer/internal/work"
)

// A pool computes gradients on the cores that the simulation leaves free, in the order in which they are ordered. Some
// are ready before virtual time needs them. A caller that waits for a gradient computes it, or another one, itself.
// With one core the pool has no workers, and the simulation computes every gradient when it needs it.
type pool struct {
	shared bool // gradients are large enough to be handed to another goroutine
	most   int  // gradients that are ready before the simulation needs them

	mu      sync.Mutex
	change  sync.Cond
	orders  []*order // oldest first
	ahead   int      // gradients that are being computed, or ready and not yet used
	free    [][]float32
	stopped bool
	workers sync.WaitGroup
}

// An order is a gradient that a machine has asked for.
type order struct {
	compute  work.Gradient
	round    int
	at       []float32 // the point at which it is taken
	progress progress
	g        []float32 // the gradient; nil while neither the pool nor the machine needs it
	loss     float32
	err      error
}

// A progress is the state of an order.
type progress uint8

const (
	idle      progress = iota // there is no order, or its gradient has been used
	ordered                   // waits for a goroutine
	computing                 // a goroutine computes it
	ready                     // waits for the simulation
)

// aloneBelow is the number of coordinates below which handing over a gradient takes longer than computing it.
const aloneBelow = 1 << 11

// lookahead bounds the memory for gradients that are ready early. More than a few per core do not save time.
const lookahead = 64

// newPool starts a pool for models of dim coordinates. The caller stops it.
func newPool(dim int) *pool {
	p := &pool{most: lookahead}
	p.change.L = &p.mu
	if dim < aloneBelow {
		return p
	}
	for range runtime.GOMAXPROCS(0) - 1 {
		p.shared = true
		p.workers.Go(p.work)
	}
	return p
}

// submit orders a gradient. Its function, round and point are set.
func (p *pool) submit(o *order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.progress = ordered
	if p.shared {
		p.orders = append(p.orders, o)
		p.change.Signal()
	}
}

// work computes gradients until the pool is stopped.
func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stopped {
		if o := p.next(); o != nil {
			p.compute(o)
		} else {
			p.change.Wait()
		}
	}
}

// wait returns when the gradient of an order is ready. It computes gradients meanwhile.
func (p *pool) wait(o *order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o.progress != ready {
		if o.progress == ordered {
			p.compute(o)
		} else if other := p.next(); other != nil {
			p.compute(other)
		} else {
			p.change.Wait()
		}
	}
	o.progress = idle
	p.ahead--
	p.change.Signal()
}

// next returns the oldest order that no goroutine has begun. It returns nil if there is none, or if enough gradients
// are ready early.
func (p *pool) next() *order {
	first := slices.IndexFunc(p.orders, func(o *order) bool { return o.progress == ordered })
	if first < 0 {
		first = len(p.orders)
	}
	p.orders = p.orders[first:]
	if len(p.orders) == 0 || p.ahead >= p.most {
		return nil
	}
	return p.orders[0]
}

// compute computes the gradient of an order. It releases the lock meanwhile, and holds it again after a panic too:
// the callers' deferred unlock would otherwise hide the panic behind an error of its own.
func (p *pool) compute(o *order) {
	o.progress = computing
	p.ahead++
	o.g = p.buffer(len(o.at))
	func() {
		p.mu.Unlock()
		defer p.mu.Lock()
		o.loss, o.err = o.compute(o.g, o.round, o.at)
	}()
	o.progress = ready
	p.change.Broadcast()
}

// cancel drops an order. It waits while a goroutine computes its gradient.
func (p *pool) cancel(o *order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o.progress == computing {
		p.change.Wait()
	}
	if o.progress == ready {
		p.ahead--
		p.change.Signal()
	}
	o.progress = idle
}

// buffer returns memory for a gradient. It prefers the buffer that was released last, which is most likely in a cache.
func (p *pool) buffer(dim int) []float32 {
	last := len(p.free) - 1
	if last < 0 {
		return make([]float32, dim)
	}
	g := p.free[last]
	p.free = p.free[:last]
	return g
}

// release takes back the memory of a gradient that the machine no longer needs.
func (p *pool) release(o *order) {
	if o.g == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, o.g)
	o.g = nil
}

// stop returns when no goroutine computes any more.
func (p *pool) stop() {
	p.mu.Lock()
	p.stopped = true
	p.change.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
}
