package sim

import (
	"context"

	"gossiptrainer/internal/fault"
)

// run carries out the run to its end. Events of workers and items of the agenda happen in the order of
// virtual time.
func (s *faultSim) run(ctx context.Context) error {
	s.keeper.watch(s.simulation)
	if err := s.start(); err != nil {
		return err
	}
	s.keeper.start()
	for !s.over() {
		if err := s.stopped(ctx); err != nil {
			return err
		}
		if err := s.next(); err != nil {
			return err
		}
		if err := s.keeper.keep(s.simulation); err != nil {
			return err
		}
	}
	return nil
}

// start brings the run to its first round, or to the state from which it goes on.
func (s *faultSim) start() error {
	if from := s.opt.From; from != nil {
		return s.goOn(from)
	}
	for i := range s.peers {
		s.peers[i].number = 1
		if err := s.arrive(&s.peers[i], 0, nil); err != nil {
			return err
		}
	}
	for i := range s.peers {
		if err := s.act(&s.peers[i]); err != nil {
			return err
		}
	}
	for _, l := range s.links.ordered {
		if err := s.meet(l); err != nil {
			return err
		}
	}
	s.read()
	return nil
}

// mostIdle bounds the items of the agenda, for each worker, in which no worker computes or hears anything. A worker may
// wait that way for 120 graces, of a few pulses each.
const mostIdle = 10_000

// changes reports whether a fault begins or ends at a time to come.
func (s *faultSim) changes() bool {
	_, ok := s.play.Next()
	return ok
}

// next handles the next event or item. It fails where workers wait for each other and only look at the clock.
func (s *faultSim) next() error {
	if len(s.agenda) > 0 && s.agendaIsNext() {
		if s.idle++; s.idle > mostIdle*len(s.peers) && !s.changes() {
			return s.stuck()
		}
		item := s.agenda.pop()
		s.now = item.at
		if err := s.simulation.end(); err != nil {
			return err
		}
		return item.do()
	}
	s.idle = 0
	if at, ok := s.jobEnds(); ok {
		return s.endJob(at)
	}
	if s.queue.size() == 0 {
		return s.stuck()
	}
	e := s.queue.pop()
	s.now = e.at
	if err := s.simulation.end(); err != nil {
		return err
	}
	s.events++
	return s.handle(s.threads[0], &e)
}

// begins starts the faults that are due with a round, after the present event.
func (s *faultSim) begins(round int) {
	s.begun = round
	if first, ok := s.play.Round(); ok && first <= round {
		s.after(0, func() error { return s.change(s.play.Begun(round, s.now)) })
	}
}

// read schedules the next fault of the script that begins or ends at a time.
func (s *faultSim) read() {
	next, ok := s.play.Next()
	if !ok || s.planned >= 0 && s.planned <= next {
		return
	}
	s.planned = next
	s.plan(max(0, next-s.now), item{kind: reading, do: s.readNow})
}

// readNow lets the faults begin and end that are due.
func (s *faultSim) readNow() error {
	s.planned = -1
	return s.change(s.play.Until(s.now))
}

// change carries out changes of the script.
func (s *faultSim) change(changes []fault.Change) error {
	for _, c := range changes {
		if err := s.alter(c); err != nil {
			return err
		}
	}
	s.read()
	return nil
}

// alter begins or ends a fault. A kill is over when the next process starts.
func (s *faultSim) alter(c fault.Change) error {
	if !c.Over {
		s.effects.began(c, s.now)
		if s.Began != nil {
			s.Began(c.Fault)
		}
	}
	if c.Over && c.Kind != fault.Kill {
		s.effects.ended(c.Number, s.target(), s.now)
	}
	switch c.Kind {
	case fault.Kill:
		return s.applyKill(c)
	case fault.Hang:
		p := &s.peers[c.Peers[0]]
		if !c.Over && p.status == running {
			s.suspend(p)
		} else if c.Over && p.status == hanging && !s.play.Hangs(p.Rank) {
			return s.wake(p)
		}
	case fault.Cut, fault.Split:
		for _, l := range s.links.ordered {
			switch {
			case !c.Parts(l.ends[0], l.ends[1]):
			case c.Over:
				s.retry(l)
			case l.up:
				s.lose(l, 0)
			}
		}
	case fault.Rate:
		p := &s.peers[c.Peers[0]]
		for _, server := range p.uplink.Limit(s.play.Rate(p.Rank), s.now) {
			s.threads[0].attend(p, server)
		}
	}
	return nil
}
