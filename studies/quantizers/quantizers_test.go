package main

import (
	"math"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// Every row is a valid run with the number of levels that the row names.
func TestSettingsAreAccepted(t *testing.T) {
	for _, r := range rows() {
		loaded, err := configs.Load(configs.Source{File: preset, Set: r.settings})
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		run, err := experiment.New(loaded.Config)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if run.Method().Compresses() != (r.levels > 0) || r.levels > 1<<run.Bits() {
			t.Errorf("%s: %d levels in %d bits", r.name, r.levels, run.Bits())
		}
	}
}

func TestDocumentHasMeanAndSpread(t *testing.T) {
	text := document([]result{
		{row: row{"good", 7, []string{"a=[1]"}}, outcomes: []outcome{{accuracy: 0.8, bits: 3.004, sent: 1234, lost: 0.25},
			{accuracy: 0.82, bits: 3.004, sent: 1234, lost: 0.75}}},
		{row: row{"bad", 0, nil}, outcomes: []outcome{{accuracy: 0.8}, {diverged: true, bits: 32}}},
	}, 30, 2)
	for _, want := range []string{
		"| good      |      7 |               3.00 |        1234 |            0.5 |       81.00 |   1.41 |\n",
		"| bad       |      - |              32.00 |           - |              - |    diverged |      - |\n",
		"peer sim ring8-fashion --set 'a=[1]' --set train.rounds=30 --set seed=1\n",
		"-rounds 30 -seeds 2 -o",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The rows run on quadratics, which need no data.
func TestEveryRowRuns(t *testing.T) {
	for _, r := range rows() {
		r.settings = append(r.settings, "model={name: quadratic, dim: 300}", "topology.size=3")
		got, err := r.run(t.Context(), 12, 1)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if got.diverged || got.sent == 0 || got.bits == 0 || math.IsNaN(got.lost) || (got.lost > 0) != (r.levels > 0) {
			t.Errorf("%s: %+v", r.name, got)
		}
	}
}

func TestARunThatDivergesIsAnOutcome(t *testing.T) {
	r := row{"wild", 2, append(quantized("sign"), "model.name=quadratic", "train.step_size=1e5")}
	got, err := r.run(t.Context(), 200, 1)
	if err != nil || !got.diverged {
		t.Errorf("%+v, %v: want a run that diverges", got, err)
	}
}
