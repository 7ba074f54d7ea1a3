package vector

import (
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// A key names a vector. The vectors of a series share a tag and have numbers from 1.
type key struct {
	tag  string
	call uint64 // 0: no series
}

func (k key) String() string {
	if k.call == 0 {
		return k.tag
	}
	return fmt.Sprintf("%s/%d", k.tag, k.call)
}

// A publication is a vector that others may fetch.
type publication struct {
	left  map[topology.Rank]bool // workers that have not fetched it; nil: kept until expire
	stays bool                   // it is kept although all have fetched it

	mu   sync.Mutex // guards the rest
	x    []float32
	read func() ([]float32, error) // gives x to the first that asks; nil: x is there
	live func() ([]float32, error) // gives another x each time; nil: x stays
}

// vector returns the vector. It is nil if it cannot be read.
func (p *publication) vector() ([]float32, error) {
	if p.live != nil {
		return p.live()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil || p.x != nil {
		return p.x, nil
	}
	var err error
	p.x, err = p.read()
	return p.x, err
}

// A shelf holds the publications of a worker.
type shelf struct {
	mu      sync.Mutex
	copies  map[key]*publication
	expired map[string]uint64 // by tag: vectors with lower numbers will not be published again
	over    bool
	changed chan struct{} // closed and replaced by each change
}

func newShelf() *shelf {
	return &shelf{copies: make(map[key]*publication), expired: make(map[string]uint64), changed: make(chan struct{})}
}

func (s *shelf) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// publish adds a copy of x for some workers, or for all until expire if audience is nil.
func (s *shelf) publish(k key, x []float32, audience []topology.Rank) {
	s.add(k, &publication{x: slices.Clone(x)}, audience)
}

// show adds a vector that is read whenever a worker asks for it.
func (s *shelf) show(k key, read func() ([]float32, error)) { s.add(k, &publication{live: read}, nil) }

// lend adds a vector that is read when a worker asks for it.
func (s *shelf) lend(k key, read func() ([]float32, error), audience []topology.Rank) {
	s.add(k, &publication{read: read}, audience)
}

func (s *shelf) add(k key, p *publication, audience []topology.Rank) {
	if audience != nil {
		p.left = make(map[topology.Rank]bool, len(audience))
		for _, rank := range audience {
			p.left[rank] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies[k] = p
	s.change()
}

// find returns the publication of k; nil and why there will be none; or nil and a channel that is
// closed by the next change.
func (s *shelf) find(k key) (p *publication, no *handshake.RefusedError, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := s.copies[k]; {
	case p != nil:
		return p, nil, nil
	case k.call < s.expired[k.tag]:
		return nil, notKept(k), nil
	case s.over:
		no := handshake.Refusal(handshake.RunOver, "it has finished without a vector %s", k)
		no.Advice = "call average the same number of times on all workers"
		return nil, no, nil
	}
	return nil, nil, s.changed
}

func notKept(k key) *handshake.RefusedError {
	no := handshake.Refusal(handshake.LostState, "its vector %s is not kept any more", k)
	no.Advice = "a worker that comes back needs a checkpoint that is newer than this vector"
	return no
}

// fetched notes that a worker has all of p, and drops p when all workers have it.
func (s *shelf) fetched(k key, p *publication, by topology.Rank) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.left == nil {
		return
	}
	delete(p.left, by)
	if len(p.left) == 0 && s.copies[k] == p {
		if !p.stays {
			delete(s.copies, k)
			s.expired[k.tag] = max(s.expired[k.tag], k.call+1)
		}
		s.change()
	}
}

// unread reports whether some of the audience of k have not fetched it. The channel is closed by the next change.
func (s *shelf) unread(k key) (left bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.copies[k]
	return p != nil && len(p.left) > 0, s.changed
}

// drop forgets the publications of a series with numbers below next.
func (s *shelf) drop(tag string, next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.copies {
		if k.tag == tag && k.call < next {
			delete(s.copies, k)
		}
	}
	s.expired[tag] = max(s.expired[tag], next)
	s.change()
}

// expire says that no vector of a tag with a number below next will be published any more.
func (s *shelf) expire(tag string, next uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired[tag] = max(s.expired[tag], next)
	s.change()
}

// end says that nothing more will be published.
func (s *shelf) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.change()
}
