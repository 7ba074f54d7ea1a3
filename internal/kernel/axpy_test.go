package kernel

import (
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
