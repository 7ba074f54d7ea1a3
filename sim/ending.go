package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/report"
)

// An Ending ends a run before its rounds are over. Workers that share rounds end
// with the last one that any of them has begun by then, so the run is one of that
// many rounds, bit for bit, where step sizes do not look ahead. Others end where
// they are.
type Ending struct {
	Time  time.Duration          // virtual, at which the run ends; 0 = never
	Until func(report.Step) bool // asked after each record, in the order of virtual time, until it says yes; nil = never
	// Asynchronous workers share no rounds.
	Asynchronous bool

	now bool
}

// reached asks whether a record is the one that ends the run.
func (s *simulation) reached(step report.Step) {
	if e := &s.opt.Ending; e.Until != nil && !e.now && e.Until(step) {
		s.end()
	}
}

// cut ends the run if its time is up and reports whether nothing may happen any
// more.
func (s *simulation) cut() bool {
	e := &s.opt.Ending
	if e.Time > 0 && s.now >= e.Time && !e.now {
		s.end()
	}
	return e.now && e.Asynchronous
}

// end lets the workers go on to the end of the last round that one of them has
// begun.
func (s *simulation) end() {
	s.opt.Ending.now = true
	if s.opt.Ending.Asynchronous {
		return
	}
	for i := range s.peers {
		s.last = max(s.last, s.peers[i].round+1)
	}
	if s.opt.Rounds > 0 {
		s.last = min(s.last, s.opt.Rounds)
	}
}

// over reports whether p has done all rounds of a run that ends before its time.
func (s *simulation) over(p *peer) bool { return s.last > 0 && p.round >= s.last }

// within leaves out the frames of rounds that will not be.
func (s *simulation) within(frames []gossip.Frame) []gossip.Frame {
	if s.last == 0 {
		return frames
	}
	var rest []gossip.Frame
	for _, f := range frames {
		if f.Round < s.last {
			rest = append(rest, f)
		}
	}
	return rest
}
