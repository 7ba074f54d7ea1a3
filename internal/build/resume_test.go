package build

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// memories are runs that cover all state that a worker carries from round to round, by default of 14 rounds.
var memories = map[string][]string{
	"moniqua, adaptive":        {"train.rounds=250", "train.schedule=constant"},
	"moniqua, violated":        {"algorithm.theta={rule: fixed, value: 1e-4}"},
	"moniqua, violated, local": {"algorithm.theta={rule: fixed, value: 1e-4}", "algorithm.local_steps=3"},
	"moniqua, measured": {"algorithm.theta={rule: measured, verify: false}", "topology.size=2",
		"train.rounds=40"},
	"moniqua, certified":         {"algorithm.theta={rule: certified, verify: false}"},
	"moniqua, theorem, 5 levels": {"algorithm.levels=5", "algorithm.theta.rule=theorem"},
	"moniqua, 1 bit":             {"algorithm.bits=1", "topology.slack=0.1", "algorithm.theta={rule: fixed, value: 2}"},
	"moniqua, stochastic":        {"algorithm.rounding=stochastic"},
	"moniqua, atc, torus":        {"algorithm.order=atc", "topology={kind: torus, rows: 2, cols: 2}"},
	"moniqua, oland-raj":         {"train.rounds=60", "algorithm.controller={name: oland-raj}"},
	"moniqua, mqgrad":            {"train.rounds=60", "algorithm.controller={name: mqgrad}"},
	"full precision":             {"algorithm.bits=32"},
	"clipped, violated": {"algorithm.clip.liars=1", "topology.kind=complete",
		"algorithm.theta={rule: fixed, value: 1e-4}"},
	"clipped by a radius":        {"algorithm.clip.radius=0.2", "algorithm.bits=32"},
	"full precision, local":      {"algorithm.bits=32", "algorithm.local_steps=4"},
	"constant step, no momentum": {"train.schedule=constant", "train.momentum=0", "train.weight_decay=0.01"},
	"d2":                         {"algorithm.name=d2", "topology.slack=0.6"},
	"d2, local":                  {"algorithm.name=d2", "topology.slack=0.6", "algorithm.local_steps=3"},
	"d2, full":                   {"algorithm.name=d2", "topology.slack=0.6", "algorithm.bits=32"},
	"all-reduce":                 {"algorithm.name=allreduce"},
	"all-reduce, alone":          {"algorithm.name=allreduce", "topology.size=1"},
	"all-gather, error feedback": {"algorithm={name: allreduce, reduce: allgather, error_feedback: true, compressor: " +
		"{name: sign}}"},
	"all-gather, alq": {"algorithm={name: allreduce, reduce: allgather, compressor: {name: alq, refit_at: " +
		"[2, 9], refit_every: 0}}"},
	"server, amq": {"algorithm={name: allreduce, reduce: server, compressor: {name: amq, refit_at: " +
		"[2], refit_every: 6}}"},
	"server, error feedback": {"algorithm={name: allreduce, reduce: server, error_feedback: true, compressor: " +
		"{name: full}}"},
	"server, oland-raj": {"train.rounds=40",
		"algorithm={name: allreduce, reduce: server, controller: {name: oland-raj}}"},
	"qg":              {"algorithm={name: qg}"},
	"qg, certified":   {"algorithm={name: qg, theta: {rule: certified, verify: false}}"},
	"decentlam":       {"algorithm={name: decentlam}", "topology.slack=0.5"},
	"gt":              {"algorithm={name: gt}"},
	"gt, full":        {"algorithm={name: gt, bits: 32}"},
	"gt, measured":    {"algorithm={name: gt, theta: {rule: measured, verify: false}}"},
	"gt, certified":   {"algorithm={name: gt, theta: {rule: certified, verify: false}}"},
	"gt, fixed":       {"algorithm={name: gt, theta: {rule: fixed, value: 1e-4, second: 1e-3}}"},
	"kgt, eta":        {"algorithm={name: kgt, local_steps: 3, update: {eta: 0.5}}"},
	"adamw":           {"train={momentum: 0, optimizer: {name: adamw, clip_norm: 0.5}, weight_decay: 0.01}"},
	"lion, certified": {"train={momentum: 0, optimizer: {name: lion}}", "algorithm.theta.rule=certified"},
	"choco, qsgd":     {"algorithm={name: choco, compressor: {scaled: true}}"},
	"choco, alq, mqgrad, local": {"train.rounds=120",
		"algorithm={name: choco, local_steps: 2, controller: {name: mqgrad}, compressor: {name: alq, scaled: true, " +
			"refit_at: [2, 9]}}"},
	"choco, top-k":         {"algorithm={name: choco, gamma: 0.5, compressor: {name: topk}}"},
	"choco, random-k":      {"algorithm={name: choco, gamma: 0.01, compressor: {name: randomk, scaled: true}}"},
	"choco, sign, local":   {"algorithm={name: choco, local_steps: 3, compressor: {name: sign}}"},
	"choco, bingrad":       {"algorithm={name: choco, gamma: 0.5, compressor: {name: bingrad_b}}"},
	"choco, amqn":          {"algorithm={name: choco, compressor: {name: amqn, scaled: true, refit_at: [1, 8]}}"},
	"deepsqueeze, min-max": {"algorithm={name: deepsqueeze, gamma: 0.5, compressor: {name: minmax}}"},
	"deepsqueeze, local": {"algorithm={name: deepsqueeze, gamma: 0.5, local_steps: 2, compressor: {name: " +
		"minmax, mode: stochastic}}"},
	"dcd, qsgd":   {"algorithm={name: dcd, compressor: {bits: 8}}"},
	"dcd, alqg":   {"algorithm={name: dcd, compressor: {name: alqg, bits: 8, refit_at: [3]}}"},
	"dcd, orq":    {"algorithm={name: dcd, compressor: {name: orq, levels: 129}}"},
	"ecd, linear": {"algorithm={name: ecd, compressor: {name: linear, mode: stochastic}}"},
	"ecd, alqgn, oland-raj": {"algorithm={name: ecd, controller: {name: oland-raj, min_bits: 6}, compressor: " +
		"{name: alqgn, refit_at: [2, 8]}}"},
	"naive, alqn":     {"algorithm={name: naive, compressor: {name: alqn, refit_at: [2, 8]}}"},
	"naive, terngrad": {"algorithm={name: naive, compressor: {name: terngrad}}"},
	"batch normalization, labels": {"model={name: resnet, depth: 8, norm: batch}", "topology.size=2", "train.batch=2",
		"data.partition=labels", "train.rounds=5", "output.evaluate_samples=32"},
}

// remembering assembles a run of some settings over those of a base.
func remembering(t testing.TB, own, base []string) *experiment.Run {
	return over(t, base, append([]string{"algorithm.name=dpsgd"}, own...)...)
}

// bucketsOf are the settings of a base whose compressors have small buckets.
func bucketsOf(n int) []string {
	return []string{"algorithm.name=choco", fmt.Sprintf("algorithm.compressor.bucket=%d", n)}
}

// A run that stops at any round and resumes with new objects equals the run without a stop, bit for bit.
func TestGoingOnIsNeverHavingStopped(t *testing.T) {
	for name := range memories {
		t.Run(name, func(t *testing.T) {
			base := []string{"topology.size=4", "train.rounds=14"}
			if !strings.Contains(name, "normalization") {
				base = append(base, "model.name=quadratic", "model.dim=300")
				base = append(base, bucketsOf(128)...)
			}
			r := remembering(t, memories[name], base)
			rounds := int(r.Config().Train.Rounds)
			at := []int{1, rounds / 2, rounds/2 + 1, min(rounds/2+5, rounds), rounds}
			want, saved := stops(t, r, at)
			for _, k := range at {
				all := resumed(t, r, saved[k])
				if got := digest(t, r, all, 1); got != want {
					t.Errorf("stopped at round %d: digest %s, want %s", k, got, want)
				}
				for i, w := range all {
					var end state.Snapshot
					w.Save(&end)
					for j, part := range end.Tensors {
						if want := saved[rounds][i].Tensors[j]; part.Name != want.Name || !bytes.Equal(part.Data, want.Data) {
							t.Errorf("stopped at round %d: worker %d ends with another %s", k, i, want.Name)
						}
					}
				}
			}
		})
	}
}

// stops runs r to the end and returns its digest, and the states of all workers
// at some rounds.
func stops(t *testing.T, r *experiment.Run, at []int) (digested string, saved map[int][]state.Snapshot) {
	t.Helper()
	all := workers(t, r)
	saved = make(map[int][]state.Snapshot)
	for _, k := range at {
		saved[k] = make([]state.Snapshot, len(all))
	}
	for i, w := range all {
		w.Machine.AtBoundary(func(k int) {
			if saved[k] != nil {
				w.Save(&saved[k][i])
			}
		})
	}
	return digest(t, r, all, 1), saved
}

// A driver copies the state of a worker in nearly every round.
func TestCopiesOfAStateAllocateNothing(t *testing.T) {
	for name := range memories {
		if strings.Contains(name, "normalization") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			base := []string{"topology.size=4", "train.rounds=14", "model.name=quadratic", "model.dim=300"}
			r := remembering(t, memories[name], append(base, bucketsOf(128)...))
			all := workers(t, r)
			digest(t, r, all, 1)
			var s state.Snapshot
			all[0].Save(&s)
			if n := testing.AllocsPerRun(20, func() { all[0].Save(&s) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func resumed(t *testing.T, r *experiment.Run, saved []state.Snapshot) []*Worker {
	t.Helper()
	all := make([]*Worker, len(saved))
	for i := range saved {
		w, err := New(r, topology.Rank(i), &saved[i])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = w
	}
	return all
}

// Workers stop at boundaries that differ by a round. Their neighbours get the messages that they sent before again:
// where a round has one hop, that is enough.
func TestWorkersNeedNotStopInTheSameRound(t *testing.T) {
	for name := range memories {
		if strings.Contains(name, "normalization") || strings.HasPrefix(name, "server") || name == "all-reduce" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			base := []string{"topology.size=4", "train.rounds=14", "model.name=quadratic", "model.dim=300"}
			r := remembering(t, memories[name], append(base, bucketsOf(128)...))
			want, saved := stops(t, r, []int{6, 7})
			mixed := slices.Clone(saved[6])
			for i := range mixed {
				if i%3 == 1 {
					mixed[i] = saved[7][i]
				}
			}
			all := resumed(t, r, mixed)
			for _, w := range all {
				for _, peer := range w.Rows.At(0).Out {
					w.Machine.Link(peer, true)
				}
			}
			if got := digest(t, r, all, 1); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		})
	}
}

// AD-PSGD resumes from states of different steps, and does all remaining steps.
func TestAsynchronousRunsGoOn(t *testing.T) {
	for _, theta := range []string{"{rule: adaptive}", "{rule: measured}", "{rule: fixed, value: 1e-4}"} {
		r := assemble(t, append(slices.Clone(quick), "algorithm.name=adpsgd", "algorithm.theta="+theta, "topology.size=4",
			"train.rounds=60")...)
		all := workers(t, r)
		saved := make([]state.Snapshot, len(all))
		for i, w := range all {
			w.Machine.AtBoundary(func(k int) {
				if k == 20+i {
					w.Save(&saved[i])
				}
			})
		}
		simulate(t, r, all)
		out, res := simulate(t, r, resumed(t, r, saved))
		steps := 0
		for i, n := range out.Rounds {
			steps += n
			if n <= 20+i {
				t.Errorf("%s: worker %d ends at step %d", theta, i, n)
			}
		}
		if steps < 240 || steps > 240+12 {
			t.Errorf("%s: %d steps, want 240 in all", theta, steps)
		}
		for _, one := range res.Models.(score.InMemory) {
			if !vec.Finite(one.X) {
				t.Errorf("%s: a model is not finite", theta)
			}
		}
	}
}
