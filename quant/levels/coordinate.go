package levels

// CoordinateDescent improves a table by coordinate descent, ALQ. With its
// neighbours a and c fixed, the best place of a level solves
//
//	F(l) = F(c) − ∫_a^c (r−a)/(c−a) dF,
//
// that is: as much mass lies in [a, l] as rounding to a and c alone would send to a. Levels are moved
// in place, in ascending order, sweeps times; 0 and 1 stay.
//
// The lowest level of a symmetric table has its mirror image as neighbour:
//
//	2·l_1·F(l_1) = ∫_{l_1}^{l_2} (l_2−r) dF.
//
// A level without mass on either side stays where it is, so that the table remains ascending for any
// m.
func CoordinateDescent(form Form, table []float64, m *Mixture, sweeps int) {
	points := m.points(form, table)
	for range sweeps {
		for j := 1; j < len(points)-1; j++ {
			if form == Symmetric && j == 1 {
				m.balanceLowest(points[0], points[1], points[2])
				continue
			}
			m.balance(points[j-1], points[j], points[j+1])
		}
	}
	write(table, points)
}

// points returns the points of the table, after one at 0 if the table has none.
func (m *Mixture) points(form Form, table []float64) []*point {
	var points []*point
	if form == Symmetric {
		points = append(points, m.point(0))
	}
	for _, l := range table {
		points = append(points, m.point(l))
	}
	return points
}

// write sets the table to the last of the points.
func write(table []float64, points []*point) {
	for j, p := range points[len(points)-len(table):] {
		table[j] = p.x
	}
}

// balance moves l to its best place between a and c.
func (m *Mixture) balance(a, l, c *point) {
	cell := m.between(a, c)
	share := cell.mass - cell.first/(c.x-a.x)
	if share <= 0 || share >= cell.mass {
		return
	}
	m.settle(l, a.x, c.x, func() (float64, float64) {
		return m.between(a, l).mass - share, m.density(l)
	})
}

// balanceLowest is the same for the lowest level of a symmetric table.
func (m *Mixture) balanceLowest(zero, l, c *point) {
	if m.between(zero, c).mass <= 0 {
		return
	}
	m.settle(l, zero.x, c.x, func() (float64, float64) {
		below, above := m.between(zero, l).mass, m.between(l, c)
		toL := (c.x-l.x)*above.mass - above.first
		return 2*l.x*below - toL, 2*below + (l.x+c.x)*m.density(l)
	})
}

// settle moves l to the root of f in (a, c). It leaves l in place if the root is too close to a or c.
func (m *Mixture) settle(l *point, a, c float64, f func() (value, slope float64)) {
	old := l.x
	x := root(a, c, func(x float64) (float64, float64) {
		m.move(l, x)
		return f()
	})
	if x <= a || x >= c {
		x = old
	}
	if l.x != x {
		m.move(l, x)
	}
}
