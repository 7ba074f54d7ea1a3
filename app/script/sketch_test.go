package script

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gossiptrainer/topology"
)

// likenesses returns what each worker reports whose updates are draw(rank, k), after some rounds.
func likenesses(n, rounds int, draw func(rank, k int) []float32) [][]topology.Rank {
	all, reports := make([]likeness, n), make([][]topology.Rank, n)
	for k := range rounds {
		if !sketched(k) {
			continue
		}
		for rank := range all {
			if said := all[rank].report(topology.Rank(rank)); said != nil {
				reports[rank] = said
			}
			all[rank].add(sketchOf(draw(rank, k), 7, k))
		}
		for rank := range all {
			for from := range all {
				if from != rank {
					all[rank].compare(topology.Rank(from), all[from].own)
				}
			}
		}
	}
	return reports
}

// updates returns a random update that differs by worker and round, but for workers that are one.
func updates(as func(rank int) int) func(rank, k int) []float32 {
	return func(rank, k int) []float32 {
		random := rand.New(rand.NewPCG(uint64(as(rank)), uint64(k)))
		g := make([]float32, 50)
		for i := range g {
			g[i] = float32(random.NormFloat64())
		}
		return g
	}
}

func TestWorkersWithTheSameUpdatesAreReported(t *testing.T) {
	same := updates(func(rank int) int { return rank / 2 }) // 0 and 1, 2 and 3
	got := likenesses(4, 20, same)
	if !slices.Equal(got[0], []topology.Rank{0, 1}) || !slices.Equal(got[2], []topology.Rank{2, 3}) || got[1] != nil ||
		got[3] != nil {
		t.Errorf("reports %v, want 0 and 1 by 0, and 2 and 3 by 2", got)
	}
}

func TestNoFalseAlarm(t *testing.T) {
	own := func(rank int) int { return rank }
	for name, draw := range map[string]func(rank, k int) []float32{
		"other batches": updates(own),
		"no updates":    func(int, int) []float32 { return make([]float32, 50) },
		"alike by chance in two rounds": func(rank, k int) []float32 {
			if k < 3 {
				rank = 0
			}
			return updates(own)(rank, k)
		},
		"full batches of like data": func(rank, k int) []float32 { // they differ by half a percent
			g, more := updates(func(int) int { return 9 })(0, k), updates(own)(rank, k)
			for i := range g {
				g[i] += 0.005 * more[i]
			}
			return g
		},
	} {
		for rank, report := range likenesses(4, 100, draw) {
			if report != nil {
				t.Errorf("%s: worker %d reports %v", name, rank, report)
			}
		}
	}
	if got := likenesses(1, 100, updates(own)); got[0] != nil {
		t.Errorf("one worker reports %v", got)
	}
}

// A worker that comes back, or whose first sketches are lost, is compared from then on.
func TestSketchesThatAreLost(t *testing.T) {
	var l likeness
	draw := updates(func(int) int { return 0 })
	for _, k := range []int{0, 1, 3, 7, 15} {
		l.add(sketchOf(draw(0, k), 7, k))
		if k > 0 {
			l.compare(1, []sketch{sketchOf(draw(1, k), 7, k)})
			l.compare(1, []sketch{sketchOf(draw(1, k), 7, k)}) // again
		}
		if said := l.report(0); (said != nil) != (k == 7) {
			t.Errorf("after round %d: %v", k, said)
		}
	}
}

// The projections of a coordinate have signs of their own, whatever its place, and all coordinates count.
func TestSketchesProjectEachCoordinate(t *testing.T) {
	seen := map[[4]float64]int{}
	for i := range 10*shared + 3 {
		g := make([]float32, 10*shared+3)
		g[i] = -2
		s := sketchOf(g, 7, 3)
		for p, v := range s.Values {
			if v != 2 && (p == 0 || v != -2) {
				t.Fatalf("coordinate %d alone: %v", i, s.Values)
			}
		}
		seen[s.Values]++
	}
	for signs, times := range seen {
		if len(seen) != 8 || times > 30 {
			t.Errorf("%d kinds of signs, of which %v comes %d times", len(seen), signs, times)
		}
	}
}

func BenchmarkSketch(b *testing.B) {
	g := updates(func(int) int { return 0 })(0, 0)
	g = slices.Repeat(g, 1_000_000/len(g))
	b.SetBytes(int64(4 * len(g)))
	for b.Loop() {
		sketchOf(g, 7, 3)
	}
}
