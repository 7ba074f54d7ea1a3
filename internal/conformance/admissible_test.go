package conformance

import (
	"testing"

	"gossiptrainer/internal/registry"
)

// Algorithms that are not built yet have no row.
func TestConformanceAdmissible(t *testing.T) {
	var file struct {
		Cases []struct {
			Algorithm string
			Topology  topologySpec
			Allowed   bool
			Reason    string
		}
	}
	Load2(t, "admissible.json", &file)
	checked := 0
	for _, c := range file.Cases {
		row, built := registry.Find(c.Algorithm, "ring")
		if !built {
			continue
		}
		checked++
		if got := row.On.Kind != "" || c.Topology.Name.Static() || row.On.Changing.Given; got != c.Allowed {
			t.Errorf("%s on %s: allowed %v, want %v (%s)", c.Algorithm, c.Topology.Name, got, c.Allowed, c.Reason)
		}
		if !c.Allowed && row.On.Changing.Why == "" {
			t.Errorf("%s on %s: refused without a reason", c.Algorithm, c.Topology.Name)
		}
	}
	if checked == 0 {
		t.Error("admissible.json: no case of a known algorithm")
	}
}
