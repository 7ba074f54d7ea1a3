package view

import (
	"strings"
	"testing"

	"gossiptrainer/topology"
)

// A record ends the run before its first exchange. Later records only say who has died since.
func TestARecordEndsTheRun(t *testing.T) {
	log, err := New(topology.Spec{Kind: topology.Ring, Slack: 1}, Record{Members: []Member{{ID: 0}, {ID: 1}, {ID: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if rounds := Rounds(log, 90, 4); rounds != 90 {
		t.Errorf("%d rounds before the end is known, want those of the plan", rounds)
	}
	r, err := Decide(log, Close{End: true, Margin: 1}, []Report{{ID: 0, Promise: 6, Next: 5}, {ID: 1, Promise: 7, Next: 7,
		State: true}, {ID: 2, Promise: 6, Next: 6}})
	if err != nil || !r.End || r.First != 7 || len(r.Members) != 3 {
		t.Fatalf("%+v, error %v", r, err)
	}
	if err := log.Add(r); err != nil {
		t.Fatal(err)
	}
	for plan, want := range map[int]int{90: 28, 20: 20} {
		if got := Rounds(log, plan, 4); got != want {
			t.Errorf("%d of %d rounds, want %d", got, plan, want)
		}
	}
	two := []Member{{ID: 0}, {ID: 1}}
	for want, r := range map[string]Record{
		"first: 8: must be 7, where the run ends":    {View: 2, First: 8, Members: two, Dead: []Death{{ID: 2, Last: 6}}},
		"end: the run ends at exchange 7 already":    {View: 2, First: 7, End: true, Members: r.Members},
		"end: true: the founders cannot end the run": {},
		"dead: id 2: last 7: must be -1 to 6":        {View: 2, First: 7, Members: two, Dead: []Death{{ID: 2, Last: 7}}},
	} {
		to := log
		if r.View == 0 {
			r.Members, r.End, to = two, true, &Log{}
		}
		if err := to.Add(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", r, err, want)
		}
	}
	if err := log.Add(Record{View: 2, First: 7, Members: two, Dead: []Death{{ID: 2, Last: 6}}}); err != nil {
		t.Error(err)
	}
	if x, ended := End(log); x != 7 || !ended {
		t.Errorf("the run ends at exchange %d, %v", x, ended)
	}
}
