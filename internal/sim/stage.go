package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A stage is a simulation in which a script is played.
type stage struct {
	*simulation
	*Faults
	play    *fault.Play
	links   map[[2]topology.Rank]*link // by the lower rank
	ordered []*link
	agenda  agenda
	planned time.Duration // when the script is looked at next; −1: it is not
	begun   int           // the highest round that a worker has begun, −1 before the first
	effects []Effect
	place   map[int]int // of an effect, by the number of its fault
	open    []open
}

// newStage prepares a simulation for its faults.
func (s *simulation) newStage(f *Faults) *stage {
	s.stage = &stage{
		simulation: s, Faults: f, play: fault.NewPlay(f.Script), links: make(map[[2]topology.Rank]*link),
		planned: -1, begun: -1, place: make(map[int]int),
	}
	for i := range s.peers {
		p := &s.peers[i]
		p.fate = new(fate)
		for _, other := range p.Row.Neighbours() {
			s.stage.between(p.Rank, other)
		}
	}
	return s.stage
}

// run makes the run to its end: the events of workers and the agenda, in the order of time.
func (s *stage) run(ctx context.Context) error {
	for i := range s.peers {
		s.peers[i].life = 1
		if err := s.enter(&s.peers[i], 0, nil); err != nil {
			return err
		}
	}
	for i := range s.peers {
		if err := s.act(&s.peers[i]); err != nil {
			return err
		}
	}
	for _, l := range s.ordered {
		if err := s.meet(l); err != nil {
			return err
		}
	}
	s.look()
	for !s.over() {
		if err := s.stopped(ctx); err != nil {
			return err
		}
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// over reports whether all workers are done that are not gone.
func (s *stage) over() bool {
	for i := range s.peers {
		if !s.peers[i].ended && !s.peers[i].gone {
			return false
		}
	}
	return true
}

// gone returns the workers that were lost.
func (s *stage) gone() []topology.Rank {
	var all []topology.Rank
	for i := range s.peers {
		if p := &s.peers[i]; p.gone {
			all = append(all, p.Rank)
		}
	}
	return all
}

// next does what happens next.
func (s *stage) next() error {
	if len(s.agenda) > 0 && (len(s.queue) == 0 || s.agenda[0].before(s.queue[0])) {
		item := s.agenda.pop()
		s.now = item.at
		if err := s.simulation.end(); err != nil {
			return err
		}
		return item.do()
	}
	if len(s.queue) == 0 {
		return s.stuck()
	}
	e := s.queue.pop()
	s.now = e.at
	if err := s.simulation.end(); err != nil {
		return err
	}
	s.events++
	return s.handle(e)
}

// An item of an agenda is something to be done that is no event of a worker.
type item struct {
	event
	do func() error
}

// An agenda is the items to come, the first one first. It is short.
type agenda []item

func (a *agenda) pop() item {
	first := (*a)[0]
	*a = slices.Delete(*a, 0, 1)
	return first
}

// after does something after some time.
func (s *stage) after(d time.Duration, do func() error) {
	e := item{event{at: s.now + d, seq: s.seq}, do}
	s.seq++
	at, _ := slices.BinarySearchFunc(s.agenda, e, func(a, b item) int {
		if a.before(b.event) {
			return -1
		}
		return 1
	})
	s.agenda = slices.Insert(s.agenda, at, e)
}

// takes reports whether an event of a worker happens now. Those of a process or a link that
// is gone never do, and those of a process that hangs wait.
func (s *stage) takes(p *peer, e event) (took bool, err error) {
	gone := p.standing == dead || e.frame == nil && e.turn != p.life
	if e.frame != nil && !gone {
		l := s.links[pair(e.frame.From, p.Rank)]
		gone = !l.up || l.number != e.frame.link
	}
	switch {
	case gone && e.frame != nil:
		s.frames = append(s.frames, e.frame)
	case gone:
	case p.standing == hanging:
		p.sleep.waiting = append(p.sleep.waiting, e)
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

// act does what the layers of a worker ask for.
func (s *stage) act(p *peer) error {
	if err := p.layer.Tick(s.now); err != nil {
		return s.failed(p, err)
	}
	life := p.life
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
		if err := s.obey(p, r); err != nil {
			return err
		}
		if p.reached != r.Round {
			p.reached = r.Round
			s.recovered()
		}
		if more = r.More; !more && p.fresh {
			if err := s.keep(p); err != nil || p.life != life {
				return err
			}
			more = true
		}
	}
	return nil
}

// failed deals with an error of a worker. One that has no place among the others any more is
// gone; any other error ends the run.
func (s *stage) failed(p *peer, err error) error {
	if lost, ok := errors.AsType[*layers.LostError](err); ok {
		return fmt.Errorf("sim: worker %d: round %d: %w: faults.on_lost_neighbor is stop", p.Rank, p.round, lost)
	}
	_, behind := errors.AsType[*elastic.LeftBehindError](err)
	_, alone := errors.AsType[*elastic.AloneError](err)
	switch {
	case err == nil:
		return nil
	case behind || alone:
		s.kill(p)
		s.bury(p, err.Error())
		return nil
	}
	return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
}

// control does with links what a layer asks for.
func (s *stage) control(p *peer, c gossip.Control) {
	switch c.Kind {
	case gossip.Introduce:
		p.said = c
	case gossip.CallPeer:
		s.try(s.want(p, c.Peer))
	case gossip.LeavePeer, gossip.BanPeer:
		l := s.between(p.Rank, c.Peer)
		l.left[l.end(p.Rank)], l.wants[l.end(p.Rank)] = s.peers[c.Peer].life, 0
		s.end(l)
	case gossip.DropLink:
		s.end(s.between(p.Rank, c.Peer))
	}
}

// end ends a link as soon as what happens now is done.
func (s *stage) end(l *link) {
	number := l.number
	s.after(0, func() error {
		if l.up && l.number == number {
			s.lose(l, 0)
		}
		return nil
	})
}

// note puts on record which edges there are.
func (s *stage) note(p *peer, notes []gossip.Note) {
	for _, n := range notes {
		if n.Kind == gossip.EdgeIsSet && s.opt.Observe != nil {
			s.opt.Observe(record.Event{Edge: &record.Edge{
				Rank: int(p.Rank), Peer: int(n.Peer), Exchange: n.Exchange, Weight: n.Weight,
			}})
		}
	}
}

// begins begins the faults that are due with a round, as soon as what happens now is done.
func (s *stage) begins(round int) {
	s.begun = round
	if first, ok := s.play.Round(); ok && first <= round {
		s.after(0, func() error { return s.change(s.play.Begun(round, s.now)) })
	}
}

// look comes back when the script says that something begins or ends.
func (s *stage) look() {
	next, ok := s.play.Next()
	if !ok || s.planned >= 0 && s.planned <= next {
		return
	}
	s.planned = next
	s.after(max(0, next-s.now), func() error {
		s.planned = -1
		return s.change(s.play.Until(s.now))
	})
}

// change does what changes of the script ask for.
func (s *stage) change(changes []fault.Change) error {
	for _, c := range changes {
		if err := s.alter(c); err != nil {
			return err
		}
	}
	s.look()
	return nil
}

// alter begins or ends a fault.
func (s *stage) alter(c fault.Change) error {
	if !c.Over {
		s.began(c)
	}
	if c.Over && c.Kind != fault.Kill { // which is over when the next process starts
		s.healed(c.Number)
	}
	switch c.Kind {
	case fault.Kill:
		return s.killing(c)
	case fault.Hang:
		p := &s.peers[c.Peers[0]]
		if !c.Over && p.standing == living {
			s.suspend(p)
		} else if c.Over && p.standing == hanging && !s.play.Hangs(p.Rank) {
			return s.wake(p)
		}
	case fault.Cut, fault.Split:
		for _, l := range s.ordered {
			switch {
			case !c.Parts(l.ends[0], l.ends[1]):
			case c.Over:
				s.try(l)
			case l.up:
				s.lose(l, 0)
			}
		}
	case fault.Rate:
		p := &s.peers[c.Peers[0]]
		for _, server := range p.uplink.Limit(s.play.Rate(p.Rank), s.now) {
			s.attend(p, server)
		}
	}
	return nil
}
