package member

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gossiptrainer/gossip/view"
)

// An evening is what a crew leaves that is switched off in the midst of a random schedule.
type evening struct {
	kept Kept
	id   ID
	log  *view.Log // that the member had at its end
}

// switchedOff runs a schedule until a member has kept its state, and a while more. It returns nil if none could.
func switchedOff(w *world) (*evening, error) {
	var e *evening
	off := false
	w.Hooks.Over = func() bool { return off || w.over() }
	drain := w.Hooks.Drain
	id, wanted := ID(w.Draw.IntN(w.n+2)), false
	w.Hooks.Drain = func(a *actor) {
		drain(a)
		if e != nil || !wanted || a.ID != id {
			return
		}
		if kept, ok := Keep(a.M); ok {
			e = &evening{kept: kept, id: id}
			w.At(w.Between(0, 200*time.Millisecond), nil, func() { off = true })
		}
		drain(a)
	}
	w.At(w.Between(50*time.Millisecond, 1200*time.Millisecond), nil, func() { wanted = true })
	err := w.Run()
	if a := w.Actor(id); e != nil && a != nil {
		e.log = a.M.log
	}
	return e, err
}

// A member that has kept its state goes on alone, whatever happened before, and others join it. All that it does, and
// all that its state rests on, is in the log of the new lineage, which replays.
func TestACrewGoesOnFromOneMember(t *testing.T) {
	resumed, ahead, joined := 0, 0, 0
	for i := range uint64(max(150, *schedules)) {
		w := newWorld(settingOf(*firstSeed + 4000 + i))
		e, err := switchedOff(w)
		if err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		if e == nil || e.kept.Exchange >= rounds {
			continue
		}
		log, err := view.Resume(e.log, e.kept.Report, 77)
		if err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		again := newWorld(w.setting)
		again.N, again.First, again.Faults = 1, e.id, int(i%4)
		again.Hooks.Found = func(id ID, _ *view.Log) (*Member, error) {
			return Resume(again.options(id), log, e.kept.State)
		}
		for k, models := range w.build.models { // rounds of the member before its state
			if x, there := models[e.id]; there && k < e.kept.Exchange*w.every {
				again.build.note(k, e.id, x)
			}
		}
		if err := again.Run(); err != nil {
			t.Fatalf("member %d from exchange %d: %v\n%s\n%s", e.id, e.kept.Exchange, err, describe(w), describe(again))
		}
		if err := checkWorld(again); err != nil {
			t.Fatalf("member %d from exchange %d: %v\n%s\n%s", e.id, e.kept.Exchange, err, describe(w), describe(again))
		}
		resumed++
		joined += again.Counts["join"]
		if e.log.Len() > 1 {
			ahead++
		}
	}
	t.Logf("%d crews went on, %d of them after changes, with %d joins", resumed, ahead, joined)
	if resumed < 60 || ahead < 20 {
		t.Errorf("%d crews went on, %d of them after changes: want more", resumed, ahead)
	}
}

// The record of a resumed run says who is gone, and the parent of its lineage.
func TestALogThatIsResumed(t *testing.T) {
	s := setting{kind: "ring", rule: "dpsgd", n: 5, every: 1, seed: 3}
	first := view.Record{Members: []view.Member{{ID: 0}, {ID: 1, Name: "attic"}, {ID: 2}, {ID: 3}, {ID: 4}}, Lineage: 5}
	log, err := view.New(s.base(), first)
	if err != nil {
		t.Fatal(err)
	}
	end := first
	end.View, end.First, end.End = 1, 9, true
	if err := log.Add(end); err != nil {
		t.Fatal(err)
	}
	resumed, err := view.Resume(log, view.Report{ID: 1, Promise: 9, Next: 9, State: true,
		Held: []view.Held{{ID: 0, Exchanges: []int{8}}, {ID: 2, Exchanges: []int{8}}}}, 6)
	if err != nil {
		t.Fatal(err)
	}
	r := resumed.Last()
	got := fmt.Sprint(r.View, r.First, r.IDs(), r.Dead, r.Lineage, *resumed.At(0).Parent, " ", r.Why)
	if want := "2 9 [1] [{0 8} {2 8} {3 7} {4 7}] 6 5/1 machine attic resumes the run"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, ended := view.End(resumed); ended {
		t.Error("the resumed run has ended")
	}
	for _, k := range []view.Report{{ID: 1}, {ID: 7, Next: 3}} {
		if _, err := view.Resume(log, k, 6); err == nil || !strings.Contains(err.Error(), "has done no exchange before") {
			t.Errorf("%+v: error %v", k, err)
		}
	}
}
