package sim

import (
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/work"
)

// begin starts the next process of a worker before a round, with a seat if a sponsor has given it one.
func (s *faultSim) begin(p *peer, task work.Task, round int, seat *elastic.Seat) error {
	s.keeper.abandon()
	p.Task, p.origin = &task, 0
	if err := s.arrive(p, round, seat); err != nil {
		return err
	}
	s.effects.restarted(p.Rank, p.atDeath-p.begun, s.target(), s.now)
	if s.opt.Ending.announced {
		p.core.Hold()
		if err := s.endOf(p); err != nil {
			return err
		}
	}
	if err := s.act(p); err != nil {
		return err
	}
	for _, l := range s.links.of(p.Rank) {
		s.retry(l)
	}
	return nil
}

// arrive gives the process of a worker its layers.
func (s *faultSim) arrive(p *peer, round int, seat *elastic.Seat) error {
	core, place, oldest, err := s.layers(p, round, seat)
	if err != nil {
		return s.failed(p, err)
	}
	s.attach(p, core)
	p.intro = gossip.Control{Kind: gossip.Introduce, Place: place, Durable: oldest}
	p.reached, p.begun = round, round
	for _, other := range p.Rows.Neighbours() {
		s.want(p, other)
	}
	s.beat(p)
	return nil
}

// attach makes layers those of the process of a worker.
func (s *faultSim) attach(p *peer, core *layers.Peer) {
	core.AtBoundary(func(k int) {
		s.keeper.cross(p, k)
		s.boundary(p, k)
		s.invite(p, k)
	})
	p.layer, p.core, p.status = core, core, running
}

// layers returns the machine of a worker in the layers that the policy needs, the slot at which it begins and that of
// its oldest checkpoint.
func (s *faultSim) layers(p *peer, round int, seat *elastic.Seat) (core *layers.Peer, place, oldest int, err error) {
	slots := gossip.SlotsOf(p.Machine)
	place = slots.Of(round, 0)
	oldest = place
	if len(p.kept) > 0 {
		oldest = slots.Of(p.kept[0].round, 0)
	}
	start := layers.Start{
		Self: p.Rank, Rows: p.Rows, Lost: s.Lost, Asynchronous: p.Asynchronous, Place: place, Durable: oldest,
		CallLog: s.keeper.tape(p), Judge: judge.Rules{Self: p.Rank, Name: error.Error},
	}
	_, numbered := p.Machine.(gossip.Numbered)
	switch {
	case s.Lost == layers.Reweight:
		start.Durable = gossip.Undurable
		start.Elastic = &elastic.Start{Self: p.Rank, Row: p.Rows.At(0), Closing: p.Closing, Rounds: p.Rounds,
			Returned: p.number > 1}
		if seat != nil {
			start.Elastic.Sponsored, start.Elastic.Seat = true, *seat
		}
	case numbered:
		if p.log == nil {
			p.log = replay.NewMemory(slots, 0)
		}
		p.log.Rewind(place)
		start.Replay = &replay.Start{
			Self: p.Rank, Rows: p.Rows, Slots: slots, Log: p.log, Returned: p.number > 1,
			Repairs: gossip.RepairsOf(p.Machine)().Verified,
		}
	}
	core, err = layers.New(p.Machine, start)
	return core, place, start.Durable, err
}

// beat lets the layers of a worker look at the clock at every pulse. Under the policy wait no layer has a deadline.
func (s *faultSim) beat(p *peer) {
	if s.Lost != layers.Wait {
		s.plan(p.layer.Pulse(), item{event{worker: p.Rank, turn: p.number}, pulse, s.pulse(p, p.number)})
	}
}

// pulse returns the action of a pulse of a process.
func (s *faultSim) pulse(p *peer, number int) func() error {
	return func() error {
		if p.number != number {
			return nil
		}
		s.beat(p)
		if p.status != running || p.ended {
			return nil
		}
		return s.act(p)
	}
}
