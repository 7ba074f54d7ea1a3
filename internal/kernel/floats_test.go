package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

func TestFloatsMixAlikeInEveryTier(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 100, 1024} {
		for neighbours := range 5 {
			x, start := random(1, n), random(2, n)
			theirs, weights := make([][]byte, neighbours), make([]float32, neighbours)
			want, wantFar, wantMoved := slices.Clone(start), float32(0), 0
			models := make([][]float32, neighbours)
			for j := range theirs {
				weights[j] = 0.3 / float32(j+1)
				models[j] = random(uint64(10+j), n)
				for i := range n {
					if i%3 == 0 {
						models[j][i] = x[i]
					}
					theirs[j] = binary.LittleEndian.AppendUint32(theirs[j], math.Float32bits(models[j][i]))
				}
			}
			for i := range n {
				sum, most := float32(0), float32(0)
				for j, y := range models {
					sum += float32(weights[j] * (y[i] - x[i]))
					most = max(most, y[i]-x[i], x[i]-y[i])
				}
				want[i] += sum
				if wantFar = max(wantFar, most); most > 0 {
					wantMoved++
				}
			}
			for _, tier := range Available() {
				got := slices.Clone(start)
				far, moved := tier.MixFloats(got, x, theirs, weights)
				if !slices.Equal(got, want) || math.Float32frombits(far) != wantFar || moved != wantMoved {
					t.Errorf("%v: %d neighbours, %d coordinates: largest %v, moved %d, want %v and %d, or another sum",
						tier, neighbours, n, math.Float32frombits(far), moved, wantFar, wantMoved)
				}
			}
		}
	}
}
