package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/train"
)

func TestEveryAlgorithmAndCompressorIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range rows("") {
		name, _, _ := strings.Cut(r.name, " ")
		tried["algorithm.name "+name] = true
		tried["algorithm.compressor.name "+r.messages] = true
	}
	for _, key := range configs.Reference() {
		if key.Name != "algorithm.name" && key.Name != "algorithm.compressor.name" {
			continue
		}
		for value := range strings.SplitSeq(key.Allowed, ", ") {
			if !tried[key.Name+" "+value] {
				t.Errorf("%s: %s is not tried", key.Name, value)
			}
		}
	}
}

func TestEndsOfRuns(t *testing.T) {
	tests := []struct {
		set  string
		want end
	}{
		{"algorithm={name: dpsgd, bits: 2}", trained},
		{"algorithm={name: d2, bits: 1}", refused},
		{"algorithm={name: nonsense}", refused},
		{"train={step_size: 10000, schedule: constant}", diverged},
	}
	for _, test := range tests {
		c := newCell(test.set, "topology.size=2", "model.hidden=[16]")
		if c.run(context.Background(), 60); c.end != test.want {
			t.Errorf("%s: %s: %s", test.set, c.text(), c.why)
		}
	}
}

func TestOnlyExpectedRunsMayDiverge(t *testing.T) {
	c := newCell("x")
	c.fail(fmt.Errorf("round 2: %w", train.ErrDiverged))
	if err := unexpected([]row{{name: "dcd", mayDiverge: true, cells: []cell{c}}}); err != nil {
		t.Error(err)
	}
	if err := unexpected([]row{{name: "choco", cells: []cell{c}}}); err == nil ||
		!strings.Contains(err.Error(), "choco (x): round 2") {
		t.Errorf("got %v", err)
	}
	c.warned = true
	if err := unexpected([]row{{name: "allreduce", cells: []cell{c}}}); err != nil {
		t.Errorf("a run of which the program warns: %v", err)
	}
	c.fail(errors.New("a disk"))
	if c.end = broken; unexpected([]row{{name: "dcd", mayDiverge: true, cells: []cell{c}}}) == nil {
		t.Error("a run that could not be made passes")
	}
}

func TestDocument(t *testing.T) {
	text := document([]row{
		{name: "a", messages: "m", cells: []cell{{end: trained, accuracy: 0.5}, {end: refused, why: "too few"},
			{end: diverged}, {end: trained, accuracy: 1}}},
		{name: "b", messages: "full", cells: []cell{{end: trained, accuracy: 0.25}}},
	})
	for _, want := range []string{"| a ", " 50.0 | refused | diverged |  100.0 |", "    too few\n", " 25.0 |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
