package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawTop draws symbols in the upper bits of bytes.
func drawTop(t *rapid.T, width, n int) []byte {
	symbols := drawSymbols(rapid.Uint64().Draw(t, "symbols"), width, n)
	for i := range symbols {
		symbols[i] <<= 8 - width
	}
	return symbols
}

func TestMixingIsTheSameInEveryTier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 8).Draw(t, "bits")
		n, neighbours := rapid.IntRange(0, 300).Draw(t, "d"), rapid.IntRange(0, 5).Draw(t, "neighbours")
		own, low := drawTop(t, width, n), drawTop(t, width, n)
		for i := range low { // half of them at the begin of a codec's window
			if low[i] >= 128 {
				low[i] = own[i] - 128
			}
		}
		theirs, scales := make([][]byte, neighbours), make([]float32, neighbours)
		firstTie := n
		tieFrom := rapid.SampledFrom([]int{0, n / 2, n}).Draw(t, "ties from")
		for j := range theirs {
			theirs[j] = drawTop(t, width, n)
			scales[j] = rapid.OneOf(rapid.Float32Range(-1, 1),
				rapid.SampledFrom([]float32{0, 1e-44, 1e-38, 1e30})).Draw(t, "scale")
			for i := range theirs[j] {
				if theirs[j][i]-own[i] != 128 {
					continue
				}
				if i < tieFrom {
					theirs[j][i] = own[i]
				} else {
					firstTie = min(firstTie, i)
				}
			}
		}
		x := random(4, n)
		want := slices.Clone(x)
		var wantSaw Mixed
		mixSymbols(want, Own{own, low, width}, theirs, scales, &wantSaw)
		for _, tier := range Available() {
			got := slices.Clone(x)
			if saw := tier.Mix(got, Own{own, low, width}, theirs, scales); !slices.Equal(got, want) || saw != wantSaw {
				t.Fatalf("%v: %+v, want %+v, or another sum", tier, saw, wantSaw)
			}
			copy(got, x)
			saw := tier.Mix(got, Own{own, nil, width}, theirs, scales)
			if saw.Done > firstTie || saw.Done < min(firstTie-63, n) || firstTie == n && saw != wantSaw {
				t.Fatalf("%v without windows: %+v, the first tie is at %d of %d", tier, saw, firstTie, n)
			}
			if !slices.Equal(got[:saw.Done], want[:saw.Done]) || !slices.Equal(got[saw.Done:], x[saw.Done:]) {
				t.Fatalf("%v without windows: another sum", tier)
			}
		}
	})
}

// Mixing packed one-bit symbols has the results of mixing unpacked ones.
func TestBitsAreMixedLikeBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, neighbours := rapid.IntRange(0, 400).Draw(t, "d"), rapid.IntRange(0, 5).Draw(t, "neighbours")
		draw := func() (symbols, packed []byte) {
			symbols, packed = drawTop(t, 1, n), make([]byte, (n+7)/8)
			for i, s := range symbols {
				packed[i/8] |= s >> 7 << (i % 8)
			}
			return symbols, packed
		}
		own, ownBits := draw()
		low, lowBits := draw()
		theirs, theirBits, scales := make([][]byte, neighbours), make([][]byte, neighbours), make([]float32, neighbours)
		for j := range theirs {
			theirs[j], theirBits[j] = draw()
			scales[j] = rapid.OneOf(rapid.Float32Range(-1, 1),
				rapid.SampledFrom([]float32{0, 1e-44, 1e30})).Draw(t, "scale")
		}
		x := random(4, n)
		if n > 0 {
			x[0] = float32(math.Copysign(0, -1))
		}
		want := slices.Clone(x)
		var wantSaw Mixed
		mixSymbols(want, Own{own, low, 1}, theirs, scales, &wantSaw)
		for _, tier := range Available() {
			got := slices.Clone(x)
			if saw := tier.MixBits(got, ownBits, lowBits, theirBits, scales); saw != wantSaw {
				t.Fatalf("%v: %+v, want %+v", tier, saw, wantSaw)
			}
			for i, v := range got {
				if math.Float32bits(v) != math.Float32bits(want[i]) {
					t.Fatalf("%v: coordinate %d: %v, want %v", tier, i, v, want[i])
				}
			}
		}
	})
}
