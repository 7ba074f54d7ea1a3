package glyphs

import "gossiptrainer/internal/rng"

// An affine map takes outline units (height 1, centre 0) to pixels:
// x' = xx·x + xy·y + dx, y' = yx·x + yy·y + dy.
type affine struct{ xx, xy, dx, yx, yy, dy float64 }

// distortion draws the map of one picture: rotation · shear · scale, then shift.
//
// The rotation is given by t = tan(angle/2): cos = (1−t²)/(1+t²),
// sin = 2t/(1+t²). It uses no library function, and a conversion rounds every product
// before it is added, so the result has the same bits everywhere.
func distortion(draw rng.Key) affine {
	within := func(index uint32, limit float64) float64 {
		return float64((2*float64(draw.Uniform(index)) - 1) * limit)
	}
	t := within(drawTan, maxTan)
	tt := float64(t * t)
	cos, sin := (1-tt)/(1+tt), 2*t/(1+tt)
	shear := within(drawShear, maxShear)
	h := height * (1 + within(drawScale, maxScale))
	w := h * (1 + within(drawWidth, maxWidth))
	return affine{
		xx: w * cos, xy: h * (float64(cos*shear) - sin), dx: side/2 + within(drawShiftX, maxShift),
		yx: w * sin, yy: h * (float64(sin*shear) + cos), dy: side/2 + within(drawShiftY, maxShift),
	}
}

// apply adds the mapped outline to the coverage.
func (m affine) apply(o outline, c *coverage) {
	for _, contour := range o {
		prev := m.at(contour[len(contour)-1])
		for _, p := range contour {
			next := m.at(p)
			c.edge(prev, next)
			prev = next
		}
	}
}

func (m affine) at(p point) point {
	return point{
		x: float64(m.xx*p.x) + float64(m.xy*p.y) + m.dx,
		y: float64(m.yx*p.x) + float64(m.yy*p.y) + m.dy,
	}
}
