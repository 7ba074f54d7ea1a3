package sim

// end announces the end of the run to the workers once it is due. They go on to the end of the last round that one of
// them has begun.
func (s *simulation) end() error {
	e := &s.opt.Ending
	e.due = e.due || e.Time > 0 && s.now >= e.Time
	if !e.due || e.announced {
		return nil
	}
	e.announced = true
	for i := range s.peers {
		if p := &s.peers[i]; p.alive() {
			s.last = max(s.last, p.core.Hold())
		}
	}
	for i := range s.peers {
		if p := &s.peers[i]; p.alive() {
			if err := s.endOf(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOf tells a worker the number of rounds of the run.
func (s *simulation) endOf(p *peer) error {
	if err := p.core.End(s.last); err != nil {
		return s.failed(p, err)
	}
	return s.act(s.threads[0], p)
}
