package sim

// suspend makes a process hang. Its neighbours lose it after Detect, or up to a quarter later.
func (s *faultSim) suspend(p *peer) {
	p.status, p.since = hanging, s.now
	p.count++
	hang := p.count
	s.after(s.Detect+s.Detect/8, func() error {
		if p.status != hanging || p.count != hang {
			return nil
		}
		for _, l := range s.links.of(p.Rank) {
			if l.up {
				s.lose(l, 0)
			}
		}
		return nil
	})
}

// wake lets a hanging process go on. Its gradient is late by the length of the hang, and the messages
// that were sent to it arrive now.
func (s *faultSim) wake(p *peer) error {
	p.status = running
	slept := s.now - p.since
	s.awake(p)
	waiting, lost := p.held, p.lost
	p.held, p.lost = nil, nil
	if p.order.progress != idle {
		p.delay += slept
	}
	for _, e := range waiting {
		if e.frame == nil {
			s.schedule(e.at+slept, e)
			p.delay -= slept
		} else {
			s.schedule(s.now, e)
		}
	}
	for _, other := range lost {
		if err := s.parted(p, other); err != nil {
			return err
		}
	}
	for _, l := range s.links.of(p.Rank) {
		s.retry(l)
	}
	return nil
}
