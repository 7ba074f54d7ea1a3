package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// program writes a program for tests.
func program(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTurnsBeginWithEitherProgram(t *testing.T) {
	order := filepath.Join(t.TempDir(), "order")
	spin := "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n"
	f := &field{turns: 2, longest: time.Minute, programs: programs{
		program(t, "before", "echo before $1 $2 >> "+order+"\n"+spin),
		program(t, "after", "echo after $1 $2 >> "+order+"\n"+spin),
	}}
	r := f.measure(t.Context(), "sim", "ring8", "")
	if r.missing != nil || r.before <= 0 || r.after <= 0 || r.ratio <= 0 {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(order)
	if want := "before sim ring8\nafter sim ring8\nafter sim ring8\nbefore sim ring8\n"; string(text) != want {
		t.Errorf("the order is\n%s%v", text, err)
	}
}

func TestAFailedRunIsNamed(t *testing.T) {
	fails := program(t, "fails", "echo one >&2; echo the reason >&2; exit 3\n")
	f := &field{turns: 1, longest: time.Minute, programs: programs{fails, fails}}
	r := f.measure(t.Context(), "lab", "ring8", "train.rounds=4")
	if r.missing == nil || !strings.Contains(r.missing.Error(), "peer lab: exit status 3: the reason") {
		t.Errorf("%v", r.missing)
	}
	if r = f.measure(t.Context(), "sim", "ring8", ""); r.ratio != 0 {
		t.Errorf("a failed run has the ratio %v", r.ratio)
	}
}

func TestPresetsWithFaultsKeepTheirRounds(t *testing.T) {
	f := &field{rounds: 4, dir: "runs"}
	for preset, want := range map[string]string{"ring8": "train.rounds=4", "ring8-faults": ""} {
		if got, err := f.length(preset); got != want || err != nil {
			t.Errorf("%s: %q, %v", preset, got, err)
		}
	}
	if _, err := f.length("script"); err == nil {
		t.Error("a preset that trains a script of the user has a length")
	}
	if got := f.words("sim", "ring8", "train.rounds=4"); !slices.Contains(got, "train.rounds=4") || got[1] != "ring8" {
		t.Errorf("%q", got)
	}
}

func TestTheTableNamesRatiosAndWhatIsMissing(t *testing.T) {
	got := document([]result{
		{preset: "ring8", command: "sim", before: 2, after: 1, ratio: 0.55},
		{preset: "script", missing: errors.New("the reason")},
	}, &field{turns: 3, rounds: 4})
	for _, want := range []string{"3 times each, for 4 rounds", "2.00 |", "1.00 |", "0.55 |", "* script: the reason\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}
