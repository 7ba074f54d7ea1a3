package elastic_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"
)

// survivors returns the workers that live.
func (w *world) survivors() []*mortal {
	var all []*mortal
	for _, m := range w.workers {
		if !m.dead {
			all = append(all, m)
		}
	}
	return all
}

// lopsided finds the exchanges that only one end of an edge has mixed. It returns their
// effect on the sum of the models, and counts them by edge.
func (w *world) lopsided(rounds int) (drift []float64, counts map[[2]int]int) {
	drift, counts = make([]float64, worldDim), make(map[[2]int]int)
	for k := range rounds {
		for i, m := range w.workers {
			total := float32(0)
			for j, weight := range m.alg.Mixed[k] {
				total += weight
				other := w.workers[j]
				back, both := other.alg.Mixed[k][m.rank]
				if both && back != weight {
					w.t.Fatalf("round %d: W_%d,%d = %v and W_%d,%d = %v", k, i, j, weight, j, i, back)
				}
				if both {
					continue
				}
				counts[[2]int{min(i, int(j)), max(i, int(j))}]++
				for c := range drift {
					drift[c] += float64(weight) * float64(other.alg.Sent[k][c]-m.alg.Sent[k][c])
				}
			}
			if total > 1+1e-6 {
				w.t.Fatalf("round %d: worker %d gives %v to its neighbours", k, i, total)
			}
		}
	}
	return drift, counts
}

// parts returns into how many parts the mixing of a round divides the survivors.
func (w *world) parts(k int) int {
	of := make(map[topology.Rank]topology.Rank)
	var root func(i topology.Rank) topology.Rank
	root = func(i topology.Rank) topology.Rank {
		if up, ok := of[i]; ok {
			return root(up)
		}
		return i
	}
	all := w.survivors()
	n := len(all)
	for _, m := range all {
		for j := range m.alg.Mixed[k] {
			if a, b := root(m.rank), root(j); a != b {
				of[a] = b
				n--
			}
		}
	}
	return n
}

// check tests the promises of Membership at the end of a world.
func (w *world) check(rounds int) {
	for _, m := range w.survivors() {
		if !m.done {
			w.t.Fatalf("worker %d hangs, waiting for %v; exchange %d is next", m.rank, m.ready.Waiting, m.machine.Next())
		}
	}
	drift, counts := w.lopsided(rounds)
	for edge, n := range counts {
		a, b := w.workers[edge[0]], w.workers[edge[1]]
		_, cutA := a.cuts[b.rank]
		_, cutB := b.cuts[a.rank]
		if n > 2*(1+w.deaths) || !cutA && !cutB && !w.died[a.rank] && !w.died[b.rank] {
			w.t.Fatalf("only one end of %v mixed in %d rounds: want at most 2, of edges that were lost", edge, n)
		}
	}
	for c := range drift {
		sum := -w.initial[c]
		for _, m := range w.workers {
			sum += float64(m.Params()[c])
		}
		if math.Abs(sum-drift[c]) > 1e-4 {
			w.t.Fatalf("coordinate %d of the sum of the models moved by %v, and %v is accounted for", c, sum, drift[c])
		}
	}
}

// TestPeersDie lets workers die and links break at random moments.
func TestPeersDie(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]topology.Spec{
			{Kind: topology.Ring, N: 3, Slack: 1}, {Kind: topology.Ring, N: 5, Slack: 0.5},
			{Kind: topology.Ring, N: 8, Slack: 1}, {Kind: topology.Ring, N: 8, Slack: 1},
			{Kind: topology.Complete, N: 5, Slack: 1}, {Kind: topology.Star, N: 5, Slack: 1},
			{Kind: topology.Torus, Rows: 3, Cols: 3, Slack: 1},
		}).Draw(t, "graph")
		g, err := topology.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		const rounds = 300
		w := newWorld(t, g, rounds)
		var last time.Duration
		for range rapid.IntRange(0, g.N()-1).Draw(t, "deaths") {
			victim := topology.Rank(rapid.IntRange(0, g.N()-1).Draw(t, "victim"))
			at := 100*time.Millisecond + w.delay("death", 8*time.Second) // all have met
			last = max(last, at)
			w.after(at, func() { w.kill(victim) })
			if rapid.Bool().Draw(t, "returns") && spec.Kind == topology.Ring {
				back := at + w.delay("return", 6*time.Second)
				last = max(last, back+grace)
				w.after(back, func() { w.rejoin(victim, rounds) })
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "breaks") {
			a := topology.Rank(rapid.IntRange(0, g.N()-1).Draw(t, "end"))
			b := topology.Rank(rapid.IntRange(0, g.N()-1).Draw(t, "end"))
			w.after(w.delay("break", 8*time.Second), func() { w.lose(a, b, true) })
		}
		w.run(time.Hour)
		w.check(rounds)
		if spec.Kind != topology.Ring {
			return
		}
		for _, m := range w.survivors() {
			if m.over < max(last, w.latest)+6*grace {
				return // before the gap could be closed
			}
		}
		if n := w.parts(rounds - 1); n > 1 {
			t.Fatalf("the survivors are in %d parts", n)
		}
	})
}
