package sim

import (
	"errors"
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/record"
)

// takes reports whether an event of a worker happens now. Events of a dead process or a lost link
// never happen, and events of a hanging process wait.
func (s *faultSim) takes(p *peer, e event) (took bool, err error) {
	gone := p.status == dead || e.frame == nil && e.turn != p.number
	if e.frame != nil && !gone {
		l := s.links.between(e.frame.From, p.Rank)
		gone = !l.up || l.number != e.frame.link
	}
	switch {
	case gone && e.frame != nil:
		s.threads[0].landed(e.frame)
	case gone:
	case p.status == hanging:
		p.held = append(p.held, e)
	case e.frame == nil && p.delay > 0:
		s.schedule(s.now+p.delay, e)
		p.delay = 0
	default:
		if err := p.layer.Tick(s.now); err != nil {
			return false, s.failed(p, err)
		}
		return true, nil
	}
	return false, nil
}

// act carries out the requests of a worker's layers.
func (s *faultSim) act(p *peer) error {
	if err := p.layer.Tick(s.now); err != nil {
		return s.failed(p, err)
	}
	number := p.number
	for more := true; more; {
		r := p.layer.Ready()
		for _, c := range r.Control {
			s.control(p, c)
		}
		s.note(p, r.Notes)
		for _, f := range r.Send {
			p.unkept += len(f.Payload)
		}
		if r.Failed != nil {
			return s.failed(p, r.Failed)
		}
		if r.Compute && r.Round > s.begun {
			s.begins(r.Round)
		}
		if err := s.obey(s.threads[0], p, &r); err != nil {
			return err
		}
		if p.reached != r.Round {
			p.reached = r.Round
			s.recovered()
		}
		if more = r.More; !more && p.fresh {
			if err := s.failed(p, s.keep(p)); err != nil || p.number != number {
				return err
			}
			more = true
		}
	}
	return nil
}

// failed handles an error of a worker. A worker that has no place among the others is lost for good; any other error
// ends the run.
func (s *faultSim) failed(p *peer, err error) error {
	if lost, ok := errors.AsType[*layers.LostError](err); ok {
		return fmt.Errorf("sim: worker %d round %d: %w: faults.on_lost_neighbor is stop", p.Rank, p.round, lost)
	}
	_, behind := errors.AsType[*elastic.LeftBehindError](err)
	_, alone := errors.AsType[*elastic.AloneError](err)
	_, unmet := errors.AsType[*elastic.UnmetError](err)
	switch {
	case err == nil:
		return nil
	case behind || alone || unmet:
		s.kill(p)
		s.giveUp(p, err.Error())
		return nil
	}
	return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
}

// control changes links as a layer asks for.
func (s *faultSim) control(p *peer, c gossip.Control) {
	switch c.Kind {
	case gossip.Introduce:
		p.intro = c
	case gossip.CallPeer:
		s.retry(s.want(p, c.Peer))
	case gossip.LeavePeer, gossip.BanPeer:
		l := s.links.between(p.Rank, c.Peer)
		l.refused[l.end(p.Rank)], l.wanted[l.end(p.Rank)] = s.peers[c.Peer].number, 0
		s.close(l)
	case gossip.DropLink:
		s.close(s.links.between(p.Rank, c.Peer))
	}
}

// close ends a link after the present event.
func (s *faultSim) close(l *link) {
	number := l.number
	s.after(0, func() error {
		if l.up && l.number == number {
			s.lose(l, 0)
		}
		return nil
	})
}

// note records the edges of the graph.
func (s *faultSim) note(p *peer, notes []gossip.Note) {
	for _, n := range notes {
		if n.Kind == gossip.EdgeIsSet && s.opt.Observe != nil {
			s.opt.Observe(record.Event{Edge: &record.Edge{
				Rank: int(p.Rank), Peer: int(n.Peer), Exchange: n.Exchange, Weight: n.Weight,
			}})
		}
	}
}
