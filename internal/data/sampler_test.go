package data

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/internal/rng"
)

func newSampler(t testing.TB, seed uint64, worker, samples, batch int) Sampler {
	t.Helper()
	s, err := NewSampler(seed, worker, samples, batch)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryEpochHoldsEverySampleOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		samples := rapid.IntRange(1, 300).Draw(r, "samples")
		batch := rapid.IntRange(1, 400).Draw(r, "batch")
		s, err := NewSampler(rapid.Uint64().Draw(r, "seed"), rapid.IntRange(0, 99).Draw(r, "worker"), samples, batch)
		if err != nil {
			r.Fatal(err)
		}
		var sequence []int
		for k := 0; len(sequence) < 3*samples; k++ {
			before := len(sequence)
			sequence = s.Append(sequence, k)
			if got := len(sequence) - before; got != batch {
				r.Fatalf("round %d has %d samples, want %d", k, got, batch)
			}
		}
		for epoch := range 3 {
			rows := slices.Clone(sequence[epoch*samples : (epoch+1)*samples])
			slices.Sort(rows)
			for i, row := range rows {
				if row != i {
					r.Fatalf("epoch %d: sorted rows hold %d at %d", epoch, row, i)
				}
			}
		}
	})
}

func TestRoundNeedsNoHistory(t *testing.T) {
	a := newSampler(t, 1, 2, 1000, 32)
	var before []int
	for k := range 100 {
		before = a.Append(before[:0], k)
	}
	if got := newSampler(t, 1, 2, 1000, 32).Append(nil, 99); !slices.Equal(got, before) {
		t.Errorf("round 99 after 98 others = %v, at once = %v", before, got)
	}
}

func TestSamplersDiffer(t *testing.T) {
	base := newSampler(t, 1, 0, 1000, 64).Append(nil, 0)
	if slices.Equal(base, newSampler(t, 2, 0, 1000, 64).Append(nil, 0)) {
		t.Error("another seed draws the same batch")
	}
	if slices.Equal(base, newSampler(t, 1, 1, 1000, 64).Append(nil, 0)) {
		t.Error("another worker draws the same batch")
	}
	whole := newSampler(t, 1, 0, 1000, 1000)
	if slices.Equal(whole.Append(nil, 0), whole.Append(nil, 1)) {
		t.Error("two epochs have the same order")
	}
}

// TestOrdersAreUniform tests the positions of samples over many epochs by chi-squared, at about 6 standard deviations.
func TestOrdersAreUniform(t *testing.T) {
	const epochs = 4000
	for _, n := range []int{2, 3, 5, 16, 17} {
		counts := make([]float64, n*n)
		for epoch := range epochs {
			p := newPermutation(rng.At(7, epoch), uint64(n))
			for i := range n {
				counts[i*n+int(p.at(uint64(i)))]++
			}
		}
		want := float64(epochs) / float64(n)
		chi, freedom := 0.0, float64((n-1)*(n-1))
		for _, c := range counts {
			chi += (c - want) * (c - want) / want
		}
		if limit := freedom + 6*math.Sqrt(2*freedom); chi > limit {
			t.Errorf("n = %d: chi² %.1f with %v degrees of freedom, want at most %.1f", n, chi, freedom, limit)
		}
	}
}

// TestAllOrdersOfThreeOccurEquallyOften tests whole permutations.
func TestAllOrdersOfThreeOccurEquallyOften(t *testing.T) {
	const epochs = 6000
	counts := make(map[[3]uint64]int)
	for epoch := range epochs {
		p := newPermutation(rng.At(9, epoch), 3)
		counts[[3]uint64{p.at(0), p.at(1), p.at(2)}]++
	}
	if len(counts) != 6 {
		t.Errorf("%d different orders, want 6", len(counts))
	}
	for order, n := range counts {
		if n < 820 || n > 1180 { // 1000 ± 6 standard deviations
			t.Errorf("order %v: %d of %d epochs, want about 1000", order, n, epochs)
		}
	}
}

func TestSamplerRefusesNonsense(t *testing.T) {
	for _, tt := range []struct{ samples, batch int }{{0, 1}, {-1, 1}, {1, 0}, {1, -3}} {
		if _, err := NewSampler(1, 0, tt.samples, tt.batch); err == nil {
			t.Errorf("samples %d, batch %d: no error", tt.samples, tt.batch)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	s := newSampler(t, 1, 0, 1000, 32)
	rows := make([]int, 0, 32)
	k := 0
	if got := testing.AllocsPerRun(100, func() { rows = s.Append(rows[:0], k); k++ }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := newSampler(b, 1, 0, 7500, 32)
	var rows []int
	for k := 0; b.Loop(); k++ {
		rows = s.Append(rows[:0], k)
	}
}
