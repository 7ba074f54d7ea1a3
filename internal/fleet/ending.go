package fleet

// A run may end before its rounds are over. All peers then agree on its last round. Each begins no
// further round and reports how many it has begun, and the supervisor tells all of them the largest
// number. It does not wait for lost peers. It asks a peer that dies meanwhile again when that is back,
// and tells a peer that starts later before it begins.

// An ending is the state of this agreement.
type ending struct {
	holding bool // no peer may begin a further round
	last    int  // rounds of a run that ends early, 0 while they are not known
}

// hold tells all peers to begin no further round.
func (e *ending) hold(procs []*process) {
	e.holding = true
	for _, p := range procs {
		if !p.lost {
			p.orders <- order{Hold: true}
		}
	}
	e.agree(procs)
}

// agree tells all peers the number of rounds of the run, once all have answered.
func (e *ending) agree(procs []*process) {
	if !e.holding || e.last > 0 {
		return
	}
	last := 0
	for _, p := range procs {
		if !p.lost && !p.holds {
			return
		}
		last = max(last, p.begun, p.round)
	}
	e.last = last
	for _, p := range procs {
		if !p.lost {
			p.orders <- order{End: last}
		}
	}
}

// catchUp sends a new process the orders that the others already have.
func (e *ending) catchUp(procs []*process, orders chan<- order) {
	var finished []int
	for rank, other := range procs {
		if other.finished {
			finished = append(finished, rank)
		}
	}
	if finished != nil {
		orders <- order{Finished: finished}
	}
	if e.holding {
		orders <- order{Hold: true}
	}
	if e.last > 0 {
		orders <- order{End: e.last}
	}
}
