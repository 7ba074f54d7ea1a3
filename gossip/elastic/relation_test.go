package elastic_test

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/gossip/elastic"
	"gossiptrainer/topology"
)

// ringOf7 returns the membership of worker 0 in a ring of seven, whose two neighbours
// have been met.
func ringOf7(t *testing.T) *elastic.Membership {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 7, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := elastic.NewMembership(0, g.Rows(0)[0], g.Closing(0))
	m.Up(1, 1)
	m.Up(6, 1)
	return m
}

// says lists the words to a worker among some acts.
func says(acts []elastic.Act, peer topology.Rank) (verbs []elastic.Verb) {
	for _, a := range acts {
		if a.Kind == elastic.Tell && a.Peer == peer {
			verbs = append(verbs, a.Verb)
		}
	}
	return verbs
}

// TestALostProcessStaysLost lets worker 0 lose 1, close the gap with 2 and part with 2,
// so that it looks for a neighbour again. Then a link to 1 comes up which was agreed on
// before 1 was lost: the process gets no new edge. Another process in its place does.
func TestALostProcessStaysLost(t *testing.T) {
	m := ringOf7(t)
	m.Down(1, 0)
	m.Up(2, 1)
	m.Heard(2, elastic.Want, 7)
	var now time.Duration
	for ; now < 2*grace; now += grace / 20 {
		m.Step(elastic.Moment{Now: now, Grace: grace, Next: 7, Waiting: []topology.Rank{1}})
	}
	if !m.Neighbour(2) || !m.Gone(1) {
		t.Fatalf("neighbour 2: %v, gone 1: %v; want an edge to 2, and 1 lost", m.Neighbour(2), m.Gone(1))
	}
	m.Up(1, 1)
	m.Heard(1, elastic.Want, 10)
	m.Heard(2, elastic.Part, 9)
	acts := m.Step(elastic.Moment{Now: now, Grace: grace, Next: 10})
	if said := says(acts, 1); len(said) > 0 || m.Neighbour(1) || !m.Gone(1) {
		t.Errorf("said %v to a lost process, neighbour %v, gone %v", said, m.Neighbour(1), m.Gone(1))
	}
	if said := says(acts, 2); !slices.Equal(said, []elastic.Verb{elastic.Want}) {
		t.Errorf("said %v to the worker beyond it, want Want", said)
	}
	m.Down(1, now)
	m.Up(1, 2)
	m.Heard(1, elastic.Want, 10)
	m.Step(elastic.Moment{Now: now, Grace: grace, Next: 10})
	if !m.Neighbour(1) || m.Gone(1) {
		t.Errorf("another process: neighbour %v, gone %v; want an edge", m.Neighbour(1), m.Gone(1))
	}
}

// TestASponsoredWorkerWantsAnotherEdge lets worker 0 sponsor 1. Want says that another
// worker is its sponsor, but not once the two have agreed to part.
func TestASponsoredWorkerWantsAnotherEdge(t *testing.T) {
	for name, parts := range map[string]bool{"lasting": false, "parting": true} {
		m := ringOf7(t)
		m.Down(1, 0)
		m.Step(elastic.Moment{Now: 4 * grace, Grace: grace, Next: 7, Waiting: []topology.Rank{1}})
		if !m.Host(1, 5, 9, 4*grace) {
			t.Fatal("no place for the lost worker")
		}
		m.Up(1, 5)
		if parts {
			m.Heard(1, elastic.Part, 20)
		}
		m.Heard(1, elastic.Want, 20)
		acts := m.Step(elastic.Moment{Now: 4 * grace, Grace: grace, Next: 19})
		cut := slices.ContainsFunc(acts, func(a elastic.Act) bool { return a.Kind == elastic.Cut })
		if cut == parts {
			t.Errorf("%s: edge taken off: %v", name, cut)
		}
		m.Step(elastic.Moment{Now: 4 * grace, Grace: grace, Next: 21})
		if !m.Neighbour(1) {
			t.Errorf("%s: no new edge", name)
		}
	}
}

// TestASponsorIsExpectedFromTheBeginning lets a worker come back late in a run: its
// sponsor has three graces from then on to meet it.
func TestASponsorIsExpectedFromTheBeginning(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 7, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	const start = 100 * grace
	m := elastic.NewGuest(1, 0, g.Closing(1), elastic.Seat{From: 9})
	m.Begin(start)
	for _, late := range []time.Duration{0, 2 * grace, 4 * grace} {
		m.Step(elastic.Moment{Now: start + late, Grace: grace, Next: 10, Waiting: []topology.Rank{0}})
		if got, want := m.Neighbour(0), late < 3*grace; got != want {
			t.Errorf("%v after it came back: neighbour %v, want %v", late, got, want)
		}
	}
}
