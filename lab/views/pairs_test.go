package views

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
)

// Members of AD-PSGD come and go in the simulator, which makes the same run from the same settings.
func TestPairsComeAndGo(t *testing.T) {
	script := "faults.script=[{at: 10, join: 2}, {at: 20, leave: 1}, {at: 30, die: 3}]"
	for _, set := range [][]string{
		{"algorithm.codec=full", "topology.kind=ring"},
		{"algorithm.codec=full", "topology={kind: torus, rows: 1, cols: 5}"},
		{"algorithm.codec=moniqua", "algorithm.theta={rule: adaptive}", "topology.kind=complete"},
		{"algorithm.codec=moniqua", "algorithm.theta={rule: measured}", "topology.kind=star"},
	} {
		run := assemble(t, append(set, "algorithm.name=adpsgd", "membership.grace=1s", script)...)
		o, file := simulate(t, run, Happening{})
		r := o.Log.Last()
		if got := fmt.Sprint(r.IDs(), o.IDs); got != "[0 2 4 5 6] [0 2 4 5 6]" || len(o.Pending)+len(o.Absent) > 0 {
			t.Errorf("%v: members, and members at the end: %s; %d faults pending", set, got, len(o.Pending))
		}
		_, finals, err := o.Finals()
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for _, f := range finals {
			steps += f.Rounds
			if first := finals[0].Loss; !(math.Abs(f.Loss-first) < first/100) || f.Rounds == 0 { // each has the model of all
				t.Errorf("%v: member %d: loss %v after %d steps", set, o.IDs[f.Rank], f.Loss, f.Rounds)
			}
		}
		if most := 60 * len(finals); steps > most+most/10 {
			t.Errorf("%v: %d steps, want about %d at most", set, steps, most)
		}
		if again, _ := simulate(t, run, Happening{}); again.Digest() != o.Digest() {
			t.Errorf("%v: the same run has another digest", set)
		}
		if _, err := Replay(run, file); err == nil || !strings.Contains(err.Error(), "no log of views replays it") {
			t.Errorf("%v: replay: %v", set, err)
		}
		if err := experiment.CheckMember(run); err != nil {
			t.Errorf("%v: on a network: %v", set, err)
		}
		for v := range o.Log.Len() {
			if o.Log.At(v).First != 0 {
				t.Errorf("%v: view %d begins with exchange %d: it must hold at once", set, v, o.Log.At(v).First)
			}
		}
	}
}

// The members of a side without a majority take no step: all go on when they hear each other, and no view is made.
func TestPairsWaitForAMajority(t *testing.T) {
	run := assemble(t, "algorithm.name=adpsgd", "topology.kind=complete", "membership.grace=5s",
		"faults.script=[{at: 10, partition: [[0, 1], [2, 3], [4]], for: 3s}]")
	waited := map[view.ID]bool{}
	o, _ := simulate(t, run, Happening{Waits: func(id view.ID, waits bool) { waited[id] = waited[id] || waits }})
	if o.Log.Len() != 1 || len(o.IDs) != 5 || len(waited) == 0 || o.Time.Seconds() < 3 {
		t.Errorf("%d views, %d members at the end, %d have waited, %v", o.Log.Len(), len(o.IDs), len(waited), o.Time)
	}
}
