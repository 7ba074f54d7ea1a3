package experiment

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"gossiptrainer/internal/shape"
	"gossiptrainer/report"
	"gossiptrainer/sim"
	"gossiptrainer/topology"
	"gossiptrainer/train"
)

// simulate runs workers on virtual time, a gradient taking a millisecond.
func simulate(t testing.TB, r *Run, all []*Worker) (sim.Result, Results) {
	t.Helper()
	simulated := make([]sim.Worker, len(all))
	for i, w := range all {
		simulated[i] = sim.Worker{Machine: w.Machine, Gradient: w.Gradient, Theta: w.Theta}
	}
	out, err := sim.Run(t.Context(), simulated, sim.Options{
		Network: shape.Network{Uplink: shape.Link{Rate: 1e9, Latency: 100 * time.Microsecond}},
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(r.Slowdown(rank) * float64(time.Millisecond))
		},
		Rounds: r.cfg.Train.Rounds, Every: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	res := Results{Mode: "test", Models: make([][]float32, len(all)), Wall: out.Time}
	for i, w := range all {
		res.Models[i] = w.Machine.Params()
		digest := train.Digest(res.Models[i])
		res.Finals = append(res.Finals, report.Final{Rank: i, Rounds: out.Rounds[i], Digest: hex.EncodeToString(digest[:]), Time: out.Time})
	}
	return out, res
}

func TestAsynchronousRunsRepeatOnVirtualTime(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []string
	}{
		{"full precision", []string{"algorithm.codec=full"}},
		{"moniqua", []string{"algorithm.theta={rule: fixed, value: 1}"}},
		{"moniqua nearest, a star", []string{"algorithm.theta={rule: fixed, value: 1}", "algorithm.rounding=nearest", "topology.kind=star"}},
		{"slack", []string{"algorithm.codec=full", "topology.slack=0.5"}},
		{"one alone", []string{"algorithm.codec=full", "topology.size=1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var digests []string
			for range 2 {
				r := assemble(t, append(append([]string{"topology.size=5", "algorithm.name=adpsgd", "train.slow={\"0\": 4}"}, quick...), test.set...)...)
				_, res := simulate(t, r, workers(t, r))
				sum, err := r.digest(res.Finals)
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
	rate := func(set ...string) (out sim.Result, s report.Summary, r *Run) {
		r = assemble(t, append([]string{
			"topology.size=6", "algorithm.codec=full", "train.slow={\"2\": 4}", "train.rounds=60", "train.batch=4", "model.hidden=[8]",
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
	if r.Slowdown(2) != 4 || r.Slowdown(1) != 1 {
		t.Errorf("factors %v and %v, want 4 and 1", r.Slowdown(2), r.Slowdown(1))
	}
	evenly := assemble(t, "topology.size=6", "algorithm.codec=full", "train.rounds=60", "train.batch=4", "model.hidden=[8]")
	_, res := simulate(t, evenly, workers(t, evenly))
	if got := summarize(t, evenly, res); got.Digest != together.Digest {
		t.Error("a slow worker changes the result of a synchronous run")
	}
}
