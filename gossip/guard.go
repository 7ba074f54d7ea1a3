package gossip

import (
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
)

// A guard learns from history which magnitudes of messages are absurd: large multiples of the largest one ever mixed.
// Models may begin at 0, so the first exchanges say little of later ones. Until there is a history, the multiple is
// therefore larger. Magnitudes that are small in absolute terms always pass.
//
// The guard protects from broken workers, not from a clever attacker, which can raise its values little by little.
// Clipped mixing limits the effect of such an attacker.
type guard struct {
	largest float32 // magnitude ever mixed
	clean   int     // mixings that were measured
}

const (
	beginning = 16      // mixings until there is a history
	steep     = 1 << 30 // times the largest magnitude, before
	sane      = 1 << 16 // and after
	small     = 1       // the least value that counts as the largest magnitude
)

// State shows the history.
func (g *guard) State(v *state.Visit) {
	largest := float64(g.largest)
	v.Double("largest", &largest)
	g.largest = float32(largest)
	state.Int(v, "clean", &g.clean, 0, math.MaxInt)
}

// limit returns the largest magnitude that passes.
func (g *guard) limit() float32 {
	times := float64(steep)
	if g.clean >= beginning {
		times = sane
	}
	return float32(min(times*float64(max(g.largest, small)), math.MaxFloat32))
}

// mixed enters the observations of a mixing.
func (g *guard) mixed(saw algos.Mixed) {
	if saw.Largest > 0 {
		g.largest = max(g.largest, saw.Largest)
		g.clean++
	}
}
