package quant

import "math"

// cells finds the two levels around a value, and draws one of them: stochastic rounding on any
// ascending table,
//
//	l_j ≤ v < l_{j+1}, the last cell closed:  l_{j+1} if u < (v − l_j)/(l_{j+1} − l_j), else l_j,
//
// which is unbiased on [l_0, l_last]. Levels may repeat; values outside get the nearest end. The
// search uses float bits and has no branch to predict. Its tables are made only for many values: with
// lanes there are few.
type cells struct {
	inner  int // cells
	levels [256]float64

	ready  bool       // the fields below belong to levels
	half   int        // the largest step of the search, a power of two
	keys   [256]int64 // keys[j]: a value with a greater key lies in cell j or above
	widths [256]float64
}

// maxLevels is the largest number of levels of cells.
const maxLevels = 256

// order maps v to an integer, and keeps the order.
func order(v float32) int64 {
	bits := int32(math.Float32bits(v))
	return int64(bits ^ int32(uint32(bits>>31)>>1))
}

// ordered returns the value of a key.
func ordered(key int64) float32 {
	bits := int32(key)
	return math.Float32frombits(uint32(bits ^ int32(uint32(bits>>31)>>1)))
}

// reset sets the table to factor times levels, which are 2 to maxLevels ascending numbers.
func (c *cells) reset(levels []float64, factor float64) {
	c.inner, c.ready = len(levels)-1, false
	for j, level := range levels {
		c.levels[j] = float64(factor * level)
	}
}

// prepare makes the tables for cell and draw.
func (c *cells) prepare() {
	if c.ready {
		return
	}
	c.ready, c.half = true, 1
	for 2*c.half < c.inner {
		c.half *= 2
	}
	for j, level := range c.levels[:c.inner+1] {
		c.keys[j] = least(level) - 1
		if j > 0 {
			c.widths[j-1] = level - c.levels[j-1]
		}
	}
	for j := c.inner; j < 2*c.half; j++ {
		c.keys[j] = 1 << 32 // above every key: no such cell
	}
}

// least returns the smallest key of a value ≥ v.
func least(v float64) int64 {
	if v == 0 {
		return order(float32(math.Copysign(0, -1)))
	}
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return order(f)
}

// cell returns the cell j of a value with the given key.
func (c *cells) cell(key int64) int {
	j := 0
	for step := c.half; step > 0; step >>= 1 {
		// All bits of the shifted difference are set if key exceeds keys[j+step].
		j += step & int((c.keys[uint8(j+step)]-key)>>63)
	}
	return j
}

// draw returns the level drawn by u for v, which has the given key.
func (c *cells) draw(v float64, key int64, u float32) uint16 {
	j := c.cell(key)
	up := uint16(0)
	if float64(float64(u)*c.widths[uint8(j)]) < v-c.levels[uint8(j)] {
		up = 1
	}
	return uint16(j) + up
}

// drawOne is draw without preparation.
func (c *cells) drawOne(v float64, u float32) uint16 {
	j, end := 0, c.inner // j is the cell or below it, end is above it
	for end-j > 1 {
		if middle := (j + end) / 2; c.levels[middle] <= v {
			j = middle
		} else {
			end = middle
		}
	}
	if float64(float64(u)*(c.levels[j+1]-c.levels[j])) < v-c.levels[j] {
		j++
	}
	return uint16(j)
}

// error returns the expected squared error of v, which has the given key.
func (c *cells) error(v float64, key int64) float64 {
	j := c.cell(key)
	below, above := v-c.levels[j], c.levels[j+1]-v
	switch {
	case below < 0:
		return below * below
	case above < 0:
		return above * above
	}
	return below * above
}

// round draws a level for each of z.
func (c *cells) round(symbols []uint16, z, u []float32) {
	z, u = z[:len(symbols)], u[:len(symbols)]
	if len(z) == 1 {
		symbols[0] = c.drawOne(float64(z[0]), u[0])
		return
	}
	c.prepare()
	for i, v := range z {
		symbols[i] = c.draw(float64(v), order(v), u[i])
	}
}

// spread returns the expected squared error of z.
func (c *cells) spread(z []float32) float64 {
	c.prepare()
	total := 0.0
	for _, v := range z {
		total += c.error(float64(v), order(v))
	}
	return total
}
