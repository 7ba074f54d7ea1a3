package gossip_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A couple is two workers of AD-PSGD that talk over one link.
type couple struct {
	t       *testing.T
	workers [2]*gossip.PairWorker
	frames  []gossip.Frame // on their way
	points  [2][]float32   // of the outstanding gradient, nil if there is none
	done    [2]bool
}

const coupleSteps = 12

func (c *couple) algorithm() *algos.ADPSGD {
	return &algos.ADPSGD{
		X: []float32{1, 2, 3}, Alpha: func(int) float32 { return 0.1 }, Weight: 0.5,
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
	}
}

func (c *couple) make(i int, saved *state.Snapshot) {
	row := topology.Row{In: []topology.Edge{{Peer: topology.Rank(1 - i), Weight: 0.5}},
		Out: []topology.Rank{topology.Rank(1 - i)}}
	plan := gossip.PairPlan{Workers: 2, Rounds: coupleSteps, Seed: 1}
	var err error
	if saved == nil {
		c.workers[i], err = gossip.NewPair(topology.Rank(i), row, c.algorithm(), plan)
	} else {
		c.workers[i], err = gossip.ResumePair(topology.Rank(i), row, c.algorithm(), plan, saved)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.points[i] = nil
}

// look collects the requests of a worker.
func (c *couple) look(i int) {
	r := c.workers[i].Ready()
	for _, f := range r.Send {
		f.Payload = slices.Clone(f.Payload)
		c.frames = append(c.frames, f)
	}
	if r.Compute {
		c.points[i] = r.At
	}
	c.done[i] = r.Done
}

// turn delivers the oldest frame or a gradient, and reports whether there was one.
func (c *couple) turn() bool {
	for i := range c.workers {
		c.look(i)
	}
	switch {
	case len(c.frames) > 0:
		f := c.frames[0]
		c.frames = c.frames[1:]
		if err := c.workers[f.To].Receive(f); err != nil {
			c.t.Fatal(err)
		}
	case c.points[0] != nil || c.points[1] != nil:
		for i, x := range c.points {
			if x == nil {
				continue
			}
			c.points[i] = nil
			g := make([]float32, len(x))
			slope(g, i, 0, x)
			if err := c.workers[i].Gradient(g, 0, 0); err != nil {
				c.t.Fatal(err)
			}
			return true
		}
	default:
		return false
	}
	return true
}

// The process of a worker ends at each possible place. A worker that begins at its last boundary takes its place, and
// both finish.
func TestAPairWorkerTakesThePlaceOfOneThatEnded(t *testing.T) {
	for turns := 1; ; turns++ {
		c := &couple{t: t}
		c.make(0, nil)
		c.make(1, nil)
		var saved state.Snapshot
		take(&saved, c.workers[1])
		c.workers[1].AtBoundary(func(int) { take(&saved, c.workers[1]) })
		for n := 0; n < turns; n++ {
			if !c.turn() {
				if turns < 3*coupleSteps {
					t.Fatalf("over after %d turns", n)
				}
				return
			}
		}
		c.workers[0].Link(1, false)
		c.make(1, &saved)
		c.look(0)
		c.look(1)
		c.frames = nil // without a link
		c.workers[0].Renew(1)
		c.workers[0].Link(1, true)
		c.workers[1].Link(0, true)
		for c.turn() {
		}
		if !c.done[0] || !c.done[1] {
			t.Fatalf("a worker that ended after %d turns: done %v, want both", turns, c.done)
		}
		for i, w := range c.workers {
			if most := slices.Max(w.Params()); !(math.Abs(float64(most)) < 4) {
				t.Errorf("worker %d ends at %v", i, w.Params())
			}
		}
	}
}

func TestAStateOfAnotherWorkerIsRefused(t *testing.T) {
	c := &couple{t: t}
	c.make(0, nil)
	row := topology.Row{Out: []topology.Rank{1}}
	for name, test := range map[string]struct {
		change func(s *state.Snapshot)
		want   string
	}{
		"another model": {func(s *state.Snapshot) { tensor(s, "machine/x").Data = make([]byte, 8) },
			"machine/x: 2 floats, want 3"},
		"no model":     {func(s *state.Snapshot) { tensor(s, "machine/x").Name = "machine/y" }, "machine/x: missing"},
		"not a number": {func(s *state.Snapshot) { copy(tensor(s, "machine/x").Data, "\xff\xff\xff\xff") }, "NaN or Inf"},
		"more": {func(s *state.Snapshot) {
			s.Tensors = append(s.Tensors,
				state.Tensor{Name: "machine/z", Type: "U8"})
		}, "machine/z: this worker has no such tensor"},
		"other type":     {func(s *state.Snapshot) { tensor(s, "machine/round").Type = "F64" }, `of type "F64", want "I64"`},
		"a round before": {func(s *state.Snapshot) { tensor(s, "machine/round").Data[7] = 0x80 }, "machine/round"},
		"half a number":  {func(s *state.Snapshot) { tensor(s, "machine/round").Data = nil }, "0 bytes, want one number"},
	} {
		var s state.Snapshot
		take(&s, c.workers[0])
		test.change(&s)
		_, err := gossip.ResumePair(0, row, c.algorithm(), gossip.PairPlan{Workers: 2, Rounds: 5}, &s)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "worker 0") {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

func tensor(s *state.Snapshot, name string) *state.Tensor {
	return &s.Tensors[slices.IndexFunc(s.Tensors, func(t state.Tensor) bool { return t.Name == name })]
}

func take(s *state.Snapshot, m gossip.Machine) {
	s.Begin()
	s.Save("machine", m)
}
