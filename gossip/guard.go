package gossip

import (
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
)

// A guard knows from history what values of messages are absurd: those that are
// a large multiple of the largest magnitude that was ever mixed. What the first
// exchanges hold says little of what follows, because models may begin at 0, so
// the multiple is larger until there is a history, and magnitudes are believed
// that are small in absolute terms.
//
// It is there for what is broken, not for who is clever: who raises the values
// little by little is never caught. Clipped mixing limits what that one can do.
type guard struct {
	largest float32 // ever mixed
	clean   int     // mixings that were measured
}

const (
	beginning = 16      // mixings until there is a history
	steep     = 1 << 30 // times the largest magnitude, before
	sane      = 1 << 16 // and after
	small     = 1       // what is taken for the largest magnitude at least
)

// State shows the history.
func (g *guard) State(v *state.Visit) {
	largest := float64(g.largest)
	v.Double("largest", &largest)
	g.largest = float32(largest)
	state.Int(v, "clean", &g.clean, 0, math.MaxInt)
}

// limit returns the largest magnitude to be believed.
func (g *guard) limit() float32 {
	times := float64(steep)
	if g.clean >= beginning {
		times = sane
	}
	return float32(min(times*float64(max(g.largest, small)), math.MaxFloat32))
}

// mixed enters what a mixing saw.
func (g *guard) mixed(saw algos.Mixed) {
	if saw.Largest > 0 {
		g.largest = max(g.largest, saw.Largest)
		g.clean++
	}
}
