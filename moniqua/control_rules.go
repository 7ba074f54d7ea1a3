package moniqua

import "math"

// A note holds the largest gap seen as the bits of a float32 ≥ 0, and in the sign bit whether a violation was detected.
// Such bits are ordered like the numbers. So the maximum of any words is a note, even if a neighbour sends arbitrary
// ones.
type note uint32

const violated note = 1 << 31

func newNote(gap float64, violation bool) note {
	n := note(math.Float32bits(float32(gap))) &^ violated
	if violation {
		n |= violated
	}
	return n
}

// or combines the notes of two workers.
func (n note) or(o note) note {
	return max(n&^violated, o&^violated) | (n|o)&violated
}

// gap returns the largest gap; it returns bound for values above bound and for NaN.
func (n note) gap(bound float64) float64 {
	if g := float64(math.Float32frombits(uint32(n &^ violated))); g <= bound {
		return g
	}
	return bound
}

// adapt is the rule of Adaptive. It ignores notes of an earlier scale, because they say nothing about the present one.
func (c *Control) adapt(e int) float64 {
	scale := c.scale[e%len(c.scale)]
	if e-1 < c.since {
		return scale
	}
	c.peak = c.peak.or(c.told)
	gap := c.peak.gap(largestNote)
	factor := 1.0
	switch {
	case c.told&violated != 0:
		c.found = true
		step := c.plan.growth()
		for factor = step; factor <= gap-c.plan.Step; {
			factor *= step
		}
	case !c.found && gap > 0 && gap < roomy:
		factor = 1. / growth
	default:
		c.clean += c.length()
		if c.clean < calm {
			return scale
		}
		if gap < roomy {
			factor = decay
		}
		c.clean, c.peak = 0, 0
	}
	return c.change(e, scale, factor)
}

// growth returns the factor of θ on a violation without a known gap.
func (p *ControlPlan) growth() float64 {
	if p.Step >= 1 {
		return wary
	}
	return growth
}

// change returns the scale of epoch e+1, unless it leaves the range of θ.
func (c *Control) change(e int, scale, factor float64) float64 {
	next := scale * factor
	if factor == 1 || next > math.MaxFloat32/largestNote || next < math.SmallestNonzeroFloat32*largestNote {
		return scale
	}
	c.since, c.clean, c.peak = e+1, 0, 0
	return next
}

// measure is the rule of Measured: it uses the gaps of all epochs of the warm-up except the last.
func (c *Control) measure(e int) float64 {
	scale := c.scale[e%len(c.scale)]
	if e >= c.warm {
		return scale
	}
	c.peak = c.peak.or(c.told)
	if e < c.warm-1 {
		return scale
	}
	if gap := c.peak.gap(math.MaxFloat32); gap > 0 {
		return safety * gap
	}
	return scale
}
