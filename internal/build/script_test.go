package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

func TestScriptIsPlayedAsTheRunFileSays(t *testing.T) {
	l, err := configs.Load(configs.Source{Set: []string{`faults.script=[
		{at: 40, kill: 3},
		{at: 2s, kill: 4, for: 5s},
		{at: 2s, cut: [0, 1], for: 5s},
		{at: 1.5s, hang: 2, for: 20s},
		{at: 0, slow: 0, by: 4, for: 1m},
		{at: 7, partition: [[0, 1], [2, 3]], for: 3s},
		{at: 9, rate: 100kbit, of: 5}]`}})
	if err != nil {
		t.Fatal(err)
	}
	one := func(rank int) []topology.Rank { return []topology.Rank{topology.Rank(rank)} }
	round := func(k int) fault.Moment { return fault.Moment{Round: k} }
	timed := func(t time.Duration) fault.Moment { return fault.Moment{Timed: true, Time: t} }
	want := []fault.Fault{
		{At: round(40), Kind: fault.Kill, Peers: one(3)},
		{At: timed(2 * time.Second), Kind: fault.Kill, Peers: one(4), Lasts: 5 * time.Second},
		{At: timed(2 * time.Second), Kind: fault.Cut, Peers: []topology.Rank{0, 1}, Lasts: 5 * time.Second},
		{At: timed(1500 * time.Millisecond), Kind: fault.Hang, Peers: one(2), Lasts: 20 * time.Second},
		{At: round(0), Kind: fault.Slow, Peers: one(0), By: 4, Lasts: time.Minute},
		{At: round(7), Kind: fault.Split, Sides: [][]topology.Rank{{0, 1}, {2, 3}}, Lasts: 3 * time.Second},
		{At: round(9), Kind: fault.Rate, Peers: one(5), Bits: 1e5, Lasts: fault.Never},
	}
	if diff := cmp.Diff(want, experiment.Script(l.Config)); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
}
