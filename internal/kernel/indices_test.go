package kernel

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestIndicesAreWorkedOnAlikeInEveryTier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, width := rapid.IntRange(1, 200).Draw(t, "d"), rapid.IntRange(1, 8).Draw(t, "bits")
		k := make([]int32, n)
		for i, v := range random(rapid.Uint64().Draw(t, "k"), n) {
			k[i] = int32(v * (1 << 31))
		}
		shift, base := rapid.IntRange(0, 31).Draw(t, "shift"), rapid.Int32().Draw(t, "base")
		mask := rapid.Byte().Draw(t, "mask")
		own, low, theirs := drawTop(t, width, n), drawTop(t, width, n), drawTop(t, width, n)
		narrowed, recovered, tied := make([]byte, n), make([]int32, n), false
		for i, v := range k {
			narrowed[i] = byte(v>>shift-base) & mask
			difference := int(theirs[i]) - int(own[i])
			if difference < -128 {
				difference += 256
			} else if difference >= 128 {
				difference -= 256
			}
			if difference == -128 {
				tied = true
				if i%2 == 0 {
					low[i] = own[i] - 128
				} else if low[i] != own[i]-128 {
					difference = 128
				}
			}
			recovered[i] = v + int32(difference/(1<<(8-width)))
		}
		for _, tier := range Available() {
			if low, high := tier.Extent(k); low != slices.Min(k) || high != slices.Max(k) {
				t.Fatalf("%v: from %d to %d, want %d to %d", tier, low, high, slices.Min(k), slices.Max(k))
			}
			some := make([]byte, n)
			if tier.Narrow(some, k, shift, base, mask); !bytes.Equal(some, narrowed) {
				t.Fatalf("%v: narrowed to %v, want %v", tier, some, narrowed)
			}
			got := make([]int32, n)
			if saw := tier.Recover(got, k, Own{own, low, width}, theirs); saw != tied || !slices.Equal(got, recovered) {
				t.Fatalf("%v: recovered %v, tied %v, want %v, %v", tier, got, saw, recovered, tied)
			}
		}
	})
}
