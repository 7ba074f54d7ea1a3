package work

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// An Account counts for whom a worker waits, and what its edges carry. A driver calls its methods with the present time
// since the start of the worker; only one goroutine at a time may do so. They allocate nothing once all neighbours are
// known. A simulation saves it as JSON. A nil account counts nothing.
type Account struct {
	Links   []record.Link   `json:"links"` // by rank
	Rounds  int             `json:"rounds"`
	Spent   record.Spent    `json:"spent"`
	Missing []topology.Rank `json:"missing"`  // whose messages the worker lacks
	Since   time.Duration   `json:"since_ns"` // since when it lacks exactly these
	Last    int             `json:"last"`     // whose message came last in this round; −1: none was awaited yet

	Reported Reported `json:"reported"`
}

// Reported says after which round the newest report was made, and when.
type Reported struct {
	Round int           `json:"round"`
	Time  time.Duration `json:"time_ns"`
}

// NewAccount returns the account of a worker before its first round.
func NewAccount() *Account { return &Account{Last: -1} }

// Lack notes whose messages the worker lacks from now on. It lacks none while it computes.
func (a *Account) Lack(missing []topology.Rank, now time.Duration) {
	if a == nil {
		return
	}
	a.elapse(now)
	a.Missing = append(a.Missing[:0], missing...)
}

// elapse adds the time since the last change to the neighbour that alone was missing.
func (a *Account) elapse(now time.Duration) {
	if len(a.Missing) == 1 {
		a.Link(a.Missing[0]).Alone += now - a.Since
	}
	a.Since = now
}

// Came notes a frame of a neighbour.
func (a *Account) Came(from topology.Rank, now time.Duration) {
	if a != nil && slices.Contains(a.Missing, from) {
		a.elapse(now)
		a.Last = int(from)
	}
}

// Finish ends a round that took so long.
func (a *Account) Finish(took record.Spent) {
	if a == nil {
		return
	}
	a.Rounds++
	a.Spend(took)
	if a.Last >= 0 {
		a.Link(topology.Rank(a.Last)).Last++
	}
	a.Last = -1
}

// Spend adds time to the sums of all rounds.
func (a *Account) Spend(took record.Spent) {
	if a != nil {
		a.Spent.Add(took)
	}
}

// Link returns the account of the edge to a neighbour, which is new if there is none yet. It is valid until the next
// neighbour is new.
func (a *Account) Link(peer topology.Rank) *record.Link {
	for i := range a.Links[:min(len(a.Links), few)] {
		if a.Links[i].Peer == int(peer) {
			return &a.Links[i]
		}
	}
	i, known := slices.BinarySearchFunc(a.Links, int(peer), func(l record.Link, rank int) int { return l.Peer - rank })
	if !known {
		a.Links = slices.Insert(a.Links, i, record.Link{Peer: int(peer)})
	}
	return &a.Links[i]
}

// few is the number of edges among which looking at each is faster than a binary search.
const few = 4

// Surroundings are what a worker runs on. Workers of one process may share them.
type Surroundings struct {
	Network shape.Network // limits of the links
	// Processor returns the processor time of the worker's process so far; nil: it has no process of its own.
	Processor func() time.Duration
}

// Bounds of the time between two reports.
const (
	reports = 50
	period  = time.Second
)

// Due reports whether a report goes on record with a step of a run of some rounds.
func (a *Account) Due(s *record.Step, rounds int) bool {
	return a != nil && ((s.Round-a.Reported.Round)*reports >= rounds || s.Time-a.Reported.Time >= period ||
		s.Round == rounds)
}

// Report returns the account for the record, at the end of the round of a step.
func (t *Task) Report(a *Account, s *record.Step, around *Surroundings) record.Links {
	repairs := gossip.RepairsOf(t.Machine)()
	l := record.Links{
		Rank: int(t.Rank), Round: s.Round, Time: s.Time, Rounds: a.Rounds, Spent: a.Spent,
		Messages: s.Messages, Violations: repairs.Violations, Repaired: repairs.Repaired, Links: slices.Clone(a.Links),
	}
	a.Reported = Reported{s.Round, s.Time}
	if around.Processor != nil {
		l.Spent.CPU = around.Processor()
	}
	l.Uplink = around.Network.Uplink.Rate
	for i := range l.Links {
		link := &l.Links[i]
		link.Limit = around.Network.Links[edge(t.Rank, topology.Rank(link.Peer))].Rate
	}
	return l
}

// edge returns the key of an edge in shape.Network.
func edge(i, j topology.Rank) [2]topology.Rank { return [2]topology.Rank{min(i, j), max(i, j)} }
