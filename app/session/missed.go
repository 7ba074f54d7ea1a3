package session

import (
	"fmt"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// A missed fault is a fault whose moment the run did not reach.
type missed struct {
	fault.Fault
	lasted time.Duration // of the run, as it ended
}

// Missed takes a fault whose moment a run of some length did not reach. A length of Absent means that its member was
// not there.
func (s *Session) Missed(f fault.Fault, lasted time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = append(s.missed, missed{f, lasted})
}

// Absent is in the place of a run's length where the member of a fault was not there.
const Absent time.Duration = -1

// missedFaults returns the faults that did not happen in a run with these results, and why.
func (s *Session) missedFaults(finals []record.Final) []record.MissedFault {
	rounds := 0
	for _, f := range finals {
		rounds = max(rounds, f.Rounds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []record.MissedFault
	for _, m := range s.missed {
		all = append(all, record.MissedFault{Fault: m.String(), At: m.At.String(), Why: m.why(rounds)})
	}
	return all
}

// why says why a fault did not happen in a run whose fastest worker has done this many rounds.
func (m *missed) why(rounds int) string {
	switch {
	case m.lasted == Absent:
		return fmt.Sprintf("member %d was not there", m.First())
	case m.At.Timed:
		return fmt.Sprintf("the run ended after %v", m.lasted.Round(time.Millisecond))
	case m.At.Round < rounds: // real peers were done before their supervisor heard of that round
		return fmt.Sprintf("the run ended after %s, before the fault could begin", human.Count(rounds, "round"))
	}
	return fmt.Sprintf("the run ended after %s", human.Count(rounds, "round"))
}
