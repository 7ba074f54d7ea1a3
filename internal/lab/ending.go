package lab

// A run that ends before its rounds are over ends with a round that all peers agree on:
// each is told to hold still and says how many rounds it has begun, and the largest of
// these numbers is told to all. Nobody is waited for who is lost. One that dies meanwhile
// and is started anew is asked again; one that is started later knows before it begins.

// An ending is how far the peers are with it.
type ending struct {
	holding bool // all are to begin no further round
	last    int  // rounds of a run that ends early, 0 while that is not known
}

// hold tells all peers to hold still.
func (e *ending) hold(procs []*process) {
	e.holding = true
	for _, p := range procs {
		if !p.lost {
			p.orders <- order{Hold: true}
		}
	}
	e.agree(procs)
}

// agree tells all peers after how many rounds the run ends, when it has heard of all.
func (e *ending) agree(procs []*process) {
	if !e.holding || e.last > 0 {
		return
	}
	last := 0
	for _, p := range procs {
		if !p.lost && !p.still {
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

// brief tells a process that starts what the others know.
func (e *ending) brief(procs []*process, orders chan<- order) {
	var through []int
	for rank, other := range procs {
		if other.through {
			through = append(through, rank)
		}
	}
	if through != nil {
		orders <- order{Through: through}
	}
	if e.holding {
		orders <- order{Hold: true}
	}
	if e.last > 0 {
		orders <- order{End: e.last}
	}
}
