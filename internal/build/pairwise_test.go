package build

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/summary"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// simulate runs workers in virtual time, with gradients of a millisecond.
func simulate(t testing.TB, r *experiment.Run, all []*Worker) (sim.Result, summary.Results) {
	t.Helper()
	tasks := Tasks(all)
	for i := range tasks {
		tasks[i].Coding.Entropy = entropy.Huff0
	}
	out, err := sim.Run(t.Context(), tasks, sim.Options{
		Network: shape.Network{Uplink: shape.Link{Rate: 1e9, Latency: 100 * time.Microsecond}},
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(r.Config().Train.Slowdown(rank) * float64(time.Millisecond))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res := summary.Results{Mode: "test", Models: make(score.InMemory, len(all)), Wall: out.Time}
	for i, w := range all {
		res.Models.(score.InMemory)[i].X = w.Machine.Params()
		digest := record.Digest(res.Models.(score.InMemory)[i].X)
		res.Finals = append(res.Finals, record.Final{Rank: i, Rounds: out.Rounds[i], Digest: hex.EncodeToString(digest[:]),
			Time: out.Time, Theta: w.Bound(out.Rounds[i])})
	}
	return out, res
}

func TestAsynchronousRunsRepeatOnVirtualTime(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []string
	}{
		{"full precision", []string{"algorithm.codec=full"}},
		{"moniqua", nil},
		{"moniqua at a fixed theta", []string{"algorithm.theta={rule: fixed, value: 1, verify: false}"}},
		{"moniqua after a warm-up", []string{"algorithm.theta.rule=measured"}},
		{"moniqua nearest, a star", []string{"algorithm.theta={rule: fixed, value: 1}", "algorithm.rounding=nearest",
			"topology.kind=star"}},
		{"slack", []string{"algorithm.codec=full", "topology.slack=0.5"}},
		{"one alone", []string{"algorithm.codec=full", "topology.size=1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var digests []string
			for range 2 {
				r := assemble(t, append(append([]string{"topology.size=5", "algorithm.name=adpsgd", "train.slow={\"0\": 4}"},
					undrawn...), test.set...)...)
				_, res := simulate(t, r, workers(t, r))
				sum, err := combined(r, res.Finals)
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, sum)
			}
			if digests[0] != digests[1] {
				t.Errorf("two runs of the same times end as %v", digests)
			}
		})
	}
}

func TestASlowWorkerHoldsUpSynchronousRunsAlone(t *testing.T) {
	rate := func(set ...string) (out sim.Result, s record.Summary, r *experiment.Run) {
		r = assemble(t, append([]string{
			"topology.size=6", "algorithm.codec=full", "train.slow={\"2\": 4}", "train.rounds=60", "train.batch=4",
			"model.hidden=[8]",
		}, set...)...)
		out, res := simulate(t, r, workers(t, r))
		return out, summarize(t, r, res), r
	}
	_, together, r := rate()
	apart, alone, _ := rate("algorithm.name=adpsgd")
	if alone.Rate < 2.5*together.Rate {
		t.Errorf("%v steps a second, %v in lock-step: want at least 2.5 times as many", alone.Rate, together.Rate)
	}
	if alone.Steps < 360 || alone.Steps > 360+12 || 3*apart.Rounds[2] > slices.Min(apart.Rounds[3:]) {
		t.Errorf("steps %v, want 360 in all, worker 2 a quarter of the others", apart.Rounds)
	}
	if r.Config().Train.Slowdown(2) != 4 || r.Config().Train.Slowdown(1) != 1 {
		t.Errorf("factors %v and %v, want 4 and 1", r.Config().Train.Slowdown(2), r.Config().Train.Slowdown(1))
	}
	evenly := assemble(t, "topology.size=6", "algorithm.codec=full", "train.rounds=60", "train.batch=4",
		"model.hidden=[8]")
	_, res := simulate(t, evenly, workers(t, evenly))
	if got := summarize(t, evenly, res); got.Digest != together.Digest {
		t.Error("a slow worker changes the result of a synchronous run")
	}
}

// Violations between pairs are counted and repaired as in rounds.
func TestViolationsOfPairsAreCountedAndRepaired(t *testing.T) {
	for _, test := range []struct {
		name, theta        string
		violated, verified bool
	}{
		{"adaptive", "{rule: adaptive}", true, true},
		{"far too small", "{rule: fixed, value: 1e-4}", true, true},
		{"large enough", "{rule: fixed, value: 8}", false, true},
		{"far too small, not verified", "{rule: fixed, value: 1e-4, verify: false}", true, false},
		{"large enough, not verified", "{rule: fixed, value: 8, verify: false}", false, false},
	} {
		r := assemble(t, append([]string{"topology.size=3", "algorithm.name=adpsgd", "algorithm.theta=" + test.theta},
			quick...)...)
		_, res := simulate(t, r, workers(t, r))
		got := summarize(t, r, res).Theta
		if got.Violations == nil {
			t.Fatalf("%s: violations are not known, though all workers are here", test.name)
		}
		if (*got.Violations > 0) != test.violated || got.Repaired > *got.Violations ||
			(got.Repaired > 0) != (test.violated && test.verified) {
			t.Errorf("%s: %d violations, %d repaired, want some: %v", test.name, *got.Violations, got.Repaired, test.violated)
		}
		if !(got.Value > 0) {
			t.Errorf("%s: theta %v", test.name, got.Value)
		}
	}
}

// Adaptive comes close to full precision without tuning between pairs, too.
func TestAdaptiveFindsAThetaForPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("trains the preset six times")
	}
	accuracy := func(set ...string) float64 {
		r := assemble(t, append([]string{"algorithm.name=adpsgd", "train.rounds=120", "topology.size=6", "model.hidden=[24]",
			"train.slow={\"2\": 4}"}, set...)...)
		all := workers(t, r)
		_, res := simulate(t, r, all)
		evaluate(t, all, res)
		return *summarize(t, r, res).Accuracy.Mean
	}
	full := accuracy("algorithm.bits=32")
	for _, test := range []struct {
		name string
		set  []string
		lost float64
	}{
		{"8 bits", []string{"algorithm.bits=8"}, 0.01},
		{"4 bits", []string{"algorithm.bits=4"}, 0.015},
		{"8 bits on a star", []string{"algorithm.bits=8", "topology.kind=star"}, 0.015},
		{"1 bit with slack", []string{"algorithm.bits=1", "topology.slack=0.1"}, 0.06},
		{"8 bits, measured", []string{"algorithm.theta.rule=measured"}, 0.01},
	} {
		if got := accuracy(test.set...); got < full-test.lost {
			t.Errorf("%s: accuracy %v, in full precision %v", test.name, got, full)
		}
	}
}

func TestAFixedThetaOfPairsHasARange(t *testing.T) {
	l := load(t, "ring8", "algorithm.name=adpsgd", "algorithm.theta={rule: fixed, value: 1e-40}")
	var wrong *configs.Error
	_, err := experiment.New(l.Config)
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "theta 1e-40 of an exchange") {
		t.Errorf("%v", err)
	}
}
