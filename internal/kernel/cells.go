package kernel

import (
	"math"
	"math/bits"

	"gossiptrainer/internal/kernel/asm"
)

// Cells rounds each coordinate at random to one of the two levels of an ascending table around it, and
// writes the number of the level as a byte. With v = x or |x| in cell j, l_j ≤ v < l_{j+1}, the last
// cell closed,
//
//	symbol = j + [u·(l_{j+1} − l_j) < v − l_j]
//
// where u is the uniform number of the coordinate's index. With magnitudes, symbols other than 0 of
// negative x have a sign bit. The definition uses float64; the lanes have 32 bits and report the
// coordinates for which those do not suffice.
//
// The cell is exact: a float is ≥ l_j if and only if it is ≥ the least float that is. The place p =
// v/width − l_j/width, one multiply-add, has an error below (1 + L)·2⁻²³ if no level of the cell
// exceeds L widths. The number u, which lacks its last step, has an error below 2⁻¹⁵. So u and p that
// are 2⁻¹⁵ + L·2⁻²² or more apart are ordered like those of the definition. The others, one in 16,384
// or so, are doubtful and left to the caller. All coordinates of a cell are doubtful if L is 2¹³ or
// more, or if its width has no inverse.
//
// The search in a table of 2^b levels that is its own mirror image uses |x|. It starts at −l, with l
// the least level above 0. A negative x takes 1 − u in place of u and the mirror image of the symbol.
//
// The search halves the cells. Step s reads one of 2^s starts by the s known bits of the cell, and
// sets bit s. The bits of a cell, and all tables, are in reversed order: then the known bits are the
// lower ones, by which lanes permute. Bytes get their bits in order at the end. Each step waits for
// the one before, longer than it takes. So AVX-512 searches for four vectors side by side, and from 64
// cells on for eight, in a pass of its own.
type Cells struct {
	words asm.CellWords
	steps int
	shape cellShape // the shape for which words are set

	places [maxCells]uint8 // places of cells in the tables
}

// maxCells is the largest number of cells.
const maxCells = asm.MaxCells

const (
	looseCell = 0x1p13   // bound on the levels of a cell, in widths
	leastCell = 0x1p-126 // least width that has an inverse
)

// A cellShape does not depend on the values of the levels.
type cellShape struct {
	cells    int
	sign     byte
	mirrored bool
}

// Set prepares c for levels from the lowest to the highest v, and reports whether the lanes can use
// them. After mirroring there must be 1 to maxCells cells, and levels must be below 2¹⁰⁰. If sign, a
// bit that no symbol has, is not 0, v is |x|.
func (c *Cells) Set(levels []float64, sign byte) bool {
	n := len(levels)
	shape := cellShape{cells: n - 1, sign: sign}
	if sign == 0 && mirrored(levels) {
		levels = levels[n/2-1:]
		shape = cellShape{cells: n / 2, mirrored: true}
	}
	if shape.cells < 1 || shape.cells > maxCells || !(max(-levels[0], levels[len(levels)-1]) < 0x1p100) {
		return false
	}
	if shape != c.shape {
		c.reshape(shape)
	}
	widest := c.setCells(levels)
	if shape.sign != 0 || shape.mirrored {
		c.setZero(levels)
	}
	near := math.Float32bits(float32(0x1p-15 + 0x1p-22*widest))
	c.words.Guard = eight(2 * near)
	return true
}

// mirrored reports whether levels are their own mirror image: 4 or more, a power of two, none
// repeated. Among equal levels the mirror image would find another one.
func mirrored(levels []float64) bool {
	n := len(levels)
	if n < 4 || n&(n-1) != 0 {
		return false
	}
	for j, level := range levels[:n/2] {
		if level != -levels[n-1-j] || level == levels[j+1] {
			return false
		}
	}
	return true
}

// reshape sets the words that depend only on the shape.
func (c *Cells) reshape(shape cellShape) {
	c.shape, c.steps = shape, 0
	if shape.cells > 1 {
		c.steps = max(2, bits.Len(uint(shape.cells-1)))
	}
	for j := range c.places {
		c.places[j] = uint8(c.place(j))
	}
	for at := range 1 << c.steps {
		c.words.Starts[at] = math.Float32bits(float32(math.Inf(1))) // no such cell
	}
	first, mask, flip, mirror := byte(0), ^uint32(0), shape.sign, uint32(0)
	if shape.sign != 0 {
		mask >>= 1
	}
	if shape.mirrored {
		first, mask, flip, mirror = byte(shape.cells-1), mask>>1, byte(2*shape.cells-1), ^uint32(0)
	}
	c.words.Mask, c.words.Flip, c.words.Mirror = eight(mask), eight(uint32(flip)*0x01010101), eight(mirror)
	var lower, upper [4]uint32
	for i := range 16 {
		lower[i/4] |= uint32(first+1+byte(c.place(i))) << (8 * (i % 4))
		upper[i/4] |= uint32(c.place(i<<4)) << (8 * (i % 4))
	}
	for half := range 2 {
		copy(c.words.Lower[4*half:], lower[:])
		copy(c.words.Upper[4*half:], upper[:])
	}
}

// place returns cell with its bits in reversed order.
func (c *Cells) place(cell int) int { return int(bits.Reverse8(uint8(cell))) >> (8 - c.steps) }

// setCells sets the tables, and returns the largest L of cells that are not doubtful. It runs for each
// bucket of a vector, so it avoids branches.
func (c *Cells) setCells(levels []float64) (widest float64) {
	level := levels[0]
	for j, next := range levels[1:] {
		at, width, largest := int(c.places[uint8(j)]), next-level, next
		if -level > next {
			largest = -level
		}
		factor := 1 / width
		widths := factor * largest
		if !(width >= leastCell && widths < looseCell) {
			factor, widths = math.NaN(), 0
			if width == 0 && float64(float32(level)) == level {
				factor = 0 // it contains at most v = level: p = 0
			}
		}
		if widths > widest {
			widest = widths
		}
		c.words.Starts[at] = start(level)
		c.words.Factors[at] = math.Float32bits(float32(factor))
		c.words.Low[at] = math.Float32bits(float32(level * factor))
		level = next
	}
	return widest
}

// setZero reduces the first cell, if it has no inverse, to 0, which is frequent. The rest of it joins
// the next cell, where all coordinates are as doubtful. Below 2⁻⁹⁰⁰ the definition itself is not
// exact.
func (c *Cells) setZero(levels []float64) {
	if len(levels) < 3 {
		return
	}
	first, second := levels[1]-levels[0], levels[2]-levels[1]
	if !(first > 0x1p-900 && first < leastCell && second > 0 && second < leastCell) {
		return
	}
	c.words.Starts[c.places[1]] = math.Float32bits(math.SmallestNonzeroFloat32)
	c.words.Factors[c.places[0]] = 0
	c.words.Low[c.places[0]] = math.Float32bits(float32(levels[0] / first))
}

// start returns the bits of the least float ≥ level.
func start(level float64) uint32 {
	f := float32(level)
	word, below := math.Float32bits(f), uint32(math.Float64bits(float64(f)-level)>>63)
	return word + below - 2*(below&(word>>31)) // towards 0 if it is negative
}

// Draw writes the symbols of x. It returns how many it wrote, a multiple of Batch, and sets the bits
// in doubt of the doubtful ones. doubtful is false if there are none. In Off it does nothing.
func (t Tier) Draw(symbols []byte, x []float32, c *Cells, u Uniform, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (batch - 1)
	if t == Off || n == 0 {
		return 0, false
	}
	draw := [2][9]func(symbols []byte, x []float32, first, k0, k1 uint32, words *asm.CellWords, doubt []byte) uint32{
		{asm.Draw1AVX2, nil, asm.Draw4AVX2, asm.Draw8AVX2, asm.Draw16AVX2, asm.Draw32AVX2, asm.Draw64AVX2,
			asm.Draw128AVX2, asm.Draw256AVX2},
		{asm.Draw1AVX512, nil, asm.Draw4AVX512, asm.Draw8AVX512, asm.Draw16AVX512, asm.Draw32AVX512, asm.Draw64AVX512,
			asm.Draw128AVX512, asm.Draw256AVX512},
	}[t-AVX2][c.steps]
	if t == AVX512 && c.steps >= findAlone {
		c.find(symbols[:n], x[:n])
	}
	doubts := draw(symbols[:n], x[:n], uint32(u.First), u.Key.K0, u.Key.K1, &c.words, doubt)
	return n, doubts != 0
}

// findAlone is the number of steps from which a function of its own finds the cells, before the one
// that draws.
const findAlone = asm.FindAlone

// find writes the cells of x in AVX-512, in reversed bits. It fills the last two batches up with
// zeros.
func (c *Cells) find(cells []byte, x []float32) {
	whole := len(x) &^ (2*batch - 1)
	c.findWhole(cells[:whole], x[:whole])
	if whole < len(x) {
		var rest [2 * batch]float32
		var found [2 * batch]byte
		copy(rest[:], x[whole:])
		c.findWhole(found[:], rest[:])
		copy(cells[whole:], found[:])
	}
}

// findWhole calls by name, so that its arguments stay on the stack.
func (c *Cells) findWhole(cells []byte, x []float32) {
	switch c.steps {
	case findAlone:
		asm.Find64AVX512(cells, x, &c.words)
	case findAlone + 1:
		asm.Find128AVX512(cells, x, &c.words)
	default:
		asm.Find256AVX512(cells, x, &c.words)
	}
}
