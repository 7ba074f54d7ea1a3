package sim

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/state"
	"gossiptrainer/topology"
)

// A fate is what a script makes of a worker, through all its lives.
//
//	standing   meaning                                     event           next
//	living     its process does what is due                it is killed    dead
//	                                                       it hangs        hanging
//	hanging    its process stands still, and what it gets  it wakes        living
//	           waits for it                                it is killed   dead
//	dead       it has no process                           it is started   living
type fate struct {
	standing standing
	life     int // processes so far, from 1 on
	layer    *layers.Peer
	said     gossip.Control // what it tells on meeting: place and durable
	reached  int            // rounds that the present process has finished
	begun    int            // in which the present process began
	fell     int            // rounds that the last process had finished when it was killed
	gone     bool           // nobody starts another process
	hosts    *visit         // for whom it keeps a place; nil: nobody
	sleep
	memory
}

// A sleep is what a hanging process has not seen yet.
type sleep struct {
	since   time.Duration // when it began to hang
	hangs   int           // how often
	waiting []event
	lost    []topology.Rank // whose links were lost
	delay   time.Duration   // of its gradient, for it has hung
}

// A memory is what outlives the processes of a worker.
type memory struct {
	log    *replay.Memory
	kept   []checkpoint // the oldest first
	spare  []*state.Snapshot
	fresh  bool // the newest one is not safe yet
	taken  time.Duration
	unkept int // bytes of messages since then
}

type standing uint8

const (
	living standing = iota
	hanging
	dead
)

// A checkpoint is the state of a worker before a round.
type checkpoint struct {
	round int
	state *state.Snapshot
}

// alive reports whether a worker has a process.
func (f *fate) alive() bool { return f == nil || f.standing != dead }

// lives returns the number of the present process, 0 without a script.
func (f *fate) lives() int {
	if f == nil {
		return 0
	}
	return f.life
}

// boundary takes a checkpoint before round k, if one is due, and after the last.
func (s *stage) boundary(p *peer, k int) {
	due := k == p.Rounds || s.Every > 0 && k%s.Every == 0 ||
		s.Period > 0 && s.now-p.taken >= s.Period || p.unkept >= growth
	if !due || p.Save == nil || s.Lost == layers.Reweight { // where nobody goes back
		return
	}
	var own *state.Snapshot
	if last := len(p.spare) - 1; last >= 0 {
		own, p.spare = p.spare[last], p.spare[:last]
	} else {
		own = new(state.Snapshot)
	}
	p.Save(own)
	p.kept = append(p.kept, checkpoint{k, own})
	p.fresh, p.taken, p.unkept = true, s.now, 0
}

// keep makes the newest checkpoint safe, and forgets the oldest beyond those that are kept.
// After the last round nobody goes back.
func (s *stage) keep(p *peer) error {
	keep := max(1, s.Keep)
	if p.kept[len(p.kept)-1].round == p.Rounds {
		keep = 1
	}
	for len(p.kept) > keep {
		p.spare = append(p.spare, p.kept[0].state)
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.fresh = false
	return s.failed(p, p.layer.Saved(p.kept[0].round))
}

// enter gives a worker the layers for its present life, in which it begins before a round,
// in a seat if others have given it one.
func (s *stage) enter(p *peer, round int, seat *elastic.Seat) error {
	core, place, oldest, err := s.layers(p, round, seat)
	if err != nil {
		return s.failed(p, err)
	}
	core.AtBoundary(func(k int) {
		s.boundary(p, k)
		s.invite(p, k)
	})
	p.layer, p.core = core, core
	p.said = gossip.Control{Kind: gossip.Introduce, Place: place, Durable: oldest}
	p.standing, p.reached, p.begun = living, round, round
	for _, other := range p.Row.Neighbours() {
		s.want(p, other)
	}
	s.beat(p)
	return nil
}

// layers returns the machine of a worker with what the policy asks for around it, and where
// it and its oldest checkpoint are.
func (s *stage) layers(p *peer, round int, seat *elastic.Seat) (core *layers.Peer, place, oldest int, err error) {
	slots := gossip.SlotsOf(p.Machine)
	place = slots.Of(round, 0)
	oldest = place
	if len(p.kept) > 0 {
		oldest = slots.Of(p.kept[0].round, 0)
	}
	start := layers.Start{
		Self: p.Rank, Row: p.Row, Lost: s.Lost, Asynchronous: p.Asynchronous, Place: place, Durable: oldest,
		Judge: judge.Rules{Self: p.Rank, Name: error.Error},
	}
	_, numbered := p.Machine.(gossip.Numbered)
	switch {
	case s.Lost == layers.Reweight:
		start.Durable = gossip.Undurable
		start.Elastic = &elastic.Start{Self: p.Rank, Row: p.Row, Closing: p.Closing, Rounds: p.Rounds}
		if seat != nil {
			start.Elastic.Sponsored, start.Elastic.Seat = true, *seat
		}
	case numbered:
		if p.log == nil {
			p.log = replay.NewMemory(slots, 0)
		}
		p.log.Rewind(place)
		start.Replay = &replay.Start{
			Self: p.Rank, Row: p.Row, Slots: slots, Log: p.log, Repairs: gossip.RepairsOf(p.Machine)().Verified,
		}
	}
	core, err = layers.New(p.Machine, start)
	return core, place, start.Durable, err
}

// beat lets a worker look at the time where that matters: who waits has all the time there is.
func (s *stage) beat(p *peer) {
	if s.Lost == layers.Wait {
		return
	}
	life := p.life
	s.after(p.layer.Pulse(), func() error {
		if p.life != life {
			return nil
		}
		s.beat(p)
		if p.standing != living || p.ended {
			return nil
		}
		return s.act(p)
	})
}
