package kernel

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/internal/rng"
)

func TestPointsAreAddedAlikeInAllTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, n := rapid.IntRange(1, 8).Draw(t, "width"), rapid.IntRange(0, 200).Draw(t, "n")
		acc, table := random(rapid.Uint64().Draw(t, "acc"), n), [256]float32(random(2, 256))
		key, symbols := rng.At(rapid.Uint64().Draw(t, "symbols"), 0), make([]byte, n)
		want := slices.Clone(acc)
		for i := range symbols {
			symbols[i] = byte(key.Raw(uint32(i))) &^ (1<<(8-width) - 1)
			want[i] += table[symbols[i]>>(8-width)]
		}
		for _, tier := range Available() {
			got := slices.Clone(acc)
			if tier.AddPoints(got, symbols, width, &table); !slices.Equal(got, want) {
				t.Fatalf("%v: %v, want %v", tier, got, want)
			}
		}
	})
}

// edges are floats with error-prone order or sign.
var edges = []float32{
	0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	math.MaxFloat32, -math.MaxFloat32, 1, -1, 0x1p-126,
}

func drawEdges(t *rapid.T, least int) []float32 {
	return rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(edges), rapid.Float32Range(-2, 2)), least, 200).Draw(t, "x")
}

func TestExtremesAreThoseOfTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawEdges(t, 1)
		// The negative zero is smaller than the positive one.
		less := func(a, b float32) bool {
			return a < b || a == b && math.Signbit(float64(a)) && !math.Signbit(float64(b))
		}
		low, high := x[0], x[0]
		for _, v := range x {
			if less(v, low) {
				low = v
			}
			if less(high, v) {
				high = v
			}
		}
		for _, tier := range Available() {
			a, b := tier.Extremes(x)
			if math.Float32bits(a) != math.Float32bits(low) || math.Float32bits(b) != math.Float32bits(high) {
				t.Fatalf("%v: %v to %v, want %v to %v", tier, a, b, low, high)
			}
		}
	})
}

func TestSignsAreBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawEdges(t, 0)
		limit := rapid.SampledFrom(append(x[:len(x):len(x)], 0, 1e-40, -0.3)).Draw(t, "limit")
		want := make([]byte, (len(x)+7)/8)
		for i, v := range x {
			if v >= limit {
				want[i/8] |= 1 << (i % 8)
			}
		}
		for _, tier := range Available() {
			got := bytes.Repeat([]byte{0xA5}, len(want))
			if tier.Signs(got, x, limit); !bytes.Equal(got, want) {
				t.Fatalf("%v: %x, want %x", tier, got, want)
			}
		}
	})
}
