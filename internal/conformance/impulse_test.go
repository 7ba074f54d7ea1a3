package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// The impulse sums of the rules that the code has.
func TestConformanceImpulses(t *testing.T) {
	var file struct {
		Cases []struct {
			Topology topologySpec
			Impulse  []struct {
				Algorithm json.RawMessage
				Sg, Se    float64
			}
		}
	}
	Load2(t, "theta2.json", &file)
	checked := 0
	for _, c := range file.Cases {
		g := c.Topology.graph(t)
		for _, i := range c.Impulse {
			var a struct {
				Name     string
				Momentum float32
			}
			decode(t, i.Algorithm, &a)
			row, ok := registry.Find(a.Name, "")
			if !ok || !row.Takes.Momentum {
				continue
			}
			checked++
			sums, err := row.Theta.Certificate(g, topology.Spectrum{}, registry.Settings{Momentum: a.Momentum})
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s on %v", a.Name, g.Spec())
			near(t, what+": Sg", sums.S, i.Sg, 1e-6)
			near(t, what+": Se", sums.S1, i.Se, 1e-6)
		}
	}
	if checked == 0 {
		t.Error("no impulse sums of a rule that the code has")
	}
}
