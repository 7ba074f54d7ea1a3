package main

import (
	"time"

	"gossiptrainer/internal/record"
)

// An earlier is what the record of a run that goes on knows of one peer: times and
// bytes are counted from there, and rounds that it does once more are no news.
type earlier struct {
	round, scored int
	record.Past
}

// earlierParts reads what a record knows of each peer.
func earlierParts(events []record.Event, peers int) []earlier {
	all := make([]earlier, peers)
	for _, e := range events {
		switch {
		case e.Step != nil && e.Step.Rank >= 0 && e.Step.Rank < peers && e.Step.Round >= all[e.Step.Rank].round:
			p := &all[e.Step.Rank]
			p.round, p.Past = e.Step.Round, record.PastAt(*e.Step)
		case e.Score != nil && e.Score.Rank >= 0 && e.Score.Rank < peers:
			p := &all[e.Score.Rank]
			p.scored = max(p.scored, e.Score.Round)
		}
	}
	return all
}

// trained returns how long the peers have trained in earlier parts of the run.
func trained(parts []earlier) (most time.Duration) {
	for _, p := range parts {
		most = max(most, p.Time)
	}
	return most
}

// joined returns e as an event of the whole run, and whether it is news.
func (s *Session) joined(e record.Event) (record.Event, bool) {
	switch {
	case e.Step != nil && e.Step.Rank < len(s.earlier):
		p := s.earlier[e.Step.Rank]
		step := p.Step(*e.Step)
		return record.Event{Step: &step}, step.Round > p.round
	case e.Score != nil && e.Score.Rank >= 0 && e.Score.Rank < len(s.earlier):
		return e, e.Score.Round > s.earlier[e.Score.Rank].scored
	case e.Final != nil && e.Final.Rank < len(s.earlier):
		final := s.earlier[e.Final.Rank].Final(*e.Final)
		return record.Event{Final: &final}, true
	}
	return e, true
}
