package kernel

import (
	"math"

	"gossiptrainer/internal/rng"
)

// Cells rounds coordinates at random to one of the two levels of an ascending
// table that they lie between, and gives the number of the level as a byte. With
// v = x or |x| in cell j, l_j ≤ v < l_{j+1}, the last cell closed,
//
//	symbol = j + [u·(l_{j+1} − l_j) < v − l_j]
//
// u the uniform number of the coordinate's index, and with magnitudes a sign is
// added to the symbols other than 0 of negative x. The definition is float64
// arithmetic, the lanes have 32 bits and say where those do not suffice.
//
// The cell is exact: a float is no less than l_j if it is no less than the least
// float that is. l_j is the sum of two floats, of 48 bits, and v minus the first
// is exact or no less than a third of the cell's width, so p = (v − l_j)/width
// has an error below 2⁻²⁰ if no cell is narrower than 2⁻²⁴ of its levels; u lacks
// its last step, which changes it by up to 2⁻¹⁶. So u and p that are 2⁻¹⁴ or more
// apart are ordered like those of the definition. The others, one in 8,192, are
// doubtful and left to the caller. Where no cell is narrower than 2⁻⁷ of its
// levels, v/width − l_j/width is as good: each term has an error below 2⁻¹⁷. With
// more than 16 cells these are 2⁻⁹ and 2⁻¹⁵, and what is 2⁻¹² apart is doubtful.
// Cells without width are never entered, but for the last by a v that is the
// level, so a float: p is 0.
type Cells struct {
	// Tables of MaxCells: where cells start; high and low parts of l_j, or in place of
	// low l_j/width; 1/width. Then what all lanes share.
	words [4*MaxCells + 16]uint32
	form  cellForm
}

// A cellForm is what kind of table it is.
type cellForm uint8

const (
	narrowCells cellForm = iota // at most 16, of any width
	manyCells                   // at most 16, none narrower than 2⁻⁷ of its levels
	someCells                   // at most 8 such
	fewCells                    // at most 4
	oneCell
	doubleCells   // at most 32, none narrower than 2⁻⁹ of its levels
	fourfoldCells // at most 64 such
)

// MaxCells is the largest number of cells that the lanes of AVX-512 can do; those
// of AVX2 do 16.
const MaxCells = 64

const (
	sixteen = 16 // cells that may be narrow
	lanesAt = 4 * MaxCells
)

// Set prepares c for levels from the lowest to the highest v, and reports whether
// the lanes can do it: they need at most MaxCells cells, none too narrow that is
// not empty. With sign not 0, v is |x|.
func (c *Cells) Set(levels []float64, sign byte) bool {
	inner := len(levels) - 1
	if inner < 1 || inner > MaxCells {
		return false
	}
	for j := range MaxCells {
		c.words[j] = math.Float32bits(float32(math.Inf(1))) // no such cell
	}
	narrow, least := false, 0x1p-7
	if inner > sixteen {
		least = 0x1p-9
	}
	for j, level := range levels[:inner] {
		width, largest := levels[j+1]-level, max(math.Abs(level), math.Abs(levels[j+1]))
		if width != 0 && !(width > 0x1p-100 && width < 0x1p100 && width >= 0x1p-24*largest) {
			return false
		}
		high := float32(level)
		if width == 0 && j == inner-1 && float64(high) != level {
			return false
		}
		narrow = narrow || width > 0 && width < least*largest
		c.setCell(j, level, width)
	}
	c.form = formOf(inner)
	switch {
	case narrow && inner > sixteen:
		return false
	case narrow:
		c.form = narrowCells
	default:
		for j, level := range levels[:inner] {
			c.words[2*MaxCells+j] = math.Float32bits(float32(level * inverse(levels[j+1]-level)))
		}
	}
	mask := ^uint32(0)
	if sign != 0 {
		mask >>= 1
	}
	for lane := range 8 {
		c.words[lanesAt+lane], c.words[lanesAt+8+lane] = mask, uint32(sign)
	}
	return true
}

// formOf returns that of so many cells, none of them narrow.
func formOf(cells int) cellForm {
	switch {
	case cells == 1:
		return oneCell
	case cells <= 4:
		return fewCells
	case cells <= 8:
		return someCells
	case cells <= sixteen:
		return manyCells
	case cells <= 2*sixteen:
		return doubleCells
	}
	return fourfoldCells
}

// setCell sets what is looked up for cell j.
func (c *Cells) setCell(j int, level, width float64) {
	high := float32(level)
	c.words[MaxCells+j] = math.Float32bits(high)
	c.words[2*MaxCells+j] = math.Float32bits(float32(level - float64(high)))
	c.words[3*MaxCells+j] = math.Float32bits(float32(inverse(width)))
	c.words[j] = math.Float32bits(start(level))
}

// start returns the least float that is no less than level.
func start(level float64) float32 {
	f := float32(level)
	if float64(f) < level {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// inverse returns 1/width, 0 for an empty cell.
func inverse(width float64) float64 {
	if width == 0 {
		return 0
	}
	return 1 / width
}

// Draw writes the symbols of x, whose first coordinate has the index first. It
// returns how many it did, a multiple of Batch, and sets the bits in doubt of
// those it is not certain of; doubtful is false if there are none. In Off, and
// for more cells than the tier has lanes for, it does nothing.
func (t Tier) Draw(symbols []byte, x []float32, first int, c *Cells, key rng.Key, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Batch - 1)
	if t == Off || n == 0 {
		return 0, false
	}
	draw := [2][fourfoldCells + 1]func(symbols []byte, x []float32, first, k0, k1 uint32, words *[272]uint32, doubt []byte) uint32{
		{drawNarrowAVX2, drawManyAVX2, drawSomeAVX2, drawFewAVX2, drawOneAVX2},
		{drawNarrowAVX512, drawManyAVX512, drawSomeAVX512, drawFewAVX512, drawOneAVX512, drawDoubleAVX512, drawFourfoldAVX512},
	}[t-AVX2][c.form]
	if draw == nil {
		return 0, false
	}
	doubts := draw(symbols[:n], x[:n], uint32(first), key.K0, key.K1, &c.words, doubt)
	return n, doubts != 0
}
