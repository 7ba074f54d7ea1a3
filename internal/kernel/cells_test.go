package kernel

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/rng"
)

// cell is the definition of Cells.
func cell(levels []float64, sign byte, x, u float32) int {
	v, j := float64(x), 0
	if sign != 0 {
		v = math.Abs(v)
	}
	for j < len(levels)-2 && v >= levels[j+1] {
		j++
	}
	if float64(u)*(levels[j+1]-levels[j]) < v-levels[j] {
		j++
	}
	if sign != 0 && math.Signbit(float64(x)) && j > 0 {
		j += int(sign)
	}
	return j
}

func TestLanesDrawLikeTheDefinition(t *testing.T) {
	for _, tier := range Available()[1:] {
		t.Run(tier.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				levels, sign := drawLevels(t)
				var c Cells
				if !c.Set(levels, sign) {
					t.Skip("lanes cannot do it")
				}
				checkCells(t, tier, &c, levels, sign)
			})
		})
	}
}

// drawLevels draws levels of magnitudes, of values or symmetric ones of a power of two.
func drawLevels(t *rapid.T) (levels []float64, sign byte) {
	scale := math.Exp2(rapid.Float64Range(-50, 50).Draw(t, "log2 scale"))
	kind := rapid.SampledFrom([]string{"magnitudes", "values", "symmetric"}).Draw(t, "kind")
	cells := 1 << rapid.IntRange(0, 7).Draw(t, "log2 cells")
	levels = rapid.SliceOfN(rapid.Float64Range(0, 1), min(2, cells), 1+cells).Draw(t, "levels")
	if kind == "symmetric" {
		levels = levels[:1<<(bits.Len(uint(len(levels)))-1)]
	}
	slices.Sort(levels)
	switch rapid.SampledFrom([]string{"any", "even", "halving"}).Draw(t, "spread") {
	case "even": // many random cells are narrow
		for j := range levels {
			levels[j] = (float64(j) + levels[j]/2) / float64(len(levels))
		}
	case "halving":
		for j := range levels {
			levels[j] = math.Ldexp(1, j-len(levels)+1)
		}
	}
	if again := rapid.IntRange(0, len(levels)-1).Draw(t, "again"); again > 0 {
		levels[again-1] = levels[again] // an empty cell
	}
	switch kind {
	case "magnitudes":
		levels = append([]float64{0}, levels...)
		sign = 128
	case "values":
		for j := range levels {
			levels[j] -= 0.5
		}
		levels = append(levels, 1)
	case "symmetric":
		for _, l := range slices.Clone(levels) {
			levels = append(levels, -l)
		}
		slices.Sort(levels)
	}
	for j := range levels {
		levels[j] *= scale
	}
	return levels, sign
}

// checkCells compares symbols of coordinates in the table's range, many of them
// on a level or next to one.
func checkCells(t *rapid.T, tier Tier, c *Cells, levels []float64, sign byte) {
	key, source := rng.At(rapid.Uint64().Draw(t, "seed"), 1), rng.At(rapid.Uint64().Draw(t, "coordinates"), 0)
	first, n := rapid.IntRange(0, math.MaxInt32).Draw(t, "first"), 3*batch+7
	x, last := make([]float32, n), len(levels)-1
	for i := range x {
		r := func(j int) float64 { return float64(source.Uniform(uint32(8*i + j))) }
		j := int(r(0) * float64(last))
		part := r(1)
		if r(2) < 0.5 {
			part = [...]float64{0, 1, float64(key.Uniform(uint32(first + i)))}[int(3*r(3))]
		}
		x[i] = float32(levels[j] + part*(levels[j+1]-levels[j]))
		if r(4) < 0.3 {
			x[i] = math.Nextafter32(x[i], float32(r(5)-0.5))
		}
		x[i] = min(max(x[i], float32(levels[0])), float32(levels[last]))
		if sign != 0 && r(6) < 0.5 {
			x[i] = -x[i]
		}
	}
	symbols, doubt, unsure := make([]byte, n), make([]byte, 8*4), map[int]bool{}
	done, doubtful := tier.Draw(symbols, x, c, Uniform{key, first}, doubt)
	Doubtful(doubt, func(at int) bool { unsure[at] = true; return true })
	if done != 3*batch || doubtful != (len(unsure) > 0) {
		t.Fatalf("%d done, %d doubtful, reported %v", done, len(unsure), doubtful)
	}
	for i := range done {
		if want := cell(levels, sign, x[i], key.Uniform(uint32(first+i))); !unsure[i] && int(symbols[i]) != want {
			t.Fatalf("%v at %d: %d, want %d of %v", x[i], first+i, symbols[i], want, levels)
		}
	}
}

func TestCellsRefuseWhatLanesCannotDo(t *testing.T) {
	var c Cells
	for _, levels := range [][]float64{nil, {1}, {0, 0x1p101}, {math.Inf(-1), 0}, {0, math.NaN()},
		make([]float64, maxCells+2)} {
		if c.Set(levels, 0) {
			t.Errorf("%v were accepted", levels)
		}
	}
}

// Zeros are frequent: lanes are certain of them for any least level.
func TestCellsAreCertainOfZero(t *testing.T) {
	levels := make([]float64, 128)
	for j := range levels[1:] {
		levels[j+1] = math.Ldexp(1e-9, j-126)
	}
	var c Cells
	if !c.Set(levels, 128) {
		t.Fatal("halving levels were refused")
	}
	x, symbols, doubt := make([]float32, 64*batch), make([]byte, 64*batch), make([]byte, 8*batch)
	for _, tier := range Available()[1:] {
		done, doubtful := tier.Draw(symbols, x, &c, Uniform{Key: rng.At(1, 1)}, doubt)
		unsure := 0
		if doubtful {
			Doubtful(doubt, func(int) bool { unsure++; return true })
		}
		if done != len(x) || unsure > 5 || slices.Max(symbols) > 0 {
			t.Errorf("%v: %d done, %d of them doubtful, largest symbol %d", tier, done, unsure, slices.Max(symbols))
		}
	}
}
