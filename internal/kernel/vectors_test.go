package kernel

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/rng"
)

// random returns n numbers in [−1/2, 1/2).
func random(seed uint64, n int) []float32 {
	key, x := rng.At(seed, 0), make([]float32, n)
	for i := range x {
		x[i] = key.Uniform(uint32(i)) - 0.5
	}
	return x
}

func TestAxpyIsTheSameInEveryTier(t *testing.T) {
	for _, tier := range Available() {
		for n := range 100 {
			dst, x := random(1, n), random(2, n)
			want := slices.Clone(dst)
			for i := range want {
				want[i] += float32(0.3 * x[i])
			}
			if tier.Axpy(dst, 0.3, x); !slices.Equal(dst, want) {
				t.Errorf("%v: wrong for length %d", tier, n)
			}
		}
	}
}

func TestMomentumIsItsDefinition(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 47, 100} {
		for _, tier := range Available() {
			g, m := numbers(n+1, 1), numbers(n+1, 2)
			want := slices.Clone(m)
			for i := range n {
				want[i] = g[i] + float32(float32(0.9)*m[i])
			}
			last := g[n]
			tier.Momentum(g[:n], m, 0.9)
			if !slices.Equal(m, want) || !slices.Equal(g[:n], want[:n]) || g[n] != last {
				t.Errorf("%v: %v and %v, want %v", tier, g, m, want)
			}
		}
	}
}

// Every sum is normal or 0, without a sign. NaN and infinities stay: they show that training diverged.
func TestMomentumHasNoSubnormals(t *testing.T) {
	const least = 0x1p-126
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct{ g, m, want float32 }{
		{0, least, 0}, {0, -least, 0}, {0, 0x1p-149, 0}, {0x1p-127, 0, 0}, {-0x1p-149, 0, 0}, {least, 0, least},
		{-least, 0, -least}, {0, 2 * least, least}, {0x1p-127, least, least}, {inf, 1, inf}, {-1, -inf, -inf},
		{nan, 0, nan}, {0, nan, nan}, {float32(math.Copysign(0, -1)), 0, 0}, {least, -2 * least, 0}, {1, 0x1p-140, 1},
	}
	for _, tier := range Available() {
		g, m := make([]float32, 3*len(tests)), make([]float32, 3*len(tests))
		for i := range g {
			g[i], m[i] = tests[i%len(tests)].g, tests[i%len(tests)].m
		}
		for first := range len(tests) { // also as the last numbers, which are computed one by one
			g, m := slices.Clone(g[first:]), slices.Clone(m[first:])
			tier.Momentum(g, m, 0.5)
			for i := range g {
				want := math.Float32bits(tests[(first+i)%len(tests)].want)
				isNaN := want&0x7FFFFFFF > 0x7F800000
				for _, got := range []float32{g[i], m[i]} {
					if math.Float32bits(got) != want && !(isNaN && got != got) {
						t.Fatalf("%v: %v + 0.5·%v is %v, want %v", tier, tests[(first+i)%len(tests)].g,
							tests[(first+i)%len(tests)].m, got, math.Float32frombits(want))
					}
				}
			}
		}
	}
}

func TestSubtractIsTheSameInEveryTier(t *testing.T) {
	const guard = 0.125
	for _, tier := range Available() {
		for n := range 100 {
			for offset := range 17 { // of the first element from an aligned one
				dst, x, y := random(1, n+offset+1), random(2, n+offset), random(3, n+2)
				want := slices.Clone(dst)
				for i := range n {
					want[offset+i] = x[offset+i] - y[2+i]
				}
				want[n+offset], dst[n+offset] = guard, guard
				if tier.Subtract(dst[offset:offset+n], x[offset:], y[2:]); !slices.Equal(dst, want) {
					t.Fatalf("%v: wrong for length %d at %d", tier, n, offset)
				}
				want = want[offset : offset+n]
				if tier.Subtract(x[offset:], x[offset:], y[2:]); !slices.Equal(x[offset:], want) {
					t.Fatalf("%v: wrong in place for length %d at %d", tier, n, offset)
				}
			}
		}
	}
}
