package build

import (
	"strings"
	"testing"
)

func TestAutomaticSlack(t *testing.T) {
	tests := []struct {
		name string
		set  string
		want float64
	}{
		{"8 bits", "", 1},
		{"full precision", "algorithm.bits=32", 1},
		{"4 bits on a torus", "topology.kind=torus topology.rows=4 topology.cols=4 algorithm.bits=4", 1},
		{"4 bits, complete", "topology.kind=complete topology.size=32 algorithm.bits=4", 1},
		{"3 bits", "algorithm.bits=3", 1},
		{"2 bits", "algorithm.bits=2", 0.58},
		{"3 levels", "algorithm.levels=3", 0.39},
		{"1 bit", "algorithm.bits=1", 0.2},
		{"1 bit, complete", "topology.kind=complete algorithm.bits=1", 0.2},
		{"1 bit on a star", "topology.kind=star algorithm.bits=1", 0.3},
		{"1 bit on a torus", "topology.kind=torus topology.rows=4 topology.cols=8 algorithm.bits=1", 0.2},
		{"1 bit, exponential", "topology.kind=exponential topology.size=32 algorithm.bits=1", 0.2},
		{"1 bit to the nearest", "algorithm.bits=1 algorithm.rounding=nearest", 0.2},
		{"2 bits, shared", "algorithm.bits=2 algorithm.rounding=shared", 0.39},
		{"2 bits, each for itself", "algorithm.bits=2 algorithm.rounding=stochastic", 0.15},
		{"4 bits, each for itself", "algorithm.bits=4 algorithm.rounding=stochastic", 1},
		{"a controller from 2 bits", "algorithm.controller.name=oland-raj", 0.58},
		{"1 bit in pairs", "algorithm.name=adpsgd algorithm.bits=1", 0.2},
		{"2 bits in pairs", "algorithm.name=adpsgd algorithm.bits=2", 0.6},
		{"d2 on an even ring", "algorithm.name=d2", 0.9},
		{"d2 on an odd ring", "algorithm.name=d2 topology.size=5", 1},
		{"d2 on a torus", "algorithm.name=d2 topology.kind=torus topology.rows=4 topology.cols=4 algorithm.bits=32", 0.75},
		{"d2 with 3 bits", "algorithm.name=d2 algorithm.bits=3", 0.61},
		{"one worker", "topology.size=1 algorithm.bits=1", 1},
		{"its own choice", "algorithm.bits=1 topology.slack=0.7", 0.7},
	}
	for _, test := range tests {
		r := assemble(t, strings.Fields(test.set)...)
		if got := r.Graph().Spec().Slack; got != test.want {
			t.Errorf("%s: slack %v, want %v", test.name, got, test.want)
		}
		if got := r.Config().Topology.Slack; float64(got) != test.want {
			t.Errorf("%s: the configuration holds slack %v, want %v", test.name, got, test.want)
		}
	}
}
