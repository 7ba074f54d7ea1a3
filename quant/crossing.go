package quant

import (
	"math"
	"slices"

	"gossiptrainer/internal/vec"
)

// A crossing finds the level b1 of BinGradPB, where m·b1 = Σ_{a≥b1} a, without sorting the magnitudes
// a. It adds them up by their upper bits, and finds the digit at which the sum from above exceeds m·a.
// It repeats that once with the magnitudes of that digit. Its sums have another order than those of
// the definition; it reports whether that may matter.
type crossing struct {
	keys  []uint32 // magnitudes as bits
	sums  [1 << crossingDigit]float64
	above float64 // sum of the magnitudes above the keys
	edge  uint32  // no key is less
}

const (
	crossingDigit = 11
	crossingRest  = 31 - 2*crossingDigit // bits of a magnitude below two digits
)

// level returns b1 of the bucket z, and whether it is certain.
func (c *crossing) level(z []float32) (b1 float32, sure bool) {
	m, largest := float64(len(z)), vec.MaxAbs(z)
	if largest == 0 {
		return 0, true
	}
	c.keys = slices.Grow(c.keys[:0], len(z)+1)[:len(z)] // scan adds one
	c.above, c.edge = 0, 0
	for i, v := range z {
		c.keys[i] = magnitude(v)
	}
	if !c.narrow(crossingRest+crossingDigit, m) || !c.narrow(crossingRest, m) {
		return 0, false
	}
	slices.Sort(c.keys)
	// No sum exceeds m·largest, and none has more terms than there are magnitudes and digits.
	return c.scan(m, float64(largest)*(m+2<<crossingDigit)*0x1p-50)
}

// narrow keeps the keys among which the sum from above exceeds m·a for the first
// time, by their digit above shift bits.
func (c *crossing) narrow(shift uint, m float64) bool {
	const mask = 1<<crossingDigit - 1
	clear(c.sums[:])
	largest := uint32(0)
	for _, key := range c.keys {
		largest = max(largest, key)
		c.sums[key>>shift&mask] += float64(math.Float32frombits(key))
	}
	for d := int(largest >> shift & mask); d >= 0; d-- {
		edge := c.edge | uint32(d)<<shift
		if c.above+c.sums[d] <= m*float64(math.Float32frombits(edge)) {
			c.above += c.sums[d]
			continue
		}
		c.edge = edge
		kept := 0
		for _, key := range c.keys {
			c.keys[kept] = key
			kept += equal(key>>shift, edge>>shift)
		}
		c.keys = c.keys[:kept]
		return true
	}
	return false
}

// scan is saturation on the keys only. It is certain if errors of the means below off do not change
// the result.
func (c *crossing) scan(m, off float64) (b1 float32, sure bool) {
	value := func(key uint32) float64 { return float64(math.Float32frombits(key)) }
	above, low := c.above, value(c.edge)
	for _, key := range c.keys {
		above += value(key)
	}
	for _, key := range append(c.keys, c.edge+1<<crossingRest) {
		mean, v := above/m, value(key)
		switch {
		case mean+off <= low:
			return float32(low), true
		case mean-off <= low:
			return 0, false
		case mean+off <= v:
			b1 = float32(mean - off)
			return b1, b1 == float32(mean+off)
		case mean-off <= v:
			return 0, false
		}
		low, above = v, above-v
	}
	return 0, false
}
