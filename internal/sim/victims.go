package sim

import (
	"slices"

	"gossiptrainer/gossip/elastic"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/state"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// killing ends a process, or starts the next one when its time has come.
func (s *stage) killing(c fault.Change) error {
	p := &s.peers[c.Peers[0]]
	if !c.Over && p.standing != dead {
		s.kill(p)
	}
	p.life++ // a process that is being started dies, too
	if s.play.Gone(p.Rank) {
		s.bury(p, "killed for good")
	}
	if s.play.Dead(p.Rank) || p.gone {
		return nil
	}
	life := p.life
	s.after(startTime, func() error {
		if p.life != life {
			return nil
		}
		if s.Lost == layers.Reweight {
			return s.ask(p)
		}
		return s.revive(p)
	})
	return nil
}

// bury notes that a worker has no process any more, nor will have one.
func (s *stage) bury(p *peer, why string) {
	if p.gone {
		return
	}
	p.gone = true
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Status: &record.Status{Rank: int(p.Rank), State: record.Lost, Detail: why}})
	}
}

// kill ends the process of a worker. Its neighbours hear of that from the system.
func (s *stage) kill(p *peer) {
	s.crew.drop(p)
	s.crew.release(p)
	p.standing, p.ended = dead, false
	p.life++
	p.fell = p.reached
	s.disinvite(p)
	p.waiting, p.sleep.waiting, p.lost, p.delay = nil, nil, nil, 0
	for _, l := range s.of(p.Rank) {
		if l.up {
			s.lose(l, max(s.latency(l, 0), s.latency(l, 1)))
		}
	}
}

// revive starts the process of a worker again, at its newest checkpoint.
func (s *stage) revive(p *peer) error {
	var from *state.Snapshot
	round := 0
	if last := len(p.kept) - 1; last >= 0 {
		from, round = p.kept[last].state, p.kept[last].round
	}
	task, err := s.Revive(p.Rank, from)
	if err != nil {
		return &TrainingError{Rank: p.Rank, Round: round, Err: err}
	}
	return s.begin(p, task, round, nil)
}

// begin begins the next life of a worker, before a round.
func (s *stage) begin(p *peer, task work.Task, round int, seat *elastic.Seat) error {
	p.Task = task
	if err := s.enter(p, round, seat); err != nil {
		return err
	}
	s.revived(p)
	if s.opt.Ending.told {
		p.core.Hold()
		if err := s.endOf(p); err != nil {
			return err
		}
	}
	if err := s.act(p); err != nil {
		return err
	}
	for _, l := range s.of(p.Rank) {
		s.try(l)
	}
	return nil
}

// suspend makes a process stand still. Its neighbours lose it when they have heard nothing
// of it for long: after Detect, or up to a quarter more.
func (s *stage) suspend(p *peer) {
	p.standing, p.since = hanging, s.now
	p.hangs++
	hang := p.hangs
	s.after(s.Detect+s.Detect/8, func() error {
		if p.standing != hanging || p.hangs != hang {
			return nil
		}
		for _, l := range s.of(p.Rank) {
			if l.up {
				s.lose(l, 0)
			}
		}
		return nil
	})
}

// wake lets a process go on that has hung: its gradient takes as much longer, and what it has
// been sent is there.
func (s *stage) wake(p *peer) error {
	p.standing = living
	slept := s.now - p.since
	waiting, lost := p.sleep.waiting, p.lost
	p.sleep.waiting, p.lost = nil, nil
	if p.progress != none {
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
	for _, l := range s.of(p.Rank) {
		s.try(l)
	}
	return nil
}

// noticed notes that a worker has lost a link: that is how it learns of a fault.
func (s *stage) noticed(rank, other topology.Rank) {
	for i := range s.effects {
		if e := &s.effects[i]; e.Noticed < 0 && e.Over < 0 && e.touches(rank, other) && !e.strikes(rank) {
			e.Noticed = s.now - e.At
		}
	}
}

// began notes that a fault begins.
func (s *stage) began(c fault.Change) {
	s.place[c.Number] = len(s.effects)
	if s.Began != nil {
		s.Began(c.Fault)
	}
	s.effects = append(s.effects, Effect{Fault: c.Fault, At: s.now, Over: -1, Noticed: -1, Recovered: -1})
}

// healed notes that a fault is over, and which round all workers have to finish until it is
// made up for: one that none has finished yet.
func (s *stage) healed(number int) {
	i := s.place[number]
	s.effects[i].Over = s.now
	most := 0
	for i := range s.peers {
		most = max(most, s.peers[i].reached, s.peers[i].fell)
	}
	s.open = append(s.open, open{i, most + 1})
}

// revived notes that a peer that was killed lives again.
func (s *stage) revived(p *peer) {
	for number, i := range s.place {
		if e := &s.effects[i]; e.Kind == fault.Kill && e.Over < 0 && e.Peers[0] == p.Rank {
			s.healed(number)
			e.Again = max(0, p.fell-p.begun)
		}
	}
}

// An open effect is one that is over, and not made up for.
type open struct {
	effect int
	round  int // that all workers have to finish
}

// recovered looks which effects are made up for.
func (s *stage) recovered() {
	if len(s.open) == 0 {
		return
	}
	least := s.peers[0].Rounds
	for i := range s.peers {
		if p := &s.peers[i]; p.gone {
			continue
		} else if p.standing == dead {
			return
		} else if !p.ended {
			least = min(least, p.reached)
		}
	}
	s.open = slices.DeleteFunc(s.open, func(o open) bool {
		e := &s.effects[o.effect]
		if least < min(o.round, s.peers[0].Rounds) {
			return false
		}
		e.Recovered = s.now - e.Over
		return true
	})
}
