package levels

import "math"

// root returns the point in [lo, hi] at which the non-decreasing f changes sign, to the last few bits.
// f returns its value and its slope. The slope may be 0 where f is flat, and is meaningless where f
// jumps.
//
// It uses Newton's method where that at least halves the step, and bisection elsewhere: about five
// evaluations instead of sixty, and never more than twice those of bisection.
func root(lo, hi float64, f func(x float64) (value, slope float64)) float64 {
	x, step := lo+(hi-lo)/2, hi-lo
	for range maxSteps {
		value, slope := f(x)
		if value > 0 {
			hi = x
		} else {
			lo = x
		}
		next := x - value/slope
		if !(next > lo && next < hi && math.Abs(next-x) <= step/2) {
			next = lo + (hi-lo)/2
		}
		step = math.Abs(next - x)
		x = next
		if step <= 1e-16*x || x == lo || x == hi {
			break
		}
	}
	return x
}

// maxSteps bounds the steps: that number halves an interval of 1 to less than any relevant level.
const maxSteps = 200
