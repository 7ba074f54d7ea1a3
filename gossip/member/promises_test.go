package member

import (
	"math"
	"testing"
)

// In every exchange of random schedules the rows of those that count are of one doubly stochastic matrix. Two cases are
// excepted, and counted: lost messages, and directed graphs with a member left out.
func TestRowsAreDoublyStochastic(t *testing.T) {
	exchanges, cut, excepted := 0, 0, 0
	for seed := uint64(1); seed <= 120; seed++ {
		w := newWorld(settingOf(seed))
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		log, err := w.Longest()
		if err != nil {
			t.Fatal(err)
		}
		for x := range rounds {
			exchanges++
			columns, left, lost := map[ID]float64{}, false, false
			for _, id := range log.At(log.Force(x)).IDs() {
				if log.Off(id, x) {
					left = true
					continue
				}
				row := log.Row(id, x)
				sum := row.Self
				columns[id] += row.Self
				for _, e := range row.In {
					sum += e.Weight
					columns[e.Peer] += e.Weight
				}
				if math.Abs(sum-1) > 1e-6 {
					t.Fatalf("%v: exchange %d: the weights of member %d have the sum %v", w.setting, x, id, sum)
				}
			}
			for v := range log.Len() {
				for _, l := range log.At(v).Lost {
					lost = lost || l.Exchange == x
				}
			}
			if left {
				cut++
			}
			for id, sum := range columns {
				switch off := math.Abs(sum-1) > 1e-6; {
				case off && (lost || left && !w.base().Kind.Static()):
					excepted++
				case off:
					t.Fatalf("%v: exchange %d: member %d counts %v in all, want 1", w.setting, x, id, sum)
				}
			}
		}
	}
	if cut < 20 || excepted == 0 {
		t.Errorf("%d of %d exchanges leave out a member, %d sums are excepted: the schedules say nothing", cut, exchanges,
			excepted)
	}
}

// Where no member dies all that members have begun is used: no message is lost, and none is left out.
func TestJoinsAndLeavesLoseNothing(t *testing.T) {
	for seed := range uint64(12) {
		w := newWorld(setting{kind: kinds[seed%4], rule: "dpsgd", n: 4, every: 1, margin: 6, seed: seed})
		w.At(grace/4, nil, w.Join)
		w.At(grace/2, nil, func() {
			w.Actor(2).Leaving = true
			w.Actor(2).M.Leave()
		})
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		if err := checkWorld(w); err != nil {
			t.Error(err)
		}
		log := w.Actor(0).M.log
		for v := 1; v < log.Len(); v++ {
			if r := log.At(v); len(r.Dead)+len(r.Lost) > 0 {
				t.Errorf("seed %d: view %d has deaths %v and lost messages %v, though nobody died", seed, v, r.Dead, r.Lost)
			}
		}
		if log.Len() < 2 {
			t.Errorf("seed %d: %d views", seed, log.Len())
		}
	}
}
