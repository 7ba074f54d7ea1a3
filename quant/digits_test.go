package quant

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDigitsAreThoseOfThePacking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(3, 256).Filter(func(n int) bool { return n&(n-1) != 0 }).Draw(t, "levels")
		n := rapid.IntRange(0, 300).Draw(t, "n")
		most := rapid.Bool().Draw(t, "most")
		symbols, wide := make([]byte, n), make([]uint16, n)
		for i := range symbols {
			symbols[i] = byte(levels - 1) // the largest number of a group
			if !most {
				symbols[i] = byte(rapid.IntRange(0, levels-1).Draw(t, "symbol"))
			}
			wide[i] = uint16(symbols[i])
		}
		p, err := NewPacking(levels)
		if err != nil {
			t.Fatal(err)
		}
		d := newDigits(p, 8)
		want, err := p.Pack(nil, wide)
		if err != nil {
			t.Fatal(err)
		}
		packed := make([]byte, p.Len(n))
		if d.pack(packed, symbols); !bytes.Equal(packed, want) {
			t.Fatalf("% x, want % x", packed, want)
		}
		got := make([]byte, n+digitsSlack)
		if d.unpack(got, n, packed); !slices.Equal(got[:n], symbols) {
			t.Fatalf("%v, want %v", got[:n], symbols)
		}
	})
}

func TestDigitsInTheUpperBits(t *testing.T) {
	d := newDigits(mustPacking(t, 9), 4)
	packed, got := make([]byte, d.packing.Len(3)), make([]byte, 3+digitsSlack)
	d.pack(packed, []byte{8, 0, 5})
	if d.unpack(got, 3, packed); !slices.Equal(got[:3], []byte{0x80, 0, 0x50}) {
		t.Errorf("% x", got[:3])
	}
}

func BenchmarkDigits(b *testing.B) {
	for _, levels := range []int{3, 5, 9, 100} {
		p := mustPacking(b, levels)
		d, n := newDigits(p, 8), p.Group()*(1000/p.Group())
		symbols, packed := make([]byte, n+digitsSlack), make([]byte, p.Len(n))
		for i := range symbols {
			symbols[i] = byte(i % levels)
		}
		b.Run(fmt.Sprintf("pack/levels=%d", levels), func(b *testing.B) {
			for b.Loop() {
				d.pack(packed, symbols[:n])
			}
			perSymbol(b, n)
		})
		b.Run(fmt.Sprintf("unpack/levels=%d", levels), func(b *testing.B) {
			for b.Loop() {
				d.unpack(symbols, n, packed)
			}
			perSymbol(b, n)
		})
	}
}
