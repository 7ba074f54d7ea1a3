package modulo

import (
	"gossiptrainer/gossip/view"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A Chapter is a view of a run whose members come and go, as far as θ and bits depend on it. In each view the members
// choose them again. The log says with what they begin, and what holds around a change.
type Chapter struct {
	Log  *view.Log
	View int

	Theta []func(k int) float64 // certified, by lane; nil: as the run says
}

// First returns the first exchange of the view.
func (c *Chapter) First() int { return c.Log.At(c.View).First }

// control puts the plan of a control of θ into the view. No control measures after another one has.
func (c *Chapter) control(plan moniqua.ControlPlan, lane int) moniqua.ControlPlan {
	scale := func(v view.Value) float64 { return [...]float64{v.Scale, v.Second}[lane] }
	plan.First = c.First()
	if begin := scale(c.Log.Begin(c.View)); begin > 0 && c.View > 0 {
		plan.Start = begin
	}
	plan.Agreed = func(x int) (float64, bool) {
		v, ok := c.Log.Value(c.View, x)
		return scale(v), ok && scale(v) > 0
	}
	plan.Warm = c.warm()
	return plan
}

// warm reports whether the warm-up of the rule measured is over when the view begins. It is over after a view that has
// an exchange after it: without one, no member knows the result.
func (c *Chapter) warm() bool {
	for v := range c.View {
		diameter := reachOf(c.Log.Graph(v))
		warmup := (diameter + 1) * moniqua.ControlPlan{Diameter: diameter}.Warmup()
		if c.Log.At(v+1).First-c.Log.At(v).First > warmup {
			return true
		}
	}
	return false
}

// Bits returns what the log says about bits.
func (c *Chapter) Bits(x int) (int, bool) {
	v, ok := c.Log.Value(c.View, x)
	return v.Bits, ok && v.Bits > 0
}

// reachOf bounds the exchanges in which a note crosses a graph that loses no workers.
func reachOf(g *topology.Graph) int { return max(g.Reach(), g.Period()) }
