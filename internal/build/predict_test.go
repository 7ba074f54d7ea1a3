package build

import (
	"strings"
	"testing"

	"gossiptrainer/internal/forecast"
)

// The simulator counts the predicted traffic.
func TestPredictionIsWhatIsSent(t *testing.T) {
	for _, set := range [][]string{
		{"algorithm.bits=32"},
		{"algorithm.bits=32", "topology.kind=path", "topology.size=5"},
		{"algorithm.bits=3", "algorithm.theta={rule: fixed, value: 100, verify: true}"},
		{"algorithm.bits=8", "algorithm.theta={rule: fixed, value: 100, verify: false}"},
		{"algorithm={name: d2, bits: 32}", "topology.slack=0.9"},
		{"algorithm={name: choco, gamma: 0.3, compressor: {name: sign}}"},
		{"algorithm={name: choco, gamma: 0.3, local_steps: 2, compressor: {name: sign}}"},
		{"algorithm={name: choco, gamma: 0.3, compressor: {name: minmax}, controller: {name: mqgrad}}"},
		{"algorithm.controller.name=mqgrad", "algorithm.theta={rule: fixed, value: 100, verify: false}"},
		{"algorithm={name: allreduce}"},
		{"algorithm={name: allreduce, reduce: allgather}"},
		{"algorithm={name: allreduce, reduce: server}"},
	} {
		t.Run(strings.Join(set, " "), func(t *testing.T) {
			r := assemble(t, append([]string{"model={name: quadratic, dim: 304}", "train={rounds: 4, momentum: 0}"}, set...)...)
			out, _ := simulate(t, r, workers(t, r))
			sent := int64(0)
			for _, b := range out.Sent {
				sent += b.Payload
			}
			p := forecast.Predict(r)
			if want := p.Mean * float64(p.Payload) * float64(p.Exchanges*r.N()); float64(sent) != want {
				t.Errorf("%d bytes sent, predicted %v: %+v", sent, want, p)
			}
		})
	}
}
