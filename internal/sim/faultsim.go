package sim

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A faultSim is a simulation with a script of faults.
type faultSim struct {
	*simulation
	*Faults
	play    *fault.Play
	links   linkTable
	agenda  agenda
	planned time.Duration // when the script is read next; −1: not planned
	idle    int           // items of the agenda since the last event of a worker
	begun   int           // the highest round that a worker has begun; −1: none
	effects effects
}

// newFaultSim prepares a simulation for its faults.
func newFaultSim(s *simulation, f *Faults) *faultSim {
	fs := &faultSim{
		simulation: s, Faults: f, play: fault.NewPlay(f.Script),
		links:   linkTable{byEnds: make(map[[2]topology.Rank]*link)},
		planned: -1, begun: -1, effects: effects{at: make(map[int]int)},
	}
	s.script = fs
	s.keeper.faults = &keptFaults{rests: fs.rests, behind: fs.behind, save: fs.save}
	for i := range s.peers {
		p := &s.peers[i]
		p.process = new(process)
		for _, other := range p.Rows.Neighbours() {
			fs.links.between(p.Rank, other)
		}
	}
	return fs
}

// An item of an agenda is an action other than an event of a worker.
type item struct {
	event
	kind itemKind
	do   func() error
}

// An agenda is the items to come, the earliest first. It is short.
type agenda []item

// pop removes the earliest item and returns it. The agenda is not empty.
func (a *agenda) pop() item {
	first := (*a)[0]
	*a = slices.Delete(*a, 0, 1)
	return first
}

// agendaIsNext reports whether an item of the agenda, which is not empty, is before all events and ends of jobs.
func (s *faultSim) agendaIsNext() bool {
	if at, ok := s.jobEnds(); ok {
		return s.agenda[0].at <= at
	}
	return s.queue.size() == 0 || s.agenda[0].before(*s.queue.first())
}

// after does something after some time.
func (s *faultSim) after(d time.Duration, do func() error) { s.plan(d, item{do: do}) }

// plan adds an item after some time.
func (s *faultSim) plan(d time.Duration, e item) {
	e.at, e.seq = s.now+d, s.seq
	s.seq++
	s.enter(e)
}

// enter adds an item at its time.
func (s *faultSim) enter(e item) {
	at, _ := slices.BinarySearchFunc(s.agenda, e, func(a, b item) int {
		if a.before(b.event) {
			return -1
		}
		return 1
	})
	s.agenda = slices.Insert(s.agenda, at, e)
}

// over reports whether every worker has finished or is lost for good.
func (s *faultSim) over() bool {
	for i := range s.peers {
		if !s.peers[i].ended && !s.peers[i].gone {
			return false
		}
	}
	return true
}

// gone returns the workers that are lost for good.
func (s *faultSim) gone() []topology.Rank {
	var all []topology.Rank
	for i := range s.peers {
		if p := &s.peers[i]; p.gone {
			all = append(all, p.Rank)
		}
	}
	return all
}

// giveUp notes that a worker has no process and will get none.
func (s *faultSim) giveUp(p *peer, why string) {
	if p.gone {
		return
	}
	p.gone = true
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Status: &record.Status{Rank: int(p.Rank), State: record.Lost, Detail: why}})
	}
}

// ship returns a frame on its way, and the number of its link. A worker that goes on without a
// neighbour may reuse the memory of a message that the neighbour still reads, so the neighbour gets a
// copy.
func (s *faultSim) ship(f gossip.Frame) (gossip.Frame, int) {
	if s.Lost != layers.Wait {
		f.Payload = slices.Clone(f.Payload)
	}
	return f, s.links.between(f.From, f.To).number
}

// slowdown returns the factor on the time of a worker's gradients.
func (s *faultSim) slowdown(rank topology.Rank) float64 { return s.play.Slowdown(rank) }

// latency returns the time that a small message takes from one end of a link to the other.
func (s *faultSim) latency(l *link, end int) time.Duration {
	return s.peers[l.ends[end]].uplink.Link(l.ends[1-end]).Latency
}

// target returns the rounds that every worker has to finish until the run has recovered from a fault
// that has just ended: one more than any worker has finished.
func (s *faultSim) target() int {
	most := 0
	for i := range s.peers {
		most = max(most, s.peers[i].reached, s.peers[i].atDeath)
	}
	return most + 1
}

// recovered closes the effects from which the workers have recovered.
func (s *faultSim) recovered() {
	if len(s.effects.open) == 0 {
		return
	}
	least := s.peers[0].Rounds
	for i := range s.peers {
		if p := &s.peers[i]; p.gone {
			continue
		} else if p.status == dead {
			return
		} else if !p.ended {
			least = min(least, p.reached)
		}
	}
	s.effects.recovered(least, s.peers[0].Rounds, s.now)
}
