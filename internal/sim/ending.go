package sim

import (
	"time"

	"gossiptrainer/internal/record"
)

// An Ending ends a run before its rounds are over. Workers that share rounds end
// with the last one that any of them has begun by then, so the run is one of that
// many rounds, bit for bit, where step sizes do not look ahead. Others end with the
// step that each is in.
type Ending struct {
	Time  time.Duration          // virtual, at which the run ends; 0 = never
	Until func(record.Step) bool // asked after each record, in the order of virtual time, until it says yes; nil = never

	now  bool // that time has come
	told bool // the workers know
}

// reached asks whether a record is the one that ends the run.
func (s *simulation) reached(step record.Step) {
	if e := &s.opt.Ending; e.Until != nil && !e.now {
		e.now = e.Until(step)
	}
}

// end lets the workers go on to the end of the last round that one of them has
// begun, once it is time.
func (s *simulation) end() error {
	e := &s.opt.Ending
	e.now = e.now || e.Time > 0 && s.now >= e.Time
	if !e.now || e.told {
		return nil
	}
	e.told = true
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

// endOf tells a worker after how many rounds the run ends.
func (s *simulation) endOf(p *peer) error {
	if err := p.core.End(s.last); err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}
