package levels

import "math"

// GradientDescent improves a table by gradient descent, ALQG:
//
//	∂Ψ/∂l_j = ∫_a^{l_j} (r−a) dF − ∫_{l_j}^c (c−r) dF,
//
// with the neighbours a and c of l_j. A step of rate times that is cut to half
// the distance to the nearer neighbour, so that levels never meet. Levels are
// moved in place, in ascending order, sweeps times; 0 and 1 stay. The lowest
// level of a symmetric table has the derivative 2·l_1·F(l_1) − ∫ (l_2−r) dF.
func GradientDescent(form Form, table []float64, m *Mixture, sweeps int, rate float64) {
	points := m.points(form, table)
	for range sweeps {
		for j := 1; j < len(points)-1; j++ {
			a, l, c := points[j-1], points[j], points[j+1]
			below, above := m.between(a, l), m.between(l, c)
			slope := below.first
			if form == Symmetric && j == 1 {
				slope = 2 * l.x * below.mass
			}
			slope -= (c.x-l.x)*above.mass - above.first
			step := min(rate*math.Abs(slope), min(l.x-a.x, c.x-l.x)/2)
			m.move(l, l.x-math.Copysign(step, slope))
		}
	}
	write(table, points)
}
