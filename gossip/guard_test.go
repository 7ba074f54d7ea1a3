package gossip

import (
	"math"
	"testing"

	"gossiptrainer/algos"
)

func TestTheGuardBelievesMultiplesOfSeenValues(t *testing.T) {
	var g guard
	if got := g.limit(); got != 1<<30 {
		t.Errorf("limit %v before anything was seen, want 2³⁰", got)
	}
	g.mixed(algos.Mixed{Largest: 8})
	g.mixed(algos.Mixed{Largest: 2})
	g.mixed(algos.Mixed{}) // a mixing without observations
	if got := g.limit(); got != 8<<30 {
		t.Errorf("limit %v after two mixings, want 8·2³⁰", got)
	}
	for range beginning {
		g.mixed(algos.Mixed{Largest: 1})
	}
	if got := g.limit(); got != 8<<16 {
		t.Errorf("limit %v with a history, want 8·2¹⁶", got)
	}
	g.mixed(algos.Mixed{Largest: float32(math.Inf(1))})
	if got := g.limit(); got != math.MaxFloat32 {
		t.Errorf("limit %v, want the largest float", got)
	}
}
