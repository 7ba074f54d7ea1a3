package levels

import "math"

// The exponent table ±1, ±p, ±p², ..., ±p^s has one free parameter, which AMQ
// fits. It has no zero: Exponential(Symmetric, s+1, p).

// The range of p.
const (
	leastP = 0.01
	mostP  = 0.99
)

// HalfGradient returns half the derivative of the variance by p, as printed in the paper, for levels
// p⁰ to p^s:
//
//	g(p) = 2s·p^(2s−1)·F(p^s)
//	     + Σ_{j<s} [(j·p^(j−1) + (j+1)·p^j)·∫ r dF − (2j+1)·p^(2j)·∫ dF],
//
// the integrals from p^(j+1) to p^j.
func HalfGradient(s int, p float64, m *Mixture) float64 {
	power := func(e int) float64 { return math.Pow(p, float64(e)) }
	sum, above := 0.0, m.point(1)
	for j := range s {
		below := m.point(power(j + 1))
		cell := m.between(below, above)
		first := cell.first + below.x*cell.mass // first moment about 0
		slope := float64(j+1) * power(j)
		if j > 0 {
			slope += float64(j) * power(j-1)
		}
		sum += slope*first - float64(2*j+1)*power(2*j)*cell.mass
		above = below
	}
	return sum + 2*float64(s)*power(2*s-1)*m.between(m.point(0), above).mass
}

// ExponentDescent improves p by gradient descent, p ← p − rate·g(p) cut to [0.01, 0.99].
func ExponentDescent(s int, p float64, m *Mixture, iterations int, rate float64) float64 {
	for range iterations {
		p = min(max(p-rate*HalfGradient(s, p, m), leastP), mostP)
	}
	return p
}
