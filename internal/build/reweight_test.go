package build

import (
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

// ring returns the run of n workers on a ring under a policy.
func ring(t *testing.T, n int, policy string) *experiment.Run {
	t.Helper()
	cfg := configs.Default()
	cfg.Topology.Size, cfg.Faults.OnLostNeighbor = n, policy
	cfg.Algorithm.Theta.Rule = "certified"
	r, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCertificateOfARingHoldsForWhatItBecomes: θ of a run that may lose workers is no smaller than the θ of any ring
// that remains.
func TestCertificateOfARingHoldsForWhatItBecomes(t *testing.T) {
	for _, n := range []int{3, 5, 8, 12} {
		most := ring(t, n, "reweight").Modulo().Rule()(100)
		for m := 3; m <= n; m++ {
			if theta := ring(t, m, "wait").Modulo().Rule()(100); theta > most {
				t.Errorf("ring of %d that becomes one of %d: theta %v, certified is %v", n, m, most, theta)
			}
		}
	}
}

func TestClosingOnlyWhereItIsAskedFor(t *testing.T) {
	if c := ring(t, 5, "wait").Closing(1); c != nil {
		t.Errorf("policy wait: closing %v", c)
	}
	c := ring(t, 5, "reweight").Closing(1)
	if c == nil || c.Up[0] != 2 || c.Down[0] != 0 || len(c.Up) != 4 || c.Weight != 1./3 {
		t.Errorf("closing %+v, want 2 and 0 first and a weight of 1/3", c)
	}
	cfg := configs.Default()
	cfg.Topology.Kind, cfg.Faults.OnLostNeighbor = "complete", "reweight"
	r, err := experiment.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Closing(topology.Rank(1)); c != nil {
		t.Errorf("a complete graph has no gap to close: %+v", c)
	}
}
