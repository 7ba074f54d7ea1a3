package moniqua

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The integer form of docs/math.md has m = ⌈(t − N/2 − s)/N⌉ and κ' = s + N·m. The test computes it in whole numbers
// from the float64 t − N/2.
func TestPlainDecodesByTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		r, err := c.round(rapid.IntRange(0, 1<<20).Draw(t, "k"), 0)
		if err != nil {
			t.Fatal(err)
		}
		y := drawVector(t, &r, 0, 20)
		symbols, got := make([]uint16, len(y)), make([]int64, len(y))
		for i := range symbols {
			symbols[i] = uint16(rapid.IntRange(0, r.plain.levels-1).Draw(t, "symbol"))
		}
		r.plain.decode(got, symbols, y)
		n := new(big.Rat).SetInt64(int64(r.plain.levels))
		for i, s := range symbols {
			shift := 0.0
			if c.Rounding == Dither {
				shift = float64(r.plain.key.Uniform(uint32(i))) - 0.5
			}
			low := new(big.Rat).SetFloat64(float64(y[i])/r.grid.Step() + shift - float64(r.plain.levels)/2)
			low.Sub(low, new(big.Rat).SetInt64(int64(s))).Quo(low, n)
			m := ceil(low)
			if want := int64(s) + int64(r.plain.levels)*m; got[i] != want {
				t.Fatalf("coordinate %d: symbol %d at %v means %d, want %d", i, s, y[i], got[i], want)
			}
		}
	})
}

// ceil returns ⌈x⌉.
func ceil(x *big.Rat) int64 {
	quotient, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // rounded down
	if rest.Sign() > 0 {
		return quotient.Int64() + 1
	}
	return quotient.Int64()
}

func TestPlainRefusesValuesWithoutIndex(t *testing.T) {
	p := plain{step: 1, levels: 4, rounding: Nearest}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1 << 31, -(1 << 31)} {
		if at := p.encode(make([]int64, 3), make([]uint16, 3), []float32{0, x, 1}); at != 1 {
			t.Errorf("%v: coordinate %d is refused, want 1", x, at)
		}
	}
	edge := float32(1<<31 - 1<<7)
	if at := p.encode(make([]int64, 2), make([]uint16, 2), []float32{edge, -edge}); at != -1 {
		t.Errorf("±%v is refused", edge)
	}
}
