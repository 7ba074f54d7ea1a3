package sim

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// A run needs events only where the queue has something to decide.
func TestWhatNeedsEvents(t *testing.T) {
	observe := func(record.Event) {}
	for name, test := range map[string]struct {
		order algos.Order
		n     int
		opt   Options
		needs bool
	}{
		"plain":                      {algos.CTA, 5, Options{Compute: takes(1), Observe: observe}, false},
		"after the gradient":         {algos.ATC, 5, Options{Compute: takes(1)}, false},
		"accounts":                   {algos.ATC, 5, Options{Compute: takes(1), Observe: observe}, true},
		"a latency above a gradient": {algos.CTA, 5, Options{Compute: takes(1), Observe: observe, Network: late(2)}, true},
		"many workers":               {algos.CTA, 300, Options{Compute: takes(1), Observe: observe, Network: late(2)}, false},
		"no time for gradients":      {algos.CTA, 5, Options{Compute: takes(0)}, true},
		"an end":                     {algos.CTA, 5, Options{Compute: takes(1), Ending: Ending{Time: 3}}, true},
		"a rate": {algos.CTA, 5, Options{Compute: takes(1),
			Network: shape.Network{Uplink: shape.Link{Rate: 1e6}}}, true},
		"cores": {algos.CTA, 5, Options{Compute: takes(1), Cores: 1}, true},
	} {
		s, err := newSimulation(ring(t, test.n, 3, test.order), test.opt)
		if err != nil {
			t.Fatal(err)
		}
		if l := newLockstep(s); (l == nil) != test.needs {
			t.Errorf("%s: needs events: %v, want %v", name, l == nil, test.needs)
		}
		s.stop()
	}
}

func late(latency time.Duration) shape.Network {
	return shape.Network{Uplink: shape.Link{Latency: latency}}
}

// A noted is a draft that only notes its place.
type noted func(at Boundary)

func (n noted) Take(at Boundary, _ *state.Snapshot) error { n(at); return nil }
func (n noted) Put(int, *state.Snapshot)                  {}
func (n noted) Drop()                                     {}

// Where a state is due no worker gets events, and the run ends as it would have ended.
func TestStatesAreTakenWithoutEvents(t *testing.T) {
	const rounds = 40
	for name, test := range map[string]struct {
		n     int
		order algos.Order
		late  time.Duration
	}{
		"few":                {5, algos.CTA, 0},
		"late":               {5, algos.CTA, time.Millisecond / 2},
		"many":               {300, algos.CTA, 0}, // shared by threads
		"after the gradient": {300, algos.ATC, time.Millisecond / 2},
	} {
		var seen []record.Event
		end := func(due func(round int) bool) (Result, [][]float32, []int, uint64) {
			tasks := ringOf(t, test.n, 200, test.order, rounds)
			seen = nil
			var taken []int
			for i := range tasks {
				m := tasks[i].Machine
				tasks[i].Save = func(s *state.Snapshot) { s.Begin(); s.Save("machine", m) }
			}
			sim, err := newSimulation(tasks, Options{Compute: takes(time.Millisecond), Network: late(test.late),
				Observe: func(e record.Event) { seen = append(seen, e) }, Keep: &Keeping{
					Due:   due,
					Begin: func(int) Draft { return noted(func(at Boundary) { taken = append(taken, at.Round) }) },
				}})
			if err != nil {
				t.Fatal(err)
			}
			defer sim.stop()
			if err := sim.run(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var models [][]float32
			for i := range tasks {
				models = append(models, tasks[i].Machine.Params())
			}
			return sim.result(), models, taken, sim.seq
		}
		whole, want, none, _ := end(func(int) bool { return false })
		records := seen
		left, got, taken, events := end(func(round int) bool { return round == 7 || round == 20 })
		same := slices.EqualFunc(got, want, func(a, b []float32) bool { return slices.Equal(a, b) })
		if !same || left.Time != whole.Time || !slices.Equal(left.Sent, whole.Sent) || left.Events != whole.Events {
			t.Errorf("%s: the run ends otherwise: %v and %v, same models: %v", name, left, whole, same)
		}
		byRank := func(a, b record.Event) int { // records of one instant have no order
			return cmp.Or(cmp.Compare(round(a), round(b)), cmp.Compare(a.Rank(), b.Rank()))
		}
		slices.SortStableFunc(seen, byRank)
		slices.SortStableFunc(records, byRank)
		if !reflect.DeepEqual(seen, records) {
			t.Errorf("%s: the records differ", name)
		}
		if len(none) > 0 || !slices.Equal(taken, []int{8, 21}) {
			t.Errorf("%s: states before the rounds %v and %v, want none, and 8 and 21", name, none, taken)
		}
		if events > 0 {
			t.Errorf("%s: %d events, want none", name, events)
		}
	}
}

// round returns the round of a step or of an account.
func round(e record.Event) int {
	if e.Links != nil {
		return e.Links.Round
	}
	return e.Step.Round
}

// Threads read the messages of workers that have begun the next round on others, also in the last round. The race
// detector judges this.
func TestThreadsShareMessages(t *testing.T) {
	const n, dim = 5, coordinates
	models := func(cores int) outcome {
		o, _ := onCores(t, cores, workers(t, n, func(i int) (topology.Row, gossip.Algorithm) {
			row := cycle(t, n).Row(topology.Rank(i), 0)
			return row, &algos.DPSGD{X: make([]float32, dim), Alpha: alpha, Codec: algos.Full{}, Clip: &algos.Clip{Liars: 1}}
		}), Options{Compute: takes(time.Millisecond)})
		return o
	}
	if one := models(1); !reflect.DeepEqual(models(4), one) {
		t.Error("4 cores give other models or records than one")
	}
}
