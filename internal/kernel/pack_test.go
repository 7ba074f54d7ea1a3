package kernel

import (
	"bytes"
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
