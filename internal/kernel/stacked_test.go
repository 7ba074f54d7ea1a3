package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// Rows of models and of integers give the same in every tier, to the last bit, and what mixing and descending in two
// steps give.
func TestRowsPassAlikeInEveryTier(t *testing.T) {
	for _, n := range []int{16, 32, 112, 1024} {
		for neighbours := range 5 {
			const workers = 6
			rows, g := random(1, workers*n), random(2, n)
			indices := make([]int32, len(rows))
			for i, v := range rows {
				indices[i] = int32(v * 1000)
			}
			copy(rows[n:n+n/2], rows[:n/2]) // coordinates without a difference
			copy(indices[n:n+n/2], indices[:n/2])
			to := Pass{Step: -0.1}
			theirs := make([][]byte, neighbours)
			for j := range neighbours {
				to.At, to.Weights = append(to.At, 4*n*(j+1)), append(to.Weights, 0.3/float32(j+1))
				for _, v := range rows[n*(j+1) : n*(j+2)] {
					theirs[j] = binary.LittleEndian.AppendUint32(theirs[j], math.Float32bits(v))
				}
			}
			own, mine := rows[:n], indices[:n]
			to.X, to.G = own, g
			want, wantNext := Passed{}, slices.Clone(own)
			want.Far, want.Moved = Off.MixFloats(wantNext, own, theirs, to.Weights)
			Off.Axpy(wantNext, -0.1, g)
			want.Largest = Off.Magnitude(wantNext)
			counted := make([]float32, n)
			to.Next = counted
			wantCounted := MixIndices(Off, indices, mine, to)
			for _, tier := range Available() {
				next := make([]float32, n)
				to.Next = next
				if saw := MixRows(tier, rows, to); saw != want || !slices.Equal(next, wantNext) {
					t.Errorf("%v: %d neighbours, %d coordinates: %+v, want %+v, or another row", tier, neighbours, n, saw, want)
				}
				if far := FarIndices(tier, indices, mine, to.At); far != wantCounted.Far {
					t.Errorf("%v: %d neighbours, %d integers: %d apart, want %d", tier, neighbours, n, far, wantCounted.Far)
				}
				saw := MixIndices(tier, indices, mine, to)
				if saw != wantCounted || !slices.Equal(next, counted) {
					t.Errorf("%v: %d neighbours, %d integers: %+v, want %+v, or another row", tier, neighbours, n, saw,
						wantCounted)
				}
			}
		}
	}
}

// A row that ends in NaN or Inf says so.
func TestRowsTellWhatIsNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.Inf(-1)), float32(math.NaN())} {
		g, rows := make([]float32, 16), make([]float32, 32)
		g[5] = bad
		for _, tier := range Available() {
			saw := MixRows(tier, rows, Pass{make([]float32, 16), rows[:16], g, []int{64}, []float32{0.5}, -1})
			if saw.Largest < math.Float32bits(float32(math.Inf(1))) {
				t.Errorf("%v: %v passes as %x", tier, bad, saw.Largest)
			}
		}
	}
}
