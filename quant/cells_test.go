package quant

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tables draws ascending levels, some of them equal.
func tables(t *rapid.T) []float64 {
	level := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 1e-50}), rapid.Float64Range(-2, 2))
	levels := rapid.SliceOfN(level, 2, maxLevels).Draw(t, "levels")
	slices.Sort(levels)
	return levels
}

// The search without branches agrees with the definition.
func TestCellsAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := tables(rt)
		last := len(levels) - 1
		v := rapid.OneOf(rapid.Float32Range(-2.5, 2.5), rapid.Map(rapid.IntRange(0, last), func(j int) float32 {
			return float32(levels[j])
		})).Draw(rt, "v")
		u := rapid.Float32Range(0, 0.9999999).Draw(rt, "u")
		var c cells
		c.reset(levels, 1)
		one := c.drawOne(float64(v), u)
		c.prepare()
		got := c.draw(float64(v), order(v), u)
		if one != got {
			rt.Fatalf("%v by %v: %d when it is alone, %d among others", v, u, one, got)
		}

		j := 0
		for j < last-1 && levels[j+1] <= float64(v) {
			j++
		}
		want := uint16(j)
		if below, width := float64(v)-levels[j], levels[j+1]-levels[j]; float64(u)*width < below {
			want++
		}
		// −0 and a level 0 may fall into either of the cells that end there.
		if levels[got] != levels[want] {
			rt.Fatalf("%v by %v: level %d, %v, want %d, %v", v, u, got, levels[got], want, levels[want])
		}
		if v != 0 && got != want {
			rt.Fatalf("%v by %v: level %d, want %d of the same value", v, u, got, want)
		}
	})
}

func TestOrderIsThatOfTheNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.Float32().Draw(rt, "a"), rapid.Float32().Draw(rt, "b")
		if a != b && (order(a) < order(b)) != (a < b) {
			rt.Fatalf("%v, %v: %d, %d", a, b, order(a), order(b))
		}
		if got := ordered(order(a)); math.Float32bits(got) != math.Float32bits(a) {
			rt.Fatalf("%v became %v", a, got)
		}
		level := rapid.Float64Range(-2, 2).Draw(rt, "level")
		if small := a; (order(small) >= least(level)) != (float64(small) >= level) {
			rt.Fatalf("%v ≥ %v: %v", small, level, float64(small) >= level)
		}
	})
	if zero := float32(math.Copysign(0, -1)); order(zero) < least(0) {
		t.Error("−0 is less than 0")
	}
}

func TestSorterSorts(t *testing.T) {
	var s sorter
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, fewest - 1, fewest, 3000, dense}).Draw(rt, "n")
		seed := rapid.Uint64().Draw(rt, "seed")
		apart := rapid.Uint32Range(1, 31).Draw(rt, "bits in which values differ")
		z := make([]float32, n)
		for i := range z {
			seed = seed*6364136223846793005 + 1442695040888963407
			if z[i] = math.Float32frombits(uint32(seed>>32) >> (32 - apart)); !finite(z[i]) {
				z[i] = 1
			}
		}
		want := slices.Clone(z)
		slices.Sort(want)
		if got := s.sort(z); !slices.Equal(got, want) {
			rt.Fatalf("%d values are not in order", n)
		}
	})
}
