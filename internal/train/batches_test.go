package train

import (
	"testing"

	"gossiptrainer/internal/data"
	"gossiptrainer/model"
)

// glyphs returns the first n training samples of the built-in set.
func glyphs(t *testing.T, n int) data.Set {
	t.Helper()
	source, err := data.Open("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	set, err := source.Train(rows)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// One worker, from a shard to a score: 300 samples are fitted in 150 rounds.
func TestOneWorkerLearnsItsShard(t *testing.T) {
	shard := glyphs(t, 300)
	sampler, err := data.NewSampler(1, 0, shard.Len(), 16)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(model.Spec{Name: "mlp", Shape: shard.Shape, Classes: len(shard.Classes), Batch: 16,
		Hidden: []int{32}})
	if err != nil {
		t.Fatal(err)
	}
	o := newOracle(t, m, FromShard(shard, sampler), Rule{Momentum: 0.9, WeightDecay: 1e-4, Bound: 1})
	steps, err := NewSchedule(StepPlan{Name: "cosine", StepSize: 0.03, Rounds: 150})
	if err != nil {
		t.Fatal(err)
	}
	x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
	m.Init(x, 1)
	e := newEvaluator(t, m, shard, 64)
	before := e.Score(x)
	for k := range 150 {
		if _, err := o.Gradient(g, k, x); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			x[i] -= float32(steps.StepSize(k) * g[i])
		}
	}
	after := e.Score(x)
	if after.Accuracy < 0.95 || after.Loss > before.Loss/5 {
		t.Errorf("%+v before, %+v after", before, after)
	}
}

func TestBatchesOfAShardAllocateNothing(t *testing.T) {
	shard := glyphs(t, 10)
	sampler, err := data.NewSampler(1, 0, shard.Len(), 4)
	if err != nil {
		t.Fatal(err)
	}
	batches, k := FromShard(shard, sampler), 0
	if n := testing.AllocsPerRun(10, func() { batches(k); k++ }); n != 0 {
		t.Errorf("%v allocations per round, want 0", n)
	}
}
