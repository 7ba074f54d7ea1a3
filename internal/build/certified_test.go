package build

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	batch "gossiptrainer/model/sample"
	"gossiptrainer/topology"
)

// A gradient writes what a worker sees in round k.
type gradient func(g []float32, rank topology.Rank, k int)

// A chosen objective takes its gradients from a test.
type chosen struct {
	model.Objective
	fill func(g []float32)
}

func (o chosen) Gradient(g, _ []float32, _ batch.Batch) float32 {
	o.fill(g)
	return 1
}

// choose gives all workers gradients that a test chooses, under the optimizer and the bound of the run.
func choose(t testing.TB, r *experiment.Run, all []*Worker, of gradient) {
	t.Helper()
	plain, err := model.New(model.Spec{Name: "quadratic", Dim: r.Dim()})
	if err != nil {
		t.Fatal(err)
	}
	rule := experiment.Directions(r.Config().Train)
	rule.Bound = experiment.UpdateBound(r)
	for _, w := range all {
		round := 0
		batches := func(k int) batch.Batch {
			round = k
			return batch.Batch{}
		}
		objective := chosen{plain, func(g []float32) { of(g, w.Rank, round) }}
		oracle, err := train.NewOracle(int(w.Rank), objective, batches, rule)
		if err != nil {
			t.Fatal(err)
		}
		w.Gradient = oracle.Gradient
	}
}

// violations runs workers with chosen gradients and returns how many messages receivers recovered wrongly.
func violations(t testing.TB, r *experiment.Run, of gradient) (wrong int64) {
	t.Helper()
	all := workers(t, r)
	choose(t, r, all, of)
	drive(t, r, all, 1)
	for _, w := range all {
		wrong += *w.Bound(int(r.Config().Train.Rounds)).Violations
	}
	return wrong
}

// hostile are gradients that drive workers apart, in coordinates of different signs.
func hostile() map[string]gradient {
	sign := func(negative bool) float32 {
		if negative {
			return -1
		}
		return 1
	}
	return map[string]gradient{
		"random": func(g []float32, rank topology.Rank, k int) {
			noise := rng.At(rng.Stream(9, int(rank)), k)
			for c := range g {
				g[c] = 100 * (2*noise.Uniform(uint32(c)) - 1)
			}
		},
		"alternating": func(g []float32, rank topology.Rank, k int) {
			for c := range g {
				g[c] = 50 * sign((k/(1+c%4)+int(rank))%2 == 0)
			}
		},
		"two groups": func(g []float32, rank topology.Rank, _ int) {
			for c := range g {
				g[c] = 50 * sign(int(rank)>>(c%4)%2 == 0)
			}
		},
		"growing": func(g []float32, rank topology.Rank, k int) { // AdamW comes near its bound
			for c := range g {
				g[c] = sign(int(rank)>>(c%4)%2 == 0) * float32(math.Pow(0.95/0.9, float64(k)))
			}
		},
	}
}

// optimizers are the ways from gradients to directions, with the rules that bound them.
var optimizers = [][]string{
	{"algorithm.theta.bound=2"},
	{"algorithm.theta.bound=0.5", "train.momentum=0.9"},
	{"train.optimizer={name: adamw, beta1: 0.9, beta2: 0.95}", "algorithm.theta.bound=0"},
	{"train.optimizer={name: adamw, beta1: 0.9, beta2: 0.999, clip_norm: 3}", "train.weight_decay=0.1"},
	{"train.optimizer={name: lion, clip_norm: 1}", "train.weight_decay=0.1"},
}

// drawCertified draws the settings of a run with the rule certified. It leaves out the bits.
func drawCertified(t *rapid.T) []string {
	name := rapid.SampledFrom([]string{"dpsgd", "d2", "qg", "decentlam", "gt", "kgt"}).Draw(t, "algorithm")
	still := []string{"ring", "torus", "exponential", "complete"}
	periodic := []string{"one-peer-exponential", "one-peer-hypercube", "base2", "static-exponential"}
	var kinds []string
	switch name {
	case "d2", "decentlam":
		kinds = still
	case "qg": // has no impulse sums where exchanges never repeat
		kinds = slices.Concat(still, periodic)
	default:
		kinds = slices.Concat(still, periodic, []string{"random-shift", "random-matching"})
	}
	kind, n := rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(3, 9).Draw(t, "workers")
	set := []string{
		"model={name: quadratic, dim: 40}", "train.momentum=0", "algorithm.name=" + name, "topology.kind=" + kind,
		"train.rounds=" + fmt.Sprint(rapid.IntRange(20, 60).Draw(t, "rounds")),
		"train.warmup=" + fmt.Sprint(rapid.SampledFrom([]int{0, 1, 7, 15}).Draw(t, "warm-up")),
		"algorithm.theta.rule=certified",
		"algorithm.rounding=" + rapid.SampledFrom([]string{"dither", "nearest"}).Draw(t, "rounding"),
		"seed=" + fmt.Sprint(rapid.Uint32Range(1, 1000).Draw(t, "seed")),
	}
	switch kind {
	case "torus":
		set = append(set, "topology={kind: torus, rows: 2, cols: 3}")
	case "one-peer-hypercube":
		set = append(set, "topology.size=8")
	default:
		set = append(set, "topology.size="+fmt.Sprint(n))
	}
	schedules := [][]string{{"train.schedule=constant"}, {"train.schedule=cosine"}, {"train.schedule=linear"},
		{"train.schedule=step", "train.drop={every: 6, factor: 0.2}"}}
	set = append(set, rapid.SampledFrom(schedules).Draw(t, "schedule")...)
	if name == "dpsgd" || name == "kgt" {
		set = append(set, "algorithm.local_steps="+fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "local steps")))
	}
	if name == "qg" || name == "decentlam" {
		return append(set, "algorithm.theta.bound=2", "algorithm.update.momentum=0.9")
	}
	return append(set, rapid.SampledFrom(optimizers).Draw(t, "optimizer")...)
}

// certified assembles drawn settings with the fewest bits that have a certificate.
func certified(set []string) (*experiment.Run, error) {
	var refused error
	for _, bits := range []string{"3", "4", "6", "8", "12", "16"} {
		l, err := configs.Load(configs.Source{Set: append(slices.Clone(set), "algorithm.bits="+bits)})
		if err != nil {
			return nil, err
		}
		r, err := experiment.New(l.Config)
		if err == nil {
			return r, nil
		}
		refused = err
	}
	return nil, refused
}

// With the certified theta no message is recovered wrongly: on every kind of graph, for every update rule that has a
// certificate, under all optimizers, schedules, warm-ups and clips.
func TestCertifiedThetaIsNeverWrong(outer *testing.T) {
	inputs := hostile()
	rapid.Check(outer, func(t *rapid.T) {
		set := drawCertified(t)
		r, err := certified(set)
		if err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(inputs))).Draw(t, "gradients")
		if wrong := violations(outer, r, inputs[name]); wrong > 0 {
			t.Fatalf("%d messages are recovered wrongly with %d bits under %s gradients: %s", wrong,
				r.Config().Algorithm.Bits, name, strings.Join(set, " "))
		}
	})
}
