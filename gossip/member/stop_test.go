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
		w.Faults = int(i % 9)
		for range 1 + i%2 {
			w.At(w.Between(0, 1500*time.Millisecond), nil, func() {
				if all := w.Alive(); len(all) > 0 {
					council.Stop(all[w.Draw.IntN(len(all))].M.Council())
				}
			})
		}
		if err := w.Run(); err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		if err := checkWorld(w); err != nil {
			t.Fatalf("%v\n%s", err, describe(w))
		}
		for what, n := range w.Counts {
			faults[what] += n
		}
		for _, a := range w.Alive() {
			x, stops := view.End(a.M.log)
			if a.M.Standing() != Finished || !stops {
				continue
			}
			ended++
			if round := a.M.Worker().Machine(); x > rounds || roundsOf(a.M) != min(x, rounds)*w.every || round == nil {
				t.Errorf("%v: member %d has done %d rounds, and the run ends at exchange %d", w.setting, a.ID, roundsOf(a.M), x)
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
		m := w.Actor(0).M
		if _, at := m.Next(); m.log.Last().End && at < exchanges(m) {
			if shut++; !m.Late() {
				t.Errorf("the door is open after view %d, which ends the run", m.log.Last().View)
			}
		}
		w.At(time.Millisecond, nil, look)
	}
	w.At(grace/8, nil, func() {
		council.Stop(w.Actor(2).M.Council())
		look()
	})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	last := w.Actor(0).M.log.Last()
	if shut == 0 || !last.End || !strings.Contains(last.Why, "member 2 stops the run") || last.First >= rounds {
		t.Errorf("the last record: %+v", *last)
	}
	if err := checkWorld(w); err != nil {
		t.Error(err)
	}
}
