package work

import (
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// A worker computes for 10 ms, waits for 1 and 2 until 14 ms, and for 2 alone until 20 ms.
func waited(a *Account, from time.Duration) {
	at := func(ms int) time.Duration { return from + time.Duration(ms)*time.Millisecond }
	a.Lack(nil, at(0))
	a.Lack([]topology.Rank{1, 2}, at(10))
	a.Came(1, at(14))
	a.Lack([]topology.Rank{2}, at(14))
	a.Came(1, at(16)) // a frame of the next round
	a.Came(2, at(20))
	a.Lack(nil, at(20))
	a.Finish(record.Spent{Compute: 10 * time.Millisecond, Wait: 10 * time.Millisecond})
}

func TestAnAccountNamesTheLastNeighbour(t *testing.T) {
	a := NewAccount()
	for round := range 3 {
		waited(a, time.Duration(round)*20*time.Millisecond)
	}
	a.Finish(record.Spent{}) // a round that did not wait
	if a.Rounds != 4 || a.Spent.Wait != 30*time.Millisecond {
		t.Errorf("%d rounds, %v of waiting", a.Rounds, a.Spent.Wait)
	}
	one, two := a.Link(1), a.Link(2)
	if one.Last != 0 || one.Alone != 0 || two.Last != 3 || two.Alone != 18*time.Millisecond {
		t.Errorf("links %+v", a.Links)
	}
	if n := testing.AllocsPerRun(100, func() { waited(a, a.Since) }); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
	var none *Account
	waited(none, 0)
	none.Spend(record.Spent{})
	if none.Due(&record.Step{Round: 1}, 1) {
		t.Error("no account is due")
	}
}

// machine has no repairs.
type machine struct{ gossip.Machine }

func TestReportsTellLimitsAndComeNowAndThen(t *testing.T) {
	a, task := NewAccount(), Task{Rank: 1, Machine: machine{}}
	waited(a, 0)
	around := Surroundings{Processor: func() time.Duration { return time.Second }, Network: shape.Network{
		Uplink: shape.Link{Rate: 5e6}, Links: map[[2]topology.Rank]shape.Link{{1, 2}: {Rate: 1e6}}}}
	step := record.Step{Round: 20, Time: time.Second / 2, Messages: record.Messages{Count: 40}}
	if !a.Due(&step, 1000) {
		t.Error("no report after a fiftieth of the rounds")
	}
	l := task.Report(a, &step, &around)
	if l.Rank != 1 || l.Uplink != 5e6 || l.Spent.CPU != time.Second || l.Messages.Count != 40 || len(l.Links) != 1 ||
		l.Links[0].Limit != 1e6 {
		t.Errorf("report %+v", l)
	}
	for _, test := range []struct {
		round int
		at    time.Duration
		want  bool
	}{{30, time.Second, false}, {40, time.Second, true}, {30, 2 * time.Second, true}, {1000, time.Second, true}} {
		if got := a.Due(&record.Step{Round: test.round, Time: test.at}, 1000); got != test.want {
			t.Errorf("round %d at %v: %v", test.round, test.at, got)
		}
	}
}
