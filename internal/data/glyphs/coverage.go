package glyphs

import "math"

const (
	lines     = 4                // scan lines per row of pixels
	cellUnit  = 256              // full horizontal cover of a pixel by one scan line
	fullCover = lines * cellUnit // full cover of a pixel
)

// A coverage measures how much of each pixel lies inside a closed outline, with
// `lines` samples down a pixel and exact area along each sample. An edge adds its
// signed cover to everything right of it, kept as differences along the row; row
// turns them into cover. An edge left of the picture counts for its first column, an edge
// right of it for nothing.
type coverage [side][side + 2]int32

func (c *coverage) reset() { *c = coverage{} }

// edge adds the line from a to b, in pixels.
func (c *coverage) edge(a, b point) {
	sign := int32(1)
	if a.y > b.y {
		a, b, sign = b, a, -1
	}
	if a.y == b.y {
		return
	}
	slope := (b.x - a.x) / (b.y - a.y)
	first := max(0, int(math.Ceil(lines*a.y-0.5)))
	last := min(lines*side, int(math.Ceil(lines*b.y-0.5)))
	for line := first; line < last; line++ {
		y := (float64(line) + 0.5) / lines
		x := a.x + float64(slope*(y-a.y))
		if x < 0 { // min and max would look for NaN
			x = 0
		} else if x > side {
			x = side
		}
		units := uint32(x * cellUnit)
		row := &c[uint(line)/lines]
		column, part := units/cellUnit, units%cellUnit
		row[column] += sign * int32(cellUnit-part)
		row[column+1] += sign * int32(part)
	}
}

// row returns the cover of each pixel of row y, 0..fullCover.
func (c *coverage) row(y int) (shares [side]uint32) {
	inside := int32(0)
	for x := range shares {
		inside += c[y][x]
		shares[x] = uint32(min(max(inside, -inside), fullCover))
	}
	return shares
}
