package link

import "context"

// Where the neighbours of a worker change, a link rests while neither end needs it. An end without need says so, and
// the link ends when both have. It is made again when either end needs it, or when it was lost.

// A demand says who needs a link that is not there.
type demand struct {
	worker    bool // this worker, until it says otherwise
	neighbour bool // the neighbour: it has asked for a call
	lost      bool // the last link was lost, and its other end may have died
}

func (d demand) any() bool { return d.worker || d.neighbour || d.lost }

// met begins a link. It says at once if this end does not need it.
func (d *demand) met(k *link) {
	d.neighbour, d.lost = false, false
	if !d.worker {
		k.out.put(rest(false))
	}
}

// needs enters whether the worker needs a link, and tells the other end of a link that is there.
func (e *edge) needs(link bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.state
	if e.Rest == nil || s.demand.worker == link {
		return
	}
	s.demand.worker = link
	switch {
	case s.link != nil:
		s.link.out.put(rest(link))
	case link:
		e.seek()
	}
}

// isAsked enters that the neighbour needs a link, if there is none.
func (e *edge) isAsked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.link == nil {
		e.state.demand.neighbour = true
		e.seek()
	}
}

// isLost enters that a link was lost.
func (e *edge) isLost() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.demand.lost = true
}

// owes enters that the neighbour may lack what an earlier process of this worker sent.
func (e *edge) owes() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.link == nil {
		e.state.demand.lost = true
		e.seek()
	}
}

// seek ends the wait of await.
func (e *edge) seek() {
	select {
	case e.sought <- struct{}{}:
	default:
	}
}

// rests reports whether there is no link, and neither end needs one.
func (e *edge) rests() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.link == nil && !e.state.demand.any()
}

// await waits until a link is needed, or the other end has made one.
func (e *edge) await(ctx context.Context) {
	for e.rests() && ctx.Err() == nil {
		select {
		case <-e.sought:
		case t := <-e.arrived:
			e.putBack(t)
			return
		case <-ctx.Done():
		}
	}
}

// release closes the connections to a neighbour whose link rests. The end that opens the streams does it, when its
// half of the last one has ended: then the other end has read all.
func (e *edge) release() {
	if e.dials && e.rests() && e.Rest(e.rank) {
		e.Host.Network().ClosePeer(e.id)
	}
}
