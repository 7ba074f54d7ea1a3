package elastic_test

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/witness"
	"gossiptrainer/topology"
)

// rejoin brings a dead worker back as another process, as soon as another worker has a
// place for it.
func (w *world) rejoin(rank topology.Rank, rounds int) {
	old := w.workers[rank]
	if !old.dead || w.joining[rank] != 0 {
		return
	}
	process := w.process + 1
	for _, sponsor := range w.workers {
		from := sponsor.machine.Next() + 1
		if from <= old.machine.Next() { // the test must be able to tell the exchanges of the two processes apart
			continue
		}
		if sponsor.dead || sponsor.done || sponsor.inviting {
			continue
		}
		w.must(sponsor.Tick(w.now))
		seat, answer, err := sponsor.Host(rank, process)
		if w.must(err); answer != elastic.Welcome {
			continue
		}
		if seat != (elastic.Seat{Round: from, From: from}) {
			w.t.Fatalf("seat %+v, want it in round %d", seat, from)
		}
		sponsor.inviting, w.joining[rank], w.process = true, process, process
		sponsor.AtBoundary(func(k int) {
			if k != from {
				return
			}
			sponsor.inviting = false
			var s state.Snapshot
			s.Save("machine", sponsor.machine)
			copied := w.delay("copy", 300*time.Millisecond)
			w.after(copied, func() { w.begin(old, process, sponsor, from, rounds, &s) })
		})
		return
	}
	if w.now < time.Minute {
		w.after(300*time.Millisecond, func() { w.rejoin(rank, rounds) })
	}
}

// begin starts the process of a worker that has come back with a sponsor's state, if
// it lives.
func (w *world) begin(old *mortal, process uint64, sponsor *mortal, from, rounds int, s *state.Snapshot) {
	switch alive := w.joining[old.rank] == process; {
	case alive && sponsor.dead:
		delete(w.joining, old.rank)
		w.rejoin(old.rank, rounds)
		return
	case !alive:
		sponsor.Missed(old.rank, process)
		return
	}
	alg := witness.New(make([]float32, worldDim), w.codec)
	alg.Mixed, alg.Sent = old.alg.Mixed, old.alg.Sent
	closing := w.graph.Closing(old.rank)
	edge := topology.Edge{Peer: sponsor.rank, Weight: closing.Weight}
	row := topology.Row{In: []topology.Edge{edge}, Out: []topology.Rank{sponsor.rank}}
	machine, err := gossip.Resume(old.rank, row, alg, gossip.Schedule{Rounds: rounds, Every: 1}, s)
	if err != nil {
		w.t.Fatal(err)
	}
	m := newMortal(machine, &mortal{rank: old.rank, row: row, alg: alg, guest: true, process: process, life: old.life})
	seat := elastic.Seat{Round: from, From: from}
	w.embody(m, elastic.Start{Closing: closing, Rounds: rounds, Sponsored: true, Seat: seat})
	for _, other := range w.workers {
		delete(other.left, old.rank) // it is another process
	}
	w.workers[old.rank] = m
	for c := range w.initial { // its model is another one
		w.initial[c] += float64(alg.X[c]) - float64(old.alg.X[c])
	}
	w.dial(m, sponsor)
	w.tick(m)
}

// TestAnotherProcessKnowsNothing lets a worker meet a neighbour of a ring again, as
// the process that it was or as another one.
func TestAnotherProcessKnowsNothing(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 5, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	const self, peer = 2, 3
	for process, want := range map[uint64]bool{1: true, 2: false} {
		m := elastic.NewMembership(self, g.Rows(0)[self], g.Closing(self))
		m.Up(peer, 1)
		m.Down(peer, 0)
		m.Up(peer, process)
		acts := m.Step(elastic.Moment{Grace: grace, Next: 7})
		cut := slices.ContainsFunc(acts, func(a elastic.Act) bool { return a.Kind == elastic.Cut && a.Peer == peer })
		if m.Neighbour(peer) != want || cut == want || m.Gone(peer) {
			t.Errorf("met again as process %d: neighbour %v, gone %v, %+v; want neighbour %v",
				process, m.Neighbour(peer), m.Gone(peer), acts, want)
		}
	}
}

// TestNextWorkersAreCalledOneByOne watches the calls of a worker when its neighbour and
// those beyond it do not answer.
func TestNextWorkersAreCalledOneByOne(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 16, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := elastic.NewMembership(0, g.Rows(0)[0], g.Closing(0))
	m.Up(1, 1)
	m.Up(15, 1)
	m.Down(1, 0)
	var called []topology.Rank
	for now := time.Duration(0); now < 5*grace; now += grace / 20 {
		n := len(called)
		for _, act := range m.Step(elastic.Moment{Now: now, Grace: grace, Next: 7, Waiting: []topology.Rank{1}}) {
			if act.Kind == elastic.Call {
				called = append(called, act.Peer)
			}
		}
		if len(called) > n+1 {
			t.Fatalf("after %v: called %v, %d of these at once", now, called, len(called)-n)
		}
	}
	if want := []topology.Rank{2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(called, want) {
		t.Errorf("called %v, want %v", called, want)
	}
}
