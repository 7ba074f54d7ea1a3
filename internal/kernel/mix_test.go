package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Windows that hold the own symbol at N/2 or one below, as those of a codec do.
func drawWindows(t *rapid.T, own []byte, width int) []byte {
	low := drawSymbols(rapid.Uint64().Draw(t, "windows"), 1, len(own))
	for i := range low {
		low[i] = (own[i] - 1<<(width-1) + low[i]) & (1<<width - 1)
	}
	return low
}

func TestMixingIsTheSameInEveryTier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 8).Draw(t, "bits")
		n, neighbours := rapid.IntRange(0, 300).Draw(t, "d"), rapid.IntRange(0, 5).Draw(t, "neighbours")
		own := drawSymbols(rapid.Uint64().Draw(t, "own"), width, n)
		low := drawWindows(t, own, width)
		theirs, scales := make([][]byte, neighbours), make([]float32, neighbours)
		near := true
		for j := range theirs {
			theirs[j] = drawSymbols(rapid.Uint64().Draw(t, "theirs"), width, n)
			if rapid.Bool().Draw(t, "near") {
				for i := range theirs[j] {
					theirs[j][i] = (own[i] + theirs[j][i]&(1<<(width-1)-1)) & (1<<width - 1)
				}
			}
			scales[j] = rapid.OneOf(rapid.Float32Range(-1, 1), rapid.SampledFrom([]float32{0, 1e-44, 1e-38, 1e30})).Draw(t, "scale")
			tie := false
			for i, s := range theirs[j] {
				tie = tie || (s-own[i])&(1<<width-1) == 1<<(width-1)
			}
			for _, tier := range Available() {
				if tier.Near(own, theirs[j], width) == tie {
					t.Fatalf("%v: Near is %v", tier, !tie)
				}
			}
			near = near && !tie
		}
		x := random(4, n)
		want := slices.Clone(x)
		var wantSaw Mixed
		mixSymbols(want, own, low, theirs, scales, width, 0, &wantSaw)
		for _, tier := range Available() {
			windows := [][]byte{low}
			if near {
				windows = append(windows, nil)
			}
			for _, low := range windows {
				got := slices.Clone(x)
				saw := tier.Mix(got, own, low, theirs, scales, width)
				if !slices.Equal(got, want) || saw != wantSaw {
					t.Fatalf("%v, windows %v: %+v, want %+v, or another sum", tier, low != nil, saw, wantSaw)
				}
			}
		}
	})
}
