package seat

import (
	"math"
	"sync"

	"gossiptrainer/app/status"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
	"gossiptrainer/node/members"
)

// An account is what others may ask of a member while it works.
type account struct {
	mu     sync.Mutex
	run    string
	folder string
	rounds int // of the run file
	n      *node.Node
	seat   *members.Seat // nil before it has met the others
	stops  bool          // the run shall end for all
	last   record.Step
	spent  node.Status // sums over the rounds
}

// begin begins the account of a process, which meets the others.
func (a *account) begin(n *node.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n, a.seat = n, nil
}

func (a *account) sit(s *members.Seat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seat = s; a.stops {
		s.Stop()
	}
}

func (a *account) step(s record.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = s
	a.spent.Compute += s.Compute
	a.spent.Wait += s.Wait
	a.spent.Codec += s.Codec
}

// Status returns what the member does. Ranks are ids of members.
func (a *account) Status() node.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.n.Status()
	s.Rounds = a.rounds
	s.State = record.Joining
	if a.seat == nil {
		return s
	}
	v := a.seat.Vitals()
	s.Rank, s.State, s.Detail, s.Rounds = int(a.seat.ID()), v.State, v.Detail, v.Rounds
	s.Peers, s.Here, s.Waiting = len(v.View.Members), max(0, len(v.View.Members)-len(v.Silent)), numbers(v.Waits)
	s.Compute, s.Wait, s.Codec = a.spent.Compute, a.spent.Wait, a.spent.Codec
	if s.Round = a.last.Round; s.Round > 0 && !math.IsNaN(a.last.Loss) && !math.IsInf(a.last.Loss, 0) {
		loss := a.last.Loss
		s.Loss = &loss
	}
	silent := map[view.ID]bool{}
	for _, id := range v.Silent {
		silent[id] = true
	}
	for _, m := range v.View.Members {
		if m.ID != a.seat.ID() {
			s.Links = append(s.Links, node.LinkStatus{Neighbour: int(m.ID), Host: m.Name, Up: !silent[m.ID]})
		}
	}
	s.Sent, _ = a.seat.Sent()
	s.Received.Wire = v.Received
	return s
}

// Membership returns what the member knows of the others.
func (a *account) Membership() *status.Membership {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seat == nil {
		return nil
	}
	v := a.seat.Vitals()
	return &status.Membership{Run: a.run, Folder: a.folder, Member: int(a.seat.ID()), View: v.View.View,
		First: v.View.First, Why: v.View.Why, Members: people(v.View.Members), Joins: people(v.Joins),
		Leaves: numbers(v.Leaves), Silent: numbers(v.Silent), Ends: v.Rounds}
}

// Stop lets the run end for all.
func (a *account) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stops = true; a.seat != nil {
		a.seat.Stop()
	}
}

func people(all []view.Member) []status.Person {
	names := []status.Person{}
	for _, m := range all {
		names = append(names, status.Person{ID: int(m.ID), Name: m.Name})
	}
	return names
}

func numbers(ids []view.ID) []int {
	all := []int{}
	for _, id := range ids {
		all = append(all, int(id))
	}
	return all
}
