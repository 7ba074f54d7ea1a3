package members

import (
	"slices"
	"sync"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
)

// Vitals are what a member knows at a moment.
type Vitals struct {
	View   views.Record   // the newest; it has no members before the first
	Joins  []views.Member // have been admitted, and are in no view yet
	Leaves []views.ID     // that have said so, or have not ended yet
	Silent []views.ID     // members that should be heard, and were not for a while
	Waits  []views.ID     // whose messages the exchange lacks
	Rounds int            // of the run, as far as the member knows
	// Received counts the bytes at the socket.
	Received int64
	State    record.State
	Detail   string
}

// vitals are those of the last beat, for other goroutines.
type vitals struct {
	mu   sync.Mutex
	last Vitals
}

// Vitals returns those of the last beat. Any goroutine may call it.
func (s *Seat) Vitals() Vitals {
	s.vitals.mu.Lock()
	defer s.vitals.mu.Unlock()
	return s.vitals.last
}

// publish notes the vitals.
func (s *Seat) publish() {
	now := Vitals{Rounds: s.o.Member.Plan.Rounds, Waits: member.Lacks(s.m), Silent: s.silent(),
		Received: s.o.Host.Total().In,
		Joins:    slices.Clone(council.Waiting(s.m.Council()))}
	if c := s.m.Council(); !c.Leads() && !c.Waits() { // others have no reason to write to this member
		now.Silent = slices.DeleteFunc(now.Silent, func(of id) bool { return !slices.Contains(now.Waits, of) })
	}
	now.State, now.Detail = s.doing()
	if log := s.m.Council().Log(); log != nil {
		now.View, now.Leaves = *log.Last(), s.leaving(log)
		now.Rounds = views.Rounds(log, now.Rounds, s.o.Member.Plan.Every)
	}
	s.vitals.mu.Lock()
	defer s.vitals.mu.Unlock()
	s.vitals.last = now
}

// leaving returns the members that the change under way lets go, and those that have not ended yet.
func (s *Seat) leaving(log *views.Log) (all []id) {
	if open := s.m.Council().Open(); open != nil {
		all = slices.Clone(open.Leaves)
	}
	for _, who := range log.Watched(s.m.Council().Done) {
		if _, leaves := log.Ends(who); leaves {
			all = append(all, who)
		}
	}
	if s.end.leaves && !slices.Contains(all, s.ID()) {
		all = append(all, s.ID())
	}
	slices.Sort(all)
	return all
}
