package study

import (
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// cutLosses ends the axes of losses at twice the largest first loss. Otherwise a run that diverges would flatten the
// other curves.
func cutLosses(groups []*Group, panels ...*chart.Panel) {
	top := 0.0
	for _, g := range groups {
		for _, run := range g.runs {
			if losses := record.Smooth(run.moments); len(losses) > 0 && losses[0] > 0 {
				top = max(top, 2*losses[0])
			}
		}
	}
	for _, p := range panels {
		if top > p.Y.Min {
			p.Y.Max = min(p.Y.Max, top)
		}
	}
}

// slug turns a name into a file name.
func slug(name string) string {
	out := []rune(name)
	for i, r := range out {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' {
			out[i] = '-'
		}
	}
	return string(out)
}

// gridPoints is how many points a curve over several seeds has.
const gridPoints = 200

// curveOf pairs x of the moments with values. It omits points that are not numbers or at which x does not rise.
func curveOf(at []record.Moment, values []float64, x func(record.Moment) float64) plotter.XYs {
	var curve plotter.XYs
	for i, v := range values {
		now := x(at[i])
		if record.Number(v) != nil && (len(curve) == 0 || now > curve[len(curve)-1].X) {
			curve = append(curve, plotter.XY{X: now, Y: v})
		}
	}
	return curve
}

// combine returns the mean of curves on a common grid, which may be logarithmic, and the outline of their range.
func combine(curves []plotter.XYs, logarithms bool) (mean, band plotter.XYs) {
	from, to := math.Inf(-1), math.Inf(1)
	for _, c := range curves {
		if len(c) == 0 {
			return nil, nil
		}
		from, to = max(from, c[0].X), min(to, c[len(c)-1].X)
	}
	if len(curves) == 0 || to < from {
		return nil, nil
	}
	var lower plotter.XYs
	for i := range gridPoints {
		share := float64(i) / (gridPoints - 1)
		at := from + (to-from)*share
		if logarithms {
			at = from * math.Pow(to/from, share)
		}
		sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
		for _, c := range curves {
			v := interpolate(c, at)
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		mean = append(mean, plotter.XY{X: at, Y: sum / float64(len(curves))})
		band = append(band, plotter.XY{X: at, Y: most})
		lower = append(lower, plotter.XY{X: at, Y: least})
	}
	slices.Reverse(lower)
	return mean, append(band, lower...)
}

// interpolate reads a curve at x, within its range.
func interpolate(c plotter.XYs, x float64) float64 {
	i, _ := slices.BinarySearchFunc(c, x, func(p plotter.XY, x float64) int {
		if p.X < x {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return c[0].Y
	case i == len(c):
		return c[i-1].Y
	}
	a, b := c[i-1], c[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}
