package build

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// An whole is all that a simulation computes.
type whole struct {
	Result sim.Result
	Steps  []record.Step
	Links  []record.Links
	Finals []record.Final
	Wrong  []record.Theta
}

// blur takes out what the order of frames of one instant decides, where repairs are among them: which of these frames a
// step has counted, and whose came last.
func (o *whole) blur() {
	for i := range o.Steps {
		o.Steps[i].Sent, o.Steps[i].Received = record.Bytes{}, record.Bytes{}
	}
	for i := range o.Links {
		o.Links[i].Links = nil
	}
}

// A stage says how play runs a run.
type stage struct {
	latency time.Duration
	slow    int  // speeds of workers
	events  bool // a condition that never holds needs them
	from    *held
	keep    *sim.Keeping
}

// play runs a run with or without events.
func (s stage) play(t *testing.T, set []string) whole {
	t.Helper()
	r, slow := assemble(t, set...), s.slow
	network := r.Network()
	network.Uplink.Latency = s.latency
	var o whole
	opt := sim.Options{
		Network: network, Keep: s.keep,
		Compute: func(w topology.Rank, k int) time.Duration {
			took := 20 * time.Millisecond
			if slow > 0 {
				took += time.Duration(1+(int(w)*7+k)%slow) * 1001 * time.Microsecond
			}
			return took
		},
		Observe: func(e record.Event) {
			if e.Step != nil {
				o.Steps = append(o.Steps, *e.Step)
			}
			if e.Links != nil {
				o.Links = append(o.Links, *e.Links)
			}
		},
	}
	if s.events {
		opt.Ending.Until = func(record.Step) bool { return false }
	}
	all := workers(t, r)
	if s.from != nil {
		opt.From = opened(t, s.from)
		restart(t, all, opt.From)
	}
	if !s.events {
		opt.Steady, opt.Together = slow == 0, Stacked(all)
	}
	var err error
	if o.Result, err = sim.Run(t.Context(), Tasks(all), opt); err != nil {
		t.Fatalf("%v: %v", set, err)
	}
	for i, w := range all {
		o.Finals = append(o.Finals, w.Final(record.Final{Rounds: o.Result.Rounds[i]}))
		o.Wrong = append(o.Wrong, w.Bound(o.Result.Rounds[i]))
	}
	if slices.ContainsFunc(o.Wrong, func(b record.Theta) bool { return b.Repaired > 0 }) {
		o.blur()
	}
	slices.SortStableFunc(o.Steps, func(a, b record.Step) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Rank, b.Rank))
	})
	slices.SortStableFunc(o.Links, func(a, b record.Links) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Rank, b.Rank))
	})
	return o
}

// A run without events has the models, the times, the bytes, the repairs and the records of one with events. So it is
// for all algorithms, kinds of graphs and bits, on links with and without latency, with workers of several speeds.
func TestRunsWithoutEventsAreTheSame(t *testing.T) {
	algorithms := []string{
		"{name: dpsgd, codec: full}", "{name: dpsgd}", "{name: dpsgd, bits: 4}", "{name: dpsgd, bits: 1}",
		"{name: dpsgd, order: atc}", "{name: dpsgd, theta: {rule: measured}}",
		"{name: dpsgd, theta: {rule: certified, verify: false}}", "{name: dpsgd, codec: full, clip: {radius: 0.05}}",
		"{name: d2}", "{name: d2, codec: full}", "{name: qg, bits: 4}", "{name: decentlam}", "{name: gt}",
		"{name: choco}", "{name: deepsqueeze}", "{name: dcd}", "{name: adpsgd}",
		"{name: dpsgd, local_steps: 3}", "{name: dpsgd, bits: 32}",
	}
	graphs := []string{"{kind: ring, size: 7}", "{kind: complete, size: 5}", "{kind: torus, rows: 3, cols: 4}",
		"{kind: star, size: 6}", "{kind: one-peer-exponential, size: 8}", "{kind: ring, size: 280}"}
	number := 0
	for _, graph := range graphs {
		for _, algorithm := range algorithms {
			number++
			if number%4 > 0 && (graph != graphs[0] || testing.Short()) {
				continue // a quarter of the pairs, and all on the ring
			}
			for _, latency := range []time.Duration{0, 3 * time.Millisecond, 90 * time.Millisecond} {
				set := []string{"topology=" + graph, "algorithm=" + algorithm, "model={name: quadratic, dim: 70}",
					"train={rounds: 11, step_size: 0.1, schedule: constant}", fmt.Sprintf("seed=%d", number),
					fmt.Sprintf("output={every: %d}", 1+number%3)}
				slow := number % 3
				if _, err := assembleErr(set...); err != nil || latency != 3*time.Millisecond && graph == graphs[len(graphs)-1] {
					continue // not on this graph, or like the smaller ring
				}
				want := stage{latency: latency, slow: slow, events: true}.play(t, set)
				got := stage{latency: latency, slow: slow}.play(t, set)
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Fatalf("%v, latency %v, %d speeds (-events +none):\n%s", set, latency, slow, diff)
				}
			}
		}
	}
}

// A run without events goes on from any of its states, without events, as if it had not stopped. The states that it
// takes later are the same.
func TestRunsWithoutEventsGoOn(t *testing.T) {
	for i, algorithm := range []string{
		"{name: dpsgd, codec: full}", "{name: dpsgd}", "{name: dpsgd, bits: 1}", "{name: dpsgd, bits: 4}",
		"{name: dpsgd, theta: {rule: fixed, value: 1e-4}}", "{name: dpsgd, theta: {rule: certified, verify: false}}",
		"{name: dpsgd, order: atc}", "{name: d2}", "{name: qg, bits: 4}", "{name: gt}", "{name: choco}",
		"{name: deepsqueeze}", "{name: dcd}",
	} {
		for _, graph := range []string{"{kind: ring, size: 280}", "{kind: complete, size: 5}"} {
			t.Run(algorithm+" "+graph, func(t *testing.T) {
				t.Parallel()
				set := []string{"topology=" + graph, "algorithm=" + algorithm, "model={name: quadratic, dim: 70}",
					fmt.Sprintf("train={rounds: 40, step_size: 0.1, schedule: constant, momentum: %v}", 0.9*float64(i%2))}
				if _, err := assembleErr(set...); err != nil {
					t.Skip(err)
				}
				states := map[int]*held{}
				due := func(round int) bool { return round%5 == 3 || round == 17 }
				keep := &sim.Keeping{Due: due, Begin: func(int) sim.Draft {
					return &held{take: func(at sim.Boundary, h *held) { states[at.Round] = h }}
				}}
				whole := stage{}.play(t, set)
				want := stage{keep: keep}.play(t, set)
				if diff := gocmp.Diff(whole, want); diff != "" {
					t.Fatalf("without states and with (-without +with):\n%s", diff)
				}
				if len(states) < 8 {
					t.Fatalf("%d states", len(states))
				}
				all := maps.Clone(states)
				rounds := slices.Sorted(maps.Keys(all))
				for _, k := range []int{rounds[0], rounds[4], rounds[len(rounds)-1]} {
					from := all[k]
					clear(states)
					got := stage{from: from, keep: keep}.play(t, set)
					want := want
					want.Steps = slices.DeleteFunc(slices.Clone(want.Steps), func(s record.Step) bool { return s.Round <= k })
					want.Links = slices.DeleteFunc(slices.Clone(want.Links), func(l record.Links) bool { return l.Round <= k })
					if diff := gocmp.Diff(want, got); diff != "" {
						t.Fatalf("from round %d (-want +got):\n%s", k, diff)
					}
					for later, h := range states {
						if shows(h) != shows(all[later]) {
							continue // after repairs the one is a stack again, and the other is not yet
						}
						same(t, h, all[later], fmt.Sprintf("from round %d: before round %d", k, later))
					}
				}
			})
		}
	}
}

// shows reports whether a state has the last messages of workers.
func shows(h *held) bool { return bytes.Contains(h.workers[0], []byte("machine/sent1")) }

// A stack takes the models of its workers where they begin. A copy would take as much memory once more.
func TestModelsOfAStackBeginInIt(t *testing.T) {
	for name, apart := range map[string]bool{"rows": false, "a model apart": true} {
		t.Run(name, func(t *testing.T) {
			workers, err := All(assemble(t, "model={name: quadratic, dim: 20}", "algorithm={name: dpsgd, bits: 32}"))
			if err != nil {
				t.Fatal(err)
			}
			if apart {
				if workers[1], err = workers[1].Restart(nil); err != nil {
					t.Fatal(err)
				}
			}
			machines := make([]*gossip.Worker, len(workers))
			for i, w := range workers {
				machines[i] = w.Machine.(*gossip.Worker)
			}
			want := slices.Clone(machines[1].Params())
			l, _ := gossip.NewLockstep(machines, Models(workers))
			stack, err := l.Stack()
			if err != nil || stack == nil {
				t.Fatal(stack, err)
			}
			x, _ := stack.Models()
			if same := &x.Data[0] == &Models(workers).Data[0]; same == apart {
				t.Errorf("the models have stayed: %v", same)
			}
			if !slices.Equal(x.At(1), want) || &machines[1].Params()[0] != &x.At(1)[0] {
				t.Error("the model of worker 1 is not its row")
			}
		})
	}
}
