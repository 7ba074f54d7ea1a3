package lab

// A run that ends before its rounds are over ends with a round that all peers agree on:
// each is told to hold still and says how many rounds it has begun, and the largest of
// these numbers is told to all. Nobody is waited for who is lost. One that dies meanwhile
// and is started anew is asked again; one that is started later knows before it begins.

// hold tells all peers to hold still.
func (s *supervisor) hold() {
	if s.stopping {
		return
	}
	s.holding = true
	for _, p := range s.procs {
		if !p.lost {
			p.orders <- order{Hold: true}
		}
	}
	s.agree()
}

// agree tells all peers after how many rounds the run ends, when it has heard of all.
func (s *supervisor) agree() {
	if !s.holding || s.stopping || s.last > 0 {
		return
	}
	last := 0
	for _, p := range s.procs {
		if !p.lost && !p.still {
			return
		}
		last = max(last, p.begun, p.round)
	}
	s.last = last
	for _, p := range s.procs {
		if !p.lost {
			p.orders <- order{End: last}
		}
	}
}

// brief tells a process that starts what the others know.
func (s *supervisor) brief(p *process) {
	var through []int
	for rank, other := range s.procs {
		if other.through {
			through = append(through, rank)
		}
	}
	if through != nil {
		p.orders <- order{Through: through}
	}
	if s.holding {
		p.orders <- order{Hold: true}
	}
	if s.last > 0 {
		p.orders <- order{End: s.last}
	}
}

// Hold returns a channel that is closed when this peer may begin no further round.
func (l *Leash) Hold() <-chan struct{} { return l.hold }

// Held says how many rounds this peer has begun, of those that it will begin until
// Ended.
func (l *Leash) Held(begun int) { _ = l.say(notice{Begun: &begun}) } // fails only if the parent is gone

// Ended returns a channel that is closed when Last is known.
func (l *Leash) Ended() <-chan struct{} { return l.known }

// Last returns how many rounds the run has, after Ended.
func (l *Leash) Last() int { return l.last }
