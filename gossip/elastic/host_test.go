package elastic_test

import (
	"testing"
	"time"

	"gossiptrainer/gossip/elastic"
	"gossiptrainer/topology"
)

// TestAPlaceIsNextToTheWorker lets worker 0 of a ring of seven lose 1. Workers 2 and 3 do not answer either, so worker
// 0 closes the gap with 4. Then others ask it for a place.
func TestAPlaceIsNextToTheWorker(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 7, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed := func() *elastic.Membership {
		m := elastic.NewMembership(0, g.Rows(0)[0], g.Closing(0))
		m.Up(1, 1)
		m.Up(6, 1)
		if m.Host(2, 5, 7, 0) {
			t.Error("a place beyond a neighbour that is there")
		}
		m.Down(1, 0)
		m.Up(4, 1)
		m.Heard(4, elastic.Want, 7)
		for now := time.Duration(0); now < 2*grace; now += grace / 20 {
			m.Step(elastic.Moment{Now: now, Grace: grace, Next: 7, Waiting: []topology.Rank{1}})
		}
		if !m.Neighbour(4) || !m.Gone(1) {
			t.Fatal("the gap is not closed")
		}
		return m
	}
	for rank, want := range map[topology.Rank]bool{1: true, 2: true, 3: true, 4: false, 5: false, 6: false} {
		m := closed()
		if got := m.Host(rank, 5, 20, 3*grace); got != want || want && !m.Neighbour(rank) {
			t.Errorf("a place for %d: %v, want %v", rank, got, want)
		}
	}
	m := closed()
	if !m.Host(1, 5, 20, 3*grace) || m.Host(2, 5, 20, 3*grace) {
		t.Error("want a place for the nearest, and none beyond it")
	}
}
