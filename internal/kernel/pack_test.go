package kernel

import (
	"bytes"
	"slices"
	"testing"

	"gossiptrainer/internal/rng"
)

func drawSymbols(seed uint64, width, n int) []byte {
	key, out := rng.At(seed, 9), make([]byte, n)
	for i := range out {
		out[i] = byte(key.Raw(uint32(i)) >> 8 & (1<<width - 1))
	}
	return out
}

func TestPackingIsTheSameInEveryTier(t *testing.T) {
	for _, tier := range Available() {
		for width := 1; width <= 8; width++ {
			for _, n := range []int{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 200, 1000, 1024} {
				symbols := drawSymbols(uint64(n), width, n)
				want := make([]byte, (n*width+7)/8)
				for i, s := range symbols {
					for b := range width {
						at := i*width + b
						want[at/8] |= s >> b & 1 << (at % 8)
					}
				}
				got := bytes.Repeat([]byte{0xAA}, len(want))
				if tier.Pack(got, width, symbols); !bytes.Equal(got, want) {
					t.Errorf("%v: %d symbols of %d bits packed wrongly", tier, n, width)
				}
				back := make([]byte, n)
				tier.Raise(symbols, width)
				if tier.Unpack(back, width, want); !bytes.Equal(back, symbols) {
					t.Errorf("%v: %d symbols of %d bits unpacked wrongly", tier, n, width)
				}
			}
		}
	}
}

func TestWordsArePackedLikeBytes(t *testing.T) {
	for _, tier := range Available() {
		for width := 1; width <= 8; width++ {
			for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 71, 128, 200, 1024, 1025, 2100} {
				symbols := drawSymbols(uint64(n), width, n)
				words, want := make([]uint16, n), make([]byte, (n*width+7)/8)
				for i, s := range symbols {
					words[i] = uint16(s)
				}
				Off.Pack(want, width, symbols)
				got := bytes.Repeat([]byte{0xAA}, len(want))
				if seen := tier.PackWords(got, width, words); !bytes.Equal(got, want) || seen>>width != 0 {
					t.Errorf("%v: %d words of %d bits packed wrongly; bits seen %#x", tier, n, width, seen)
				}
				back := make([]uint16, n)
				if tier.UnpackWords(back, width, want); !slices.Equal(back, words) {
					t.Errorf("%v: %d words of %d bits unpacked wrongly", tier, n, width)
				}
				for at := range words { // PackWords reports a wrong symbol at any place
					words[at] |= 1 << 12
					if seen := tier.PackWords(got, width, words); seen>>12 != 1 {
						t.Fatalf("%v: symbol %d of %d, width %d: bit 12 is not seen", tier, at, n, width)
					}
					words[at] &^= 1 << 12
				}
			}
		}
	}
}
