package rehearse

import (
	"testing"

	"gossiptrainer/internal/cost"
)

// Whatever a run sends, its costs are measured: they are above 0 where there is work, and can be read again.
func TestCostsOfRunsAreMeasured(t *testing.T) {
	for _, set := range [][]string{
		{"algorithm.codec=full"},
		{"algorithm.bits=1", "topology.slack=0.1"},
		{"algorithm.bits=8", "wire.entropy=huff0"},
		{"algorithm={name: choco, gamma: 0.5, compressor: {name: sign}}"},
		{"algorithm.name=allreduce", "algorithm.codec=full", "model={name: quadratic, dim: 100000}"},
		{"algorithm.name=adpsgd", "algorithm.codec=full"},
		{"algorithm.local_steps=3"},
	} {
		r := assemble(t, append([]string{"topology.size=4", "model.dim=2500"}, set...)...)
		costs, err := Costs(r)
		if err != nil {
			t.Errorf("%v: %v", set, err)
			continue
		}
		if costs.Gradient <= 0 || costs.Mix <= 0 || costs.Repair <= 0 || costs.Frame != 0 || costs.Link != 0 {
			t.Errorf("%v: %v", set, costs)
		}
		if again, err := cost.Parse(costs.String()); err != nil || again.Costs != costs {
			t.Errorf("%v: %v is read as %v, error %v", set, costs, again, err)
		}
	}
}
