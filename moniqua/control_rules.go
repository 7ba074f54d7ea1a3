package moniqua

import "math"

// A note is the largest gap seen as the bits of a float32 ≥ 0, and in the sign
// bit whether a violation was caught. Such bits are ordered like the numbers,
// so the maximum of any words, sent by whomever, is a note.
type note uint32

const violated note = 1 << 31

func newNote(gap float64, violation bool) note {
	n := note(math.Float32bits(float32(gap))) &^ violated
	if violation {
		n |= violated
	}
	return n
}

// or joins the notes of two workers.
func (n note) or(o note) note {
	return max(n&^violated, o&^violated) | (n|o)&violated
}

// gap returns the largest gap, and bound for all above it, NaN included.
func (n note) gap(bound float64) float64 {
	if g := float64(math.Float32frombits(uint32(n &^ violated))); g <= bound {
		return g
	}
	return bound
}

// adapt is the rule of Adaptive. It ignores notes of an earlier scale, because they
// tell nothing about the present one.
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

// growth returns by how much θ grows on a violation of which nothing more is known.
func (p *ControlPlan) growth() float64 {
	if p.Step >= 1 {
		return wary
	}
	return growth
}

// change returns the scale of epoch e+1, unless it leaves the numbers that θ may
// have.
func (c *Control) change(e int, scale, factor float64) float64 {
	next := scale * factor
	if factor == 1 || next > math.MaxFloat32/largestNote || next < math.SmallestNonzeroFloat32*largestNote {
		return scale
	}
	c.since, c.clean, c.peak = e+1, 0, 0
	return next
}

// measure is the rule of Measured: the gaps of all epochs of the warm-up but the last
// decide.
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
