package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestClippingSaysWhatItCosts(t *testing.T) {
	r := assemble(t, append(slices.Clone(undrawn), "algorithm={codec: full, clip: {liars: 1}}")...)
	if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0],
		"the mean of the models moves by more than the gradients") {
		t.Errorf("warnings: %v", w)
	}
	unsure := assemble(t, append(slices.Clone(undrawn),
		"algorithm={theta: {rule: fixed, value: 1, verify: false}, clip: {liars: 1}}")...)
	if w := unsure.Warnings(); len(w) != 2 || !strings.Contains(w[1], "set algorithm.theta.verify: true") {
		t.Errorf("warnings: %v", w)
	}
	all := workers(t, r)
	first := digest(t, r, all, 1)
	if again := digest(t, r, workers(t, r), 3); again != first {
		t.Errorf("the workers of one run in another order: %s and %s", first, again)
	}
	if got := all[0].Machine.ExtraMemory(); got != 4*r.Dim() {
		t.Errorf("%d bytes of extra memory, want one vector", got)
	}
}

func TestLiarsThatOutweighTheirNeighboursAreFound(t *testing.T) {
	areFound(t, []mistake{
		{"two of two", []string{"algorithm={codec: full, clip: {liars: 2}}"}, "--set algorithm",
			"worker 0 has no neighbour to trust: 2 of its 2 may lie"},
		{"the end of a path", []string{"algorithm={codec: full, clip: {liars: 1}}", "topology.kind=path"}, "--set",
			"worker 0 has no neighbour to trust: 1 of its 1 may lie"},
	})
}

// The deviation of a bucket of one coordinate is 0. Clipping at a multiple of it would keep the last parameter where it
// began. The parameters of this model do not depend on each other, so the last one is that of a run without clipping.
func TestClippedCompressorsTrainTheLastParameter(t *testing.T) {
	for _, set := range []string{
		"{name: allreduce, reduce: allgather, compressor: {name: terngrad, bucket: 8, clip: %v}}",
		"{name: choco, gamma: 0.1, compressor: {name: qsgd, bits: 4, scaled: true, bucket: 8, clip: %v}}",
		"{name: deepsqueeze, gamma: 0.1, compressor: {name: sign, bucket: 8, clip: %v}}",
	} {
		var last [2][]float32
		for i, clip := range []float64{0, 2.5} {
			r := assemble(t, "train.rounds=30", "model.name=quadratic", "model.dim=17", "algorithm="+fmt.Sprintf(set, clip))
			all := workers(t, r)
			drive(t, r, all, 1)
			for _, w := range all {
				last[i] = append(last[i], w.Machine.Params()[16])
			}
		}
		if !slices.Equal(last[0], last[1]) {
			t.Errorf("%s: the last parameter is %v with clipping, %v without", set, last[1], last[0])
		}
	}
}
