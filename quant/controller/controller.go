// Package controller chooses how many bits per parameter the next messages of a run get, from
// how the run has been going:
//
//	c, err := controller.NewOlandRaj(2, 8) // at least 2 bits, at most 8
//	bits := c.Choose(losses, rms, took)    // rms of the last gradient
//
// A gossip.Agreement carries the choice of one controller to all workers.
//
// A controller is a function of what it has been shown so far: it reads no clock and draws
// by address. It makes no messages. To keep the bits fixed, have none.
package controller

import (
	"fmt"
	"math"
	"time"

	"gossiptrainer/gossip/state"
)

// maxBits is the largest number of bits that a controller may choose.
const maxBits = 16

// checkRange returns an error for bits that no quantizer has.
func checkRange(name string, low, high int) error {
	if low < 1 || low > high || high > maxBits {
		return fmt.Errorf("controller: %s: %d to %d bits: want 1 ≤ smallest ≤ largest ≤ %d", name, low, high, maxBits)
	}
	return nil
}

// OlandRaj gives more bits to larger gradients, by the principle of Øland and Raj, "Reducing
// communication overhead in distributed learning by an order of magnitude (almost)", ICASSP 2015:
//
//	b = clamp(⌊b_max + log₂(rms/rms_ref) + 1/2⌋, b_min, b_max)
//
// rms_ref is the rms of the first call with a gradient above 0. Gradients half as large get one bit
// less, so the step between two levels stays the same.
type OlandRaj struct {
	low, high int
	ref       float64
}

// NewOlandRaj returns the controller of low to high bits, 1 ≤ low ≤ high ≤ 16.
func NewOlandRaj(low, high int) (*OlandRaj, error) {
	return &OlandRaj{low: low, high: high}, checkRange("oland-raj", low, high)
}

// Window returns 1: the last gradient is enough.
func (c *OlandRaj) Window() int { return 1 }

// Choose returns the bits for a gradient with this root mean square ≥ 0. It ignores losses and time.
func (c *OlandRaj) Choose(_ []float64, rms float64, _ time.Duration) int {
	if c.ref == 0 {
		c.ref = rms
	}
	return Adapted(rms, c.ref, c.high, c.low, c.high)
}

// Adapted returns the bits that keep the distance of two levels, if a gradient of root mean square ref
// had refBits of them. It returns low if rms or ref is not a number above 0.
func Adapted(rms, ref float64, refBits, low, high int) int {
	bits := math.Floor(float64(refBits) + math.Log2(rms/ref) + 0.5)
	if !(rms > 0) || !(ref > 0) || math.IsNaN(bits) {
		return low
	}
	return int(min(max(bits, float64(low)), float64(high)))
}

// State visits rms_ref.
func (c *OlandRaj) State(v *state.Visit) { v.Double("ref", &c.ref) }
