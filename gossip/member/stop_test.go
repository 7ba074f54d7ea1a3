package member

import (
	"strings"
	"testing"
	"time"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// A run that members stop ends for all at one exchange, whatever else happens, and its log replays.
func TestMembersStopTheRun(t *testing.T) {
	ended, faults := 0, map[string]int{}
	for i := range uint64(max(60, *schedules/2)) {
		w := newWorld(settingOf(*firstSeed + 1000 + i))
		w.faults = int(i % 9)
		for range 1 + i%2 {
			w.at(w.between(0, 1500*time.Millisecond), nil, func() {
				if all := w.alive(); len(all) > 0 {
					council.Stop(all[w.draw.IntN(len(all))].m.Council())
				}
			})
		}
		if err := w.run(); err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		if err := checkWorld(w); err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		for what, n := range w.counts {
			faults[what] += n
		}
		for _, a := range w.alive() {
			x, stops := view.End(a.m.log)
			if a.m.Standing() != Finished || !stops {
				continue
			}
			ended++
			if round := a.m.Worker().Machine(); x > rounds || roundsOf(a.m) != min(x, rounds)*w.every || round == nil {
				t.Errorf("%v: member %d has done %d rounds, and the run ends at exchange %d", w.setting, a.id, roundsOf(a.m), x)
			}
		}
	}
	if t.Logf("%d members ended by a stop, among %v", ended, faults); ended < 100 {
		t.Errorf("%d members ended by a stop: want more", ended)
	}
}

// The record says who has stopped the run, and those that would join are not taken any more.
func TestARecordSaysWhoStops(t *testing.T) {
	w := newWorld(setting{kind: topology.Ring, rule: "gt", n: 4, every: 1, seed: 2, margin: 2})
	shut := 0
	var look func()
	look = func() {
		m := w.actor(0).m
		if _, at := m.Next(); m.log.Last().End && at < exchanges(m) {
			if shut++; !m.Late() {
				t.Errorf("the door is open after view %d, which ends the run", m.log.Last().View)
			}
		}
		w.at(time.Millisecond, nil, look)
	}
	w.at(grace/8, nil, func() {
		council.Stop(w.actor(2).m.Council())
		look()
	})
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	last := w.actor(0).m.log.Last()
	if shut == 0 || !last.End || !strings.Contains(last.Why, "member 2 stops the run") || last.First >= rounds {
		t.Errorf("the last record: %+v", *last)
	}
	if err := checkWorld(w); err != nil {
		t.Error(err)
	}
}
