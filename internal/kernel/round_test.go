package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/internal/rng"
)

// symbol is the definition of a Rounder.
func (p Parts) symbol(x, u float32) int {
	v, sign := float64(x), 0
	if p.Magnitudes {
		v = math.Abs(v)
		sign = int(p.Sign) * int(math.Float32bits(x)>>31)
	}
	r := (v - float64(p.Low)) / p.Unit
	symbol := int(r)
	switch {
	case p.Draw == Nearest:
		symbol = int(r + 0.5)
	case p.Draw == Above:
		symbol = int(r + float64(u))
	case float64(u) < r-math.Floor(r):
		symbol++
	}
	if symbol > 0 {
		symbol += sign
	}
	return symbol
}

// drawParts draws any Parts that the lanes support, and coordinates for them, many of them next to a
// change of the symbol.
func drawParts(t *rapid.T, key rng.Key, first, n int) (Parts, []float32) {
	levels := rapid.IntRange(1, 255).Draw(t, "parts")
	p := Parts{
		Unit: math.Exp2(rapid.Float64Range(-59, 59).Draw(t, "log2 unit")),
		Draw: Draw(rapid.IntRange(0, 2).Draw(t, "draw")),
	}
	if p.Magnitudes = rapid.Bool().Draw(t, "magnitudes"); p.Magnitudes {
		levels = min(levels, 127)
		p.Sign = 128
	} else {
		p.Low = float32(rapid.Float64Range(-1000, 1000).Draw(t, "low") * p.Unit)
	}
	source := rng.At(rapid.Uint64().Draw(t, "coordinates"), 0)
	x := make([]float32, n)
	for i := range x {
		r := func(j int) float64 { return float64(source.Uniform(uint32(8*i + j))) }
		parts := float64(levels) * r(0)
		if r(1) < 0.4 {
			u := float64(key.Uniform(uint32(first + i)))
			parts = math.Floor(parts) + [...]float64{0, 0.5, u, 1 - u}[int(4*r(2))]
		}
		x[i] = max(float32(float64(p.Low)+min(parts, float64(levels))*p.Unit), p.Low)
		if x[i] > p.Low && r(3) < 0.5 {
			x[i] = math.Nextafter32(x[i], p.Low)
		}
		if p.Magnitudes && r(4) < 0.5 {
			x[i] = -x[i]
		}
	}
	return p, x
}

func TestLanesRoundPartsLikeTheDefinition(t *testing.T) {
	for _, tier := range Available()[1:] {
		t.Run(tier.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				key := rng.At(rapid.Uint64().Draw(t, "seed"), 1)
				first, n := rapid.IntRange(0, math.MaxInt32).Draw(t, "first"), 3*batch+7
				p, x := drawParts(t, key, first, n)
				var r Rounder
				if !r.Set(p) {
					t.Fatal("the parts were refused")
				}
				symbols, doubt, unsure := make([]byte, n), make([]byte, 8*4), map[int]bool{}
				done, doubtful := tier.Round(symbols, x, &r, Uniform{key, first}, doubt)
				Doubtful(doubt, func(at int) bool { unsure[at] = true; return true })
				if done != 3*batch || doubtful != (len(unsure) > 0) {
					t.Fatalf("%d done, %d doubtful, reported %v", done, len(unsure), doubtful)
				}
				for i := range done {
					if want := p.symbol(x[i], key.Uniform(uint32(first+i))); !unsure[i] && int(symbols[i]) != want {
						t.Fatalf("%+v: %v at %d: %d, want %d", p, x[i], first+i, symbols[i], want)
					}
				}
			})
		})
	}
}

func TestFewPartsAreDoubtful(t *testing.T) {
	const n = 1 << 18
	x := random(5, n)
	var r Rounder
	for _, draw := range []Draw{Nearest, Above, Below} {
		if !r.Set(Parts{Unit: 0.37 / 127, Draw: draw, Magnitudes: true, Sign: 128}) {
			t.Fatal("the parts were refused")
		}
		for i := range x {
			x[i] = float32(math.Remainder(float64(x[i]), 0.37))
		}
		for _, tier := range Available()[1:] {
			count, doubt := 0, make([]byte, n/8)
			done, _ := tier.Round(make([]byte, n), x, &r, Uniform{Key: rng.At(1, 1)}, doubt)
			Doubtful(doubt, func(int) bool { count++; return true })
			if done != n || count > n>>11 {
				t.Errorf("%v, draw %d: %d of %d doubtful", tier, draw, count, done)
			}
		}
	}
}

func TestRounderLeavesWhatItCannotDo(t *testing.T) {
	var r Rounder
	for _, unit := range []float64{0, -1, 0x1p-61, 0x1p61, math.Inf(1), math.NaN()} {
		if r.Set(Parts{Unit: unit}) {
			t.Errorf("parts of %v were accepted", unit)
		}
	}
	r.Set(Parts{Unit: 1})
	for _, tier := range Available() {
		if n, _ := tier.Round(make([]byte, 63), make([]float32, 63), &r, Uniform{}, make([]byte, 8)); n != 0 {
			t.Errorf("%v: %d of 63 done", tier, n)
		}
	}
}
