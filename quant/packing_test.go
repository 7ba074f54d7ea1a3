package quant

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustPacking(t testing.TB, levels int) Packing {
	t.Helper()
	p, err := NewPacking(levels)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ramp returns d symbols that go through all values.
func ramp(levels, d int) []uint16 {
	symbols := make([]uint16, d)
	for i := range symbols {
		symbols[i] = uint16(i * 40503 % levels)
	}
	return symbols
}

func TestLen(t *testing.T) {
	tests := []struct{ levels, d, want int }{
		{2, 0, 0}, {2, 1, 1}, {2, 8, 1}, {2, 9, 2},
		{8, 1, 1}, {8, 3, 2}, {8, 8, 3}, {8, 9, 4},
		{16, 3, 2}, {256, 7, 7}, {1 << 15, 8, 15}, {1 << 15, 9, 17}, {1 << 16, 3, 6},
		{3, 0, 0}, {3, 1, 1}, {3, 5, 1}, {3, 6, 2}, {3, 40, 8}, {3, 41, 9},
		{5, 27, 8}, {5, 30, 9}, {9, 20, 8}, {257, 1, 2}, {65535, 4, 8}, {65535, 5, 10},
		// A full group takes 8 bytes even where N^m − 1 fits in 7.
		{8191, 4, 8}, {8191, 3, 5}, {600, 6, 8}, {600, 5, 6},
	}
	for _, test := range tests {
		if got := mustPacking(t, test.levels).Len(test.d); got != test.want {
			t.Errorf("%d levels: Len(%d) = %d, want %d", test.levels, test.d, got, test.want)
		}
	}
}

func TestNewPackingRefusesImpossibleLevels(t *testing.T) {
	for _, levels := range []int{-1, 0, 1, MaxLevels + 1} {
		if _, err := NewPacking(levels); err == nil {
			t.Errorf("NewPacking(%d) succeeded", levels)
		}
	}
}

// naiveStream is the definition of the bit stream, bit by bit.
func naiveStream(width int, symbols []uint16) []byte {
	out := make([]byte, (len(symbols)*width+7)/8)
	for m, s := range symbols {
		for b := range width {
			t := m*width + b
			out[t/8] |= byte(s>>b&1) << (t % 8)
		}
	}
	return out
}

func TestPowersOfTwoAreBitStreams(t *testing.T) {
	lengths := []int{1000, blockLen, blockLen + 1, 2500} // lanes handle a part of these
	for d := range 70 {
		lengths = append(lengths, d)
	}
	for width := 1; width <= 16; width++ {
		p := mustPacking(t, 1<<width)
		for _, d := range lengths {
			symbols := ramp(1<<width, d)
			got, err := p.Pack(nil, symbols)
			if err != nil {
				t.Fatal(err)
			}
			if want := naiveStream(width, symbols); !bytes.Equal(got, want) {
				t.Fatalf("%d symbols of %d bits: %x, want %x", d, width, got, want)
			}
		}
	}
}

func TestPackedSymbolsReturn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.OneOf(
			rapid.IntRange(2, 40),
			rapid.IntRange(2, MaxLevels),
			rapid.SampledFrom([]int{MaxLevels, MaxLevels - 1, 1625, 1626, 7131, 7132}),
		).Draw(t, "levels")
		p, err := NewPacking(levels)
		if err != nil {
			t.Fatal(err)
		}
		symbols := rapid.SliceOfN(rapid.Uint16Max(uint16(levels-1)), 0, 200).Draw(t, "symbols")
		packed, err := p.Pack([]byte("head"), symbols)
		if err != nil {
			t.Fatal(err)
		}
		packed, found := bytes.CutPrefix(packed, []byte("head"))
		if !found || len(packed) != p.Len(len(symbols)) {
			t.Fatalf("%d bytes after the head, want %d", len(packed), p.Len(len(symbols)))
		}
		if err := p.Check(packed, len(symbols)); err != nil {
			t.Fatal(err)
		}
		got := make([]uint16, len(symbols))
		if err := p.Unpack(got, packed); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, symbols) {
			t.Fatalf("got %v, want %v", got, symbols)
		}
		// Piece by piece, at multiples of Group, the bytes are the same.
		cut := rapid.IntRange(0, len(symbols)/p.Group()).Draw(t, "groups") * p.Group()
		pieces, err := p.Pack(nil, symbols[:cut])
		if err != nil || len(pieces) != p.Len(cut) {
			t.Fatalf("%d bytes for %d symbols, want %d (%v)", len(pieces), cut, p.Len(cut), err)
		}
		if pieces, _ = p.Pack(pieces, symbols[cut:]); !bytes.Equal(pieces, packed) {
			t.Fatalf("cut at %d: %x, want %x", cut, pieces, packed)
		}
	})
}

func TestPackRefusesStrangeSymbols(t *testing.T) {
	for _, levels := range []int{2, 3, 4, 5, 8, 16, 100, 256, 1000, 1 << 15} {
		p := mustPacking(t, levels)
		for _, at := range []int{0, 7, 49} {
			symbols := ramp(levels, 50)
			symbols[at] = uint16(levels)
			out, err := p.Pack([]byte{9}, symbols)
			if want := fmt.Sprintf("symbol %d at %d", levels, at); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d levels: error %v, want %q", levels, err, want)
			}
			if !bytes.Equal(out, []byte{9}) {
				t.Errorf("%d levels: dst became %x", levels, out)
			}
		}
	}
}

func TestUnpackRefusesWhatPackCannotWrite(t *testing.T) {
	ones := bytes.Repeat([]byte{0xff}, 17)
	tests := []struct {
		name   string
		levels int
		d      int
		src    []byte
		want   string
	}{
		{"too short", 4, 9, ones[:2], "2 bytes: 9 symbols of 4 levels take 3"},
		{"too long", 4, 9, ones[:4], "take 3"},
		{"bytes for no symbols", 4, 0, ones[:1], "take 0"},
		{"padding of a 1 bit stream", 2, 9, []byte{0xff, 0x02}, "bits above the 1 used"},
		{"padding of a 3 bit stream", 8, 3, []byte{0xff, 0x03}, "bits above the 1 used"},
		{"padding of a 4 bit stream", 16, 1, []byte{0x10}, "bits above the 4 used"},
		{"full group too large", 3, 40, ones[:8], "group of symbol 0"},
		{"second full group too large", 3, 80, append(make([]byte, 8), ones[:8]...), "group of symbol 40"},
		{"short group too large", 3, 45, append(make([]byte, 8), 243), "group of symbol 40"},
		{"group too short", 3, 40, ones[:7], "take 8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := mustPacking(t, test.levels)
			err := p.Unpack(make([]uint16, test.d), test.src)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Unpack: error %v, want %q", err, test.want)
			}
			if check := p.Check(test.src, test.d); check == nil || check.Error() != err.Error() {
				t.Errorf("Check: %v, Unpack: %v", check, err)
			}
		})
	}
}

func TestLargestGroupValueIsAccepted(t *testing.T) {
	for levels := 3; levels < 2000; levels++ {
		p := mustPacking(t, levels)
		symbols := slices.Repeat([]uint16{uint16(levels - 1)}, p.Group()+1)
		packed, err := p.Pack(nil, symbols)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(packed, len(symbols)); err != nil {
			t.Fatalf("%d levels: %v", levels, err)
		}
		got := make([]uint16, len(symbols))
		if err := p.Unpack(got, packed); err != nil || !slices.Equal(got, symbols) {
			t.Fatalf("%d levels: %v, %v", levels, got, err)
		}
	}
}

// Pack writes the bytes again that Unpack accepts.
func FuzzUnpack(f *testing.F) {
	f.Add(uint32(2), uint16(9), []byte{0xff, 0x01})
	f.Add(uint32(3), uint16(45), append(make([]byte, 8), 242))
	f.Add(uint32(65535), uint16(4), bytes.Repeat([]byte{0xff}, 8))
	f.Fuzz(func(t *testing.T, levels uint32, d uint16, src []byte) {
		p, err := NewPacking(int(levels % (MaxLevels + 2)))
		if err != nil {
			return
		}
		symbols := make([]uint16, d)
		err = p.Unpack(symbols, src)
		if check := p.Check(src, int(d)); (check == nil) != (err == nil) {
			t.Fatalf("Check: %v, Unpack: %v", check, err)
		}
		if err != nil {
			return
		}
		again, err := p.Pack(nil, symbols)
		if err != nil || !bytes.Equal(again, src) {
			t.Fatalf("%d levels: %x became %x (%v)", p.Levels(), src, again, err)
		}
	})
}

func TestPackingDoesNotAllocate(t *testing.T) {
	for _, levels := range []int{2, 5, 8, 256} {
		p := mustPacking(t, levels)
		symbols := ramp(levels, 5000)
		buffer := make([]byte, 0, p.Len(len(symbols)))
		allocs := testing.AllocsPerRun(10, func() {
			packed, err := p.Pack(buffer, symbols)
			if err == nil {
				err = p.Unpack(symbols, packed)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%d levels: %v allocations", levels, allocs)
		}
	}
}

func BenchmarkPacking(b *testing.B) {
	for _, levels := range []int{2, 3, 4, 5, 8, 16, 100, 256, 1 << 12, 1 << 16} {
		p := mustPacking(b, levels)
		symbols := ramp(levels, 1<<16)
		packed, err := p.Pack(nil, symbols)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("pack/levels=%d", levels), func(b *testing.B) {
			for b.Loop() {
				packed, _ = p.Pack(packed[:0], symbols)
			}
			perSymbol(b, len(symbols))
		})
		b.Run(fmt.Sprintf("unpack/levels=%d", levels), func(b *testing.B) {
			for b.Loop() {
				if err := p.Unpack(symbols, packed); err != nil {
					b.Fatal(err)
				}
			}
			perSymbol(b, len(symbols))
		})
	}
}

func perSymbol(b *testing.B, d int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(d), "ns/symbol")
}

// The largest symbols make the largest group values, where an inexact quotient would first be wrong.
func TestLargestSymbolsOfAllLevels(t *testing.T) {
	for levels := 3; levels <= MaxLevels; levels++ {
		p, err := NewPacking(levels)
		if err != nil {
			t.Fatal(err)
		}
		symbols := slices.Repeat([]uint16{uint16(levels - 1)}, 2*p.Group()-1)
		packed, err := p.Pack(nil, symbols)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint16, len(symbols))
		if err := p.Unpack(got, packed); err != nil || !slices.Equal(got, symbols) {
			t.Fatalf("%d levels: %v, want %v (%v)", levels, got, symbols, err)
		}
	}
}
