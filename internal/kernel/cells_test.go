package kernel

import (
	"math"
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
				scale := math.Exp2(rapid.Float64Range(-50, 50).Draw(t, "log2 scale"))
				sign := byte(rapid.IntRange(0, 1).Draw(t, "sign")) * 128
				most := map[Tier]int{AVX2: sixteen, AVX512: MaxCells}[tier]
				levels := rapid.SliceOfNDistinct(rapid.Float64Range(0, 1), 2, 1+rapid.SampledFrom([]int{1, 4, 8, sixteen, 2 * sixteen, MaxCells}).Filter(func(n int) bool { return n <= most }).Draw(t, "most"), func(l float64) float64 { return l }).Draw(t, "levels")
				slices.Sort(levels)
				if rapid.Bool().Draw(t, "even") { // many at random are too narrow
					for j := range levels {
						levels[j] = (float64(j) + levels[j]/2) / float64(len(levels))
					}
				}
				if again := rapid.IntRange(0, len(levels)-1).Draw(t, "again"); again > 0 {
					levels[again-1] = levels[again] // an empty cell
				}
				for j := range levels {
					if sign == 0 {
						levels[j] -= 0.5
					}
					levels[j] *= scale
				}
				var c Cells
				if !c.Set(levels, sign) {
					t.Skip("a cell too narrow")
				}
				checkCells(t, tier, &c, levels, sign)
			})
		})
	}
}

// checkCells compares symbols of coordinates in the table's range, many of them
// on a level or next to one.
func checkCells(t *rapid.T, tier Tier, c *Cells, levels []float64, sign byte) {
	key, source := rng.At(rapid.Uint64().Draw(t, "seed"), 1), rng.At(rapid.Uint64().Draw(t, "coordinates"), 0)
	first, n := rapid.IntRange(0, math.MaxInt32).Draw(t, "first"), 3*Batch+7
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
	done, doubtful := tier.Draw(symbols, x, first, c, key, doubt)
	Doubtful(doubt, func(at int) bool { unsure[at] = true; return true })
	if done != 3*Batch || doubtful != (len(unsure) > 0) {
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
	for _, levels := range [][]float64{nil, {1}, {0, 0.1, 0.1}, {0, 1, 1 + 0x1p-30}, {0, 0x1p-120}, make([]float64, MaxCells+2)} {
		if c.Set(levels, 0) {
			t.Errorf("%v were accepted", levels)
		}
	}
}
