package member

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// A renormal has rows that are normalised again after messages were left out.
type renormal struct{ view.Rows }

func (r renormal) At(x int) topology.Row {
	row := r.Rows.At(x)
	whole := r.Log.Graph(r.View).Row(0, x)
	if rank, ok := r.Log.At(r.View).Rank(r.ID); ok {
		whole = r.Log.Graph(r.View).Row(rank, x)
	}
	rest, all := 0.0, 0.0
	for _, e := range row.In {
		rest += e.Weight
	}
	for _, e := range whole.In {
		all += e.Weight
	}
	for i := range row.In {
		row.In[i].Weight *= all / rest
	}
	return row
}

// decideBy returns a decision that is changed afterwards.
func decideBy(change func(l *view.Log, c view.Close, reports []view.Report, r *view.Record)) func(*view.Log, view.Close,
	[]view.Report) (view.Record, error) {
	return func(l *view.Log, c view.Close, reports []view.Report) (view.Record, error) {
		r, err := view.Decide(l, c, reports)
		if err == nil {
			change(l, c, reports, &r)
		}
		return r, err
	}
}

// again says for each dead member which of its messages count.
func again(r *view.Record, last func(d view.Death) int) {
	for i, d := range r.Dead {
		if _, postponed := r.SponsorOf(d.ID); !postponed {
			r.Dead[i].Last = last(d)
		}
	}
	r.Lost = slices.DeleteFunc(r.Lost, func(loss view.Loss) bool {
		i := slices.IndexFunc(r.Dead, func(d view.Death) bool { return d.ID == loss.Sender })
		return i >= 0 && loss.Exchange > r.Dead[i].Last
	})
}

// mistakes are what members may do wrong.
var mistakes = map[string]struct {
	rule  string
	plant func(w *world)
	first uint64 // the seed to begin with, where most schedules do not find it
}{
	"first exchange one too small": {"dpsgd", func(w *world) {
		w.decide = decideBy(func(l *view.Log, _ view.Close, _ []view.Report, r *view.Record) {
			r.First = max(r.First-1, l.Last().First)
			again(r, func(d view.Death) int { return min(d.Last, r.First-1) })
		})
	}, 1},
	"decided by half of the reports": {"dpsgd", func(w *world) {
		w.decide = decideBy(func(l *view.Log, _ view.Close, reports []view.Report, r *view.Record) {
			r.First = l.Last().First
			for _, report := range reports[:(len(reports)+1)/2] {
				r.First = max(r.First, report.Promise)
			}
			again(r, func(d view.Death) int { return max(min(d.Last, r.First-1), l.Begins(d.ID)-1) })
		})
	}, 1},
	"frames of the fence are taken": {"dpsgd", func(w *world) { w.taken = true }, 1},
	"the last message does not count for all": {"dpsgd", func(w *world) {
		w.decide = decideBy(func(l *view.Log, _ view.Close, _ []view.Report, r *view.Record) {
			again(r, func(d view.Death) int { return max(d.Last-1, l.Begins(d.ID)-1) })
		})
	}, 1},
	"what others rest on is forgotten": {"dpsgd", func(w *world) {
		w.decide = decideBy(func(l *view.Log, _ view.Close, reports []view.Report, r *view.Record) {
			again(r, func(d view.Death) int {
				last := l.Begins(d.ID) - 1
				for _, report := range reports {
					for _, h := range report.Held {
						if h.ID == d.ID {
							for _, x := range h.Exchanges {
								if x < r.First {
									last = max(last, x)
								}
							}
						}
					}
				}
				return last
			})
		})
	}, 1},
	"rows are normalised again": {"dpsgd", func(w *world) {
		w.build.broken = func(p *retrace.Place) { p.Rows = renormal{p.Rows.(view.Rows)} }
	}, 1},
	"noise by rank": {"moniqua", func(w *world) {
		w.build.noise = func(p retrace.Place) ID { return ID(p.Rank) }
	}, 1},
	"no restart at one member": {"d2", func(w *world) {
		w.build.broken = func(p *retrace.Place) { p.Restart = p.Restart && p.ID != 0 }
	}, 1},
	"no restart": {"gt", func(w *world) {
		w.build.broken = func(p *retrace.Place) { p.Restart = false }
	}, 1},
	"an older state": {"dpsgd", func(w *world) {
		w.build.begin = func(p retrace.Place, m *gossip.Worker) {
			sponsor, ok := p.Log.Admitted(p.ID, p.View)
			if old := w.build.models[p.Round-1][sponsor]; ok && p.Clone && old != nil {
				copy(m.Params(), old)
			}
		}
	}, 1},
	"each goes on with its own theta": {"adaptive", func(w *world) { w.build.alone = true }, 800},
	"each goes on with its own bits":  {"bits", func(w *world) { w.build.alone = true }, 900},
	"no answer after the own view":    {"adaptive", func(w *world) { w.forgets = true }, 1},
	"what is torn is not reported":    {"adaptive", func(w *world) { w.torn = true }, 1},
	"leavers do not serve":            {"dpsgd", func(w *world) { w.early = true }, 1100},
	"shards by id": {"dpsgd", func(w *world) {
		w.build.broken = func(p *retrace.Place) { p.Rank = int(p.ID) }
	}, 1},
}

// Each mistake makes a run that differs from the replay of its log, or that stalls.
func TestMistakesAreCaught(t *testing.T) {
	const tries = 400 // a stall of leavers is rare
	for name, mistake := range mistakes {
		caught := uint64(0)
		for seed := mistake.first; seed < mistake.first+tries && caught == 0; seed++ {
			s := settingOf(seed)
			if s.rule = mistake.rule; s.rule == "d2" {
				s.kind = kinds[seed%2]
			}
			w := newWorld(s)
			mistake.plant(w)
			err := w.Run()
			if err == nil {
				err = checkWorld(w)
			}
			if err != nil {
				caught = seed
			}
		}
		if caught == 0 {
			t.Errorf("%s: %d schedules do not find it", name, tries)
			continue
		}
		t.Logf("%s: caught by seed %d", name, caught)
	}
}

// With two members the older one decides alone: whatever the guest does, the trainer goes on.
func TestAGuestStopsNoTrainer(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(setting{kind: topology.Ring, rule: "dpsgd", n: 2, every: 1, seed: seed})
		w.At(w.Between(0, grace), nil, func() { w.Kill(w.Actor(1)) })
		w.At(w.Between(2*grace, 3*grace), nil, w.Join)
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		if at := w.Actor(0).M.Standing(); at != Finished {
			t.Errorf("seed %d: the trainer stands at %v", seed, at)
		}
		if err := checkWorld(w); err != nil {
			t.Error(err)
		}
	}
}

// One that waits for another member goes on when the next view has enough: the view before it is short, too.
func TestFewWaitForANewcomer(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(setting{kind: topology.Ring, rule: "dpsgd", n: 2, every: 1, seed: seed, margin: int(seed % 3)})
		w.fewest = 2
		w.At(w.Between(0, grace), nil, func() { w.Kill(w.Actor(1)) })
		w.At(5*grace, nil, func() {
			if at, n := w.Actor(0).M.Standing(), len(w.Actor(0).M.log.Last().Members); at == Finished || n != 1 {
				t.Errorf("seed %d: %d members, and the first stands at %v: want one that waits", seed, n, at)
			}
			w.Join()
		})
		if err := w.Run(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, describe(w))
		}
		if err := checkWorld(w); err != nil {
			t.Error(err)
		}
	}
}

// A part without a majority waits, also one with the leader. Its members come back when the network heals.
func TestAMinorityWaits(t *testing.T) {
	for name, leads := range map[string]bool{"with the leader": true, "without the leader": false} {
		t.Run(name, func(t *testing.T) { apartFor5Graces(t, leads) })
	}
}

func apartFor5Graces(t *testing.T, leads bool) {
	w := newWorld(setting{kind: topology.Ring, rule: "gt", n: 8, every: 1, seed: 3})
	w.At(grace*3/4, nil, func() {
		first, found := w.Actor(0).M.Council().Leader()
		if !found {
			t.Fatal("no leader is elected")
		}
		if !leads {
			first++
		}
		minority := map[ID]bool{first % 8: true, (first + 1) % 8: true, (first + 2) % 8: true}
		w.Apart = func(a, b ID) bool { return minority[a] != minority[b] }
		w.At(5*grace, nil, func() {
			for id := range ID(8) {
				if v := w.Actor(id).M.log.Len(); minority[id] && v != 1 {
					t.Errorf("member %d of the minority has %d views", id, v)
				}
				if minority[id] && !w.Actor(id).M.Council().Waits() {
					t.Errorf("member %d of the minority does not say that it waits", id)
				}
			}
			w.Apart = nil
		})
	})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if err := checkWorld(w); err != nil {
		t.Error(err)
	}
	for id := range ID(8) {
		if w.Actor(id).M.log.Len() > 1 && w.Counts["excluded"] == 3 {
			return
		}
	}
	t.Errorf("%d come back as newcomers; want 3", w.Counts["excluded"])
}

// Where no part has a majority all wait, and all go on in the same view when the network heals.
func TestThreePartsWait(t *testing.T) {
	w := newWorld(setting{kind: topology.Ring, rule: "dpsgd", n: 6, every: 1, seed: 4})
	w.At(grace/4, nil, func() {
		w.Apart = func(a, b ID) bool { return a/2 != b/2 }
		w.At(5*grace, nil, func() { w.Apart = nil })
	})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if err := checkWorld(w); err != nil {
		t.Error(err)
	}
	if n := w.Actor(0).M.log.Len(); n != 1 || w.Counts["excluded"] > 0 {
		t.Errorf("%d views and %d taken for dead, want 1 and 0", n, w.Counts["excluded"])
	}
}

// Messages of exchanges that no member can have reached take no room.
func TestFarMessagesTakeNoRoom(t *testing.T) {
	w := newWorld(setting{kind: topology.Ring, rule: "gt", n: 4, every: 1, seed: 2, margin: 2})
	before, kept := -1, -1
	w.At(w.Between(100*time.Millisecond, 200*time.Millisecond), nil, func() {
		m := w.Actor(0).M
		before = len(m.store.got)
		for x := range 1000 {
			far := &gossip.Frame{From: 1, Kind: gossip.Data, Round: 200 + x, Payload: make([]byte, 8)}
			if err := m.Receive(1, Letter{View: m.log.Len() - 1, Frame: far}); err != nil {
				t.Error(err)
			}
		}
		kept = len(m.store.got)
	})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if before < 0 || kept != before {
		t.Errorf("%d messages were kept before, %d after those of far exchanges", before, kept)
	}
}

// A newcomer has done no round before it has begun one, also where its sponsor is gone and no state comes.
func TestANewcomerHasDoneNoRoundBeforeItsFirst(t *testing.T) {
	w := newWorld(setting{kind: topology.Ring, rule: "gt", n: 4, every: 1, seed: 2, margin: 2})
	waits := 0
	drain := w.Hooks.Drain
	w.Hooks.Drain = func(a *actor) {
		drain(a)
		joins := a.ID >= 4 && a.M.log != nil && a.M.Standing() == Joining
		if _, at := a.M.Next(); joins && at > 0 {
			if waits++; Done(a.M) != 0 {
				t.Errorf("member %d waits for its first exchange, %d, and says that it has done %d", a.ID, at, Done(a.M))
			}
		}
	}
	w.At(w.Between(100*time.Millisecond, 200*time.Millisecond), nil, w.Join)
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if waits == 0 {
		t.Error("no newcomer has waited")
	}
}
