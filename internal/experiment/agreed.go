package experiment

import (
	"gossiptrainer/gossip/view"
	"gossiptrainer/moniqua"
)

// first returns the first exchange of the view.
func (c *chapter) first() int { return c.log.At(c.view).First }

// control puts the plan of a control of θ into the view. No control measures after another one has.
func (c *chapter) control(plan moniqua.ControlPlan, lane int) moniqua.ControlPlan {
	scale := func(v view.Value) float64 { return [...]float64{v.Scale, v.Second}[lane] }
	plan.First = c.first()
	if begin := scale(c.log.Begin(c.view)); begin > 0 && c.view > 0 {
		plan.Start = begin
	}
	plan.Agreed = func(x int) (float64, bool) {
		v, ok := c.log.Value(c.view, x)
		return scale(v), ok && scale(v) > 0
	}
	plan.Warm = c.warm()
	return plan
}

// warm reports whether the warm-up of the rule measured is over when the view begins. It is over after a view that has
// an exchange after it: without one, no member knows the result.
func (c *chapter) warm() bool {
	for v := range c.view {
		diameter := reachOf(c.log.Graph(v))
		warmup := (diameter + 1) * moniqua.ControlPlan{Diameter: diameter}.Warmup()
		if c.log.At(v+1).First-c.log.At(v).First > warmup {
			return true
		}
	}
	return false
}

// bits returns what the log says about bits.
func (c *chapter) bits(x int) (int, bool) {
	v, ok := c.log.Value(c.view, x)
	return v.Bits, ok && v.Bits > 0
}
