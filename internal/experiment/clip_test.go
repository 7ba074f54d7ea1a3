package experiment

import (
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
			"worker 0 has 2 neighbours: if 2 of them may lie, it has no neighbour to trust"},
		{"the end of a path", []string{"algorithm={codec: full, clip: {liars: 1}}", "topology.kind=path"}, "--set",
			"worker 0 has 1 neighbour: "},
	})
}
