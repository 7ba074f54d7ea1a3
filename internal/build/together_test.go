package build

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// All runs end as they would alone, in whatever order they reach a gradient and however far one is ahead.
func TestRunsTogetherEndAsAlone(t *testing.T) {
	for _, set := range [][]string{
		{"algorithm.codec=full"},
		{"algorithm.bits=1", "topology.slack=0.1"},
		{"algorithm={name: choco, gamma: 0.5, compressor: {name: sign}}"},
		{"algorithm.name=allreduce", "algorithm.codec=full", "model={name: quadratic, dim: 100}"},
	} {
		base := append([]string{"topology.size=4"}, quick...)
		r := over(t, base, set...)
		alone := workers(t, r)
		want := digest(t, r, alone, 1)
		other, err := r.Beside(over(t, base, append(set, "limit.rate=1mbit", "output.every=1")...).Config())
		if err != nil {
			t.Fatal(err)
		}
		all, err := Together([]*experiment.Run{r, other})
		if err != nil {
			t.Fatal(err)
		}
		for i, run := range []*experiment.Run{r, other} {
			if got := digest(t, run, all[i], 1+2*i); got != want {
				t.Errorf("%v: run %d of two ends as %s, alone as %s", set, i, got, want)
			}
		}
		for rank, w := range all[1] {
			first := lossOf(t, all[0][rank])
			if second := lossOf(t, w); second != first || first != lossOf(t, alone[rank]) {
				t.Errorf("%v: worker %d scores %v, in the other run %v", set, rank, second, first)
			}
		}
	}
}

func lossOf(t *testing.T, w *Worker) float64 {
	t.Helper()
	s, err := w.Evaluate(w.Machine.Params(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Loss
}

func TestRunsWithNothingToShare(t *testing.T) {
	r := assemble(t, undrawn...)
	for _, test := range []struct{ set, want string }{
		{"seed=2", "may differ only in limit and output"},
		{"train.rounds=13", "may differ only in limit and output"},
		{"limit.links={0-4: {rate: 1mbit}}", "not neighbours"},
	} {
		if _, err := r.Beside(load(t, "", append(undrawn, test.set)...).Config); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.set, err, test.want)
		}
	}
	timed := append([]string{"algorithm.name=adpsgd"}, undrawn...)
	r = assemble(t, timed...)
	_, err := r.Beside(load(t, "", append(timed, "limit.rate=1mbit")...).Config)
	var e *configs.Error
	if !errors.As(err, &e) || e.Problems[0].Key != "algorithm.name" {
		t.Errorf("error %v, want one at algorithm.name", err)
	}
}

// A worker whose model differs from the model of the shared gradient gets an error.
func TestSharedGradientsBelongToOneModel(t *testing.T) {
	r := assemble(t, undrawn...)
	all, err := Together([]*experiment.Run{r, r})
	if err != nil {
		t.Fatal(err)
	}
	x, g := make([]float32, r.Dim()), make([]float32, r.Dim())
	if _, err := all[0][1].Gradient(g, 0, x); err != nil {
		t.Fatal(err)
	}
	again := make([]float32, r.Dim())
	if _, err := all[1][1].Gradient(again, 0, x); err != nil || !reflect.DeepEqual(g, again) {
		t.Errorf("the second run gets another gradient, error %v", err)
	}
	if _, err := all[0][1].Gradient(g, 1, x); err != nil {
		t.Fatal(err)
	}
	x[7] = 1
	if _, err := all[1][1].Gradient(g, 1, x); err == nil ||
		!strings.Contains(err.Error(), "worker 1: round 1: the model depends on the network") {
		t.Errorf("error %v, want that the models differ", err)
	}
}
