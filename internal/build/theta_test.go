package build

import (
	"math"
	"testing"

	"gossiptrainer/internal/modulo"
)

// A theta far too small is repaired: every message is wrong at some time, but the models equal those of the smallest
// theta without violations, up to the grid. A theta that is large enough needs no repair.
func TestViolationsAreCountedAndRepaired(t *testing.T) {
	tests := []struct {
		name, theta        string
		violated, verified bool
	}{
		{"far too small", "{rule: fixed, value: 1e-4}", true, true},
		{"certified", "{rule: certified}", false, true},
		{"far too small, not verified", "{rule: fixed, value: 1e-4, verify: false}", true, false},
		{"certified, not verified", "{rule: certified, verify: false}", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := assemble(t, append([]string{"topology.size=3", "algorithm.theta=" + test.theta}, quick...)...)
			all := workers(t, r)
			res := drive(t, r, all, 1)
			evaluate(t, all, res)
			got := summarize(t, r, res).Theta
			if got.Violations == nil {
				t.Fatal("violations are not known, though all workers are here")
			}
			if (*got.Violations > 0) != test.violated {
				t.Errorf("%d violations, want some: %v", *got.Violations, test.violated)
			}
			if want := *got.Violations; test.verified && got.Repaired != want || !test.verified && got.Repaired != 0 {
				t.Errorf("%d violations, %d repaired", want, got.Repaired)
			}
		})
	}
}

// A run of scripts may end without a round.
func TestARunWithoutARoundHasNoTheta(t *testing.T) {
	r := assemble(t, append([]string{"topology.size=3", "algorithm.theta={rule: measured}"}, quick...)...)
	for _, w := range workers(t, r) {
		if got := w.Bound(0).Value; got != 0 {
			t.Errorf("worker %d: theta %v, want 0", w.Rank, got)
		}
	}
}

// The adaptive theta comes close to full precision without tuning: with few bits, and with slack.
func TestAdaptiveFindsATheta(t *testing.T) {
	if testing.Short() {
		t.Skip("trains the preset six times")
	}
	accuracy := func(set ...string) float64 {
		r := assemble(t, append([]string{"train.rounds=120", "topology.size=6", "model.hidden=[24]"}, set...)...)
		all := workers(t, r)
		res := drive(t, r, all, 1)
		evaluate(t, all, res)
		return *summarize(t, r, res).Accuracy.Mean
	}
	full := accuracy("algorithm.bits=32")
	tests := []struct {
		name string
		set  []string
		lost float64
	}{
		{"8 bits", []string{"algorithm.bits=8"}, 0.01},
		{"4 bits", []string{"algorithm.bits=4"}, 0.01},
		{"4 bits of d2", []string{"algorithm.bits=4", "algorithm.name=d2", "topology.slack=0.6"}, 0.02},
		{"1 bit with slack", []string{"algorithm.bits=1", "topology.slack=0.1"}, 0.03},
		{"8 bits, measured", []string{"algorithm.theta.rule=measured"}, 0.01},
	}
	for _, test := range tests {
		if got := accuracy(test.set...); got < full-test.lost {
			t.Errorf("%s: accuracy %v, in full precision %v", test.name, got, full)
		}
	}
}

// The first theta follows from the gradients, and with many bits from the grid. Few bits start with the same theta:
// with a smaller one nearly all first messages would need repairs of some bytes per parameter.
func TestFewBitsStartWithTheThetaOfEight(t *testing.T) {
	start := func(bits string) float64 {
		r := assemble(t, append([]string{"algorithm.bits=" + bits}, quick...)...)
		codec, err := r.Modulo().Codec(0, modulo.Place{})
		if err != nil {
			t.Fatal(err)
		}
		return codec.Theta(0)
	}
	eight := start("8")
	for _, bits := range []string{"1", "2", "4"} {
		if got := start(bits); got != eight {
			t.Errorf("%s bits: theta starts at %v, with 8 bits at %v", bits, got, eight)
		}
	}
	if got := start("12"); !(got > eight) {
		t.Errorf("12 bits: theta starts at %v, with 8 bits at %v: its grid need not be finer", got, eight)
	}
}

// Where news travels far, gaps grow before anybody knows of them. Rounds are too few for a change of theta there.
func TestThetaStartsLargerWhereNewsIsLate(t *testing.T) {
	start := func(set ...string) float64 {
		r := assemble(t, append(set, "model={name: quadratic, dim: 20}", "algorithm.theta.rule=adaptive")...)
		codec, err := r.Modulo().Codec(0, modulo.Place{})
		if err != nil {
			t.Fatal(err)
		}
		return codec.Theta(0)
	}
	near := start("topology.size=8")
	for _, same := range [][]string{{"topology.size=15"}, {"topology.kind=complete", "topology.size=40"},
		{"topology.size=256", "algorithm.bits=5"}} {
		if got := start(same...); got != near {
			t.Errorf("%v: theta starts at %v, want %v", same, got, near)
		}
	}
	// On a ring of 256 a note crosses 128 edges, and 2L = 258.
	if got := start("topology.size=256") / near; math.Abs(got-5.01) > 0.01 {
		t.Errorf("a ring of 256: theta starts %v times as large, want 5.01", got)
	}
	if got := start("topology.size=64", "faults.on_lost_neighbor=reweight"); got != near {
		t.Errorf("a ring that loses workers: theta starts at %v, want %v", got, near)
	}
}
