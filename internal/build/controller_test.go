package build

import (
	"slices"
	"strings"
	"testing"
)

// Settings with which each algorithm runs under a controller.
var steered = [][]string{
	{"topology.size=5"},
	{"algorithm.order=atc", "algorithm.theta={rule: measured, verify: false}"},
	{"algorithm.theta={rule: certified, verify: true}", "algorithm.controller.min_bits=4", "topology.slack=0.5"},
	{"algorithm.name=d2", "topology.slack=0.9", "algorithm.local_steps=2", "train.rounds=60"},
	{"algorithm.name=choco", "algorithm.compressor={name: minmax, bucket: 100}", "algorithm.gamma=0.3"},
	{"algorithm.name=choco", "algorithm.compressor={name: qsgd, scaled: true}", "algorithm.gamma=0.3",
		"topology.kind=star"},
	{"algorithm.name=deepsqueeze", "algorithm.compressor.name=minmax", "algorithm.gamma=0.3"},
	{"algorithm.name=dcd", "algorithm.compressor={name: minmax, mode: stochastic}", "algorithm.controller.min_bits=4"},
	{"algorithm.name=ecd", "algorithm.compressor={name: minmax, mode: stochastic}", "algorithm.controller.min_bits=6"},
	{"algorithm.name=naive", "algorithm.compressor.name=minmax"},
	{"algorithm={name: allreduce, reduce: allgather, error_feedback: true}",
		"algorithm.compressor={name: nuqsgd, scaled: true, bucket: 64}"},
	{"algorithm={name: allreduce, reduce: allgather}", "algorithm.compressor={name: alq, bucket: 64}"},
	{"algorithm={name: allreduce, reduce: server}", "algorithm.compressor={name: minmax, mode: stochastic}"},
}

// In any order of the workers a run with a controller is the same, its workers use the same bits in every round, and
// the bits change.
func TestControlledRunsAreFunctionsOfTheRunFile(t *testing.T) {
	for _, set := range steered {
		for _, name := range []string{"oland-raj", "mqgrad"} {
			t.Run(name+" "+strings.Join(set, " "), func(t *testing.T) {
				args := slices.Concat([]string{"model={name: quadratic, dim: 300, spread: 0.05}",
					"train={rounds: 40, momentum: 0, step_size: 0.3}", "algorithm.controller.name=" + name}, set)
				r := assemble(t, args...)
				all := workers(t, r)
				first := digest(t, r, all, 1)
				if again := digest(t, r, workers(t, r), r.N()-1); again != first {
					t.Errorf("the workers of one run in another order: %s and %s", first, again)
				}
				v := all[0].Bound(int(r.Config().Train.Rounds)).Violations
				if r.Config().Algorithm.Theta.Rule == "certified" && *v != 0 {
					t.Errorf("%d violations of a certified theta", *v)
				}
				mean := all[0].MeanBits()
				for i, w := range all {
					last := int(r.Config().Train.Rounds) - 1
					if w.Bits(last) != all[0].Bits(last) || w.MeanBits() != mean {
						t.Errorf("worker %d: %d bits in the end and %v on average, worker 0: %d and %v", i, w.Bits(last), w.MeanBits(),
							all[0].Bits(last), mean)
					}
				}
				c := r.Config().Algorithm.Controller
				if mean <= float64(c.MinBits) || mean >= float64(c.MaxBits) || r.Bits() != c.MaxBits {
					t.Errorf("%v bits on average of %d to %d: want a change; at most %d", mean, c.MinBits, c.MaxBits, r.Bits())
				}
			})
		}
	}
}

func TestControllersWithoutBitsAreFoundAtTheirKeys(t *testing.T) {
	areFound(t, []mistake{
		{"a compressor without bits", []string{"algorithm.name=choco", "algorithm.compressor.name=topk",
			"algorithm.controller.name=mqgrad"},
			"--set algorithm.controller.name=mqgrad", "the compressor topk has no bits to choose"},
		{"bits that the compressor does not have", []string{"algorithm.name=choco",
			"algorithm.compressor={name: qsgd, scaled: true}", "algorithm.controller.name=mqgrad",
			"algorithm.controller.max_bits=9"},
			"--set", "9 bits"},
		{"too few bits for a certificate", []string{"algorithm.theta={rule: certified}", "algorithm.controller.name=mqgrad"},
			"--set algorithm.theta", "no certificate"},
	})
}
