package moniqua

import "math"

// Noise returns the root mean square difference, as a share of θ, that the rounding
// errors of g alone keep up between neighbours, when mixing amplifies errors by
// a ≥ 0 (topology.Spectrum.Noise).
//
// Errors of neighbours are correlated where they share u, or have none: at a
// distance h below the step D, the square of their difference is h·(D − h) on
// average, and D²/4 at most. With h² = a·h·(D − h) the noise feeds on itself:
// h = D·a/(1+a) up to D/2, and above it h² = a·D²/4. Errors that workers draw for
// themselves do not know h; the square of their difference is at most D²/2.
func (g Grid) Noise(a float64) float64 {
	step := g.Step() / g.Theta
	switch {
	case g.Rounding == Stochastic:
		return step * math.Sqrt(a/2)
	case a <= 1:
		return step * a / (1 + a)
	}
	return step * math.Sqrt(a) / 2
}
