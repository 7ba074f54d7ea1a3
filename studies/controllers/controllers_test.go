package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A short run of each row, and the picture of all.
func TestARunOfEachKind(t *testing.T) {
	var results []result
	for _, r := range rows() {
		r.settings = append(r.settings, "data.name=glyphs", "model.hidden=[4]", "train.batch=2")
		got, err := r.run(t.Context(), plan{rounds: 40, every: 15, compute: time.Millisecond})
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if len(got.steps) != 40 || len(got.scores) != 3 || got.scores[2].time != got.steps[39].Time || got.bits < 2 ||
			got.bits > 8 {
			t.Errorf("%s: %d steps, scores %+v, %v bits", r.name, len(got.steps), got.scores, got.bits)
		}
		results = append(results, got)
	}
	if results[0].scores[2].time >= results[2].scores[2].time {
		t.Error("eight bits are not slower than two")
	}
	picture := filepath.Join(t.TempDir(), "x.png")
	if err := sketch(picture, results); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(picture); err != nil || !bytes.HasPrefix(text, []byte("\x89PNG")) {
		t.Errorf("no picture: %v", err)
	}
}

func TestDocument(t *testing.T) {
	scores := []score{{time.Second, 2, 0.5}, {2 * time.Second, 1, 0.75}, {4 * time.Second, 0.5, 0.875}}
	results := []result{
		{row: row{"good", []string{"a=1"}}, scores: scores, bits: 2.5},
		{row: row{"slow", nil}, scores: []score{{3 * time.Second, 2, 0.25}, {9 * time.Second, 1, 0.9}}, bits: 8},
		{row: row{"bad", nil}, scores: scores[:1], bits: 3, diverged: true, why: "diverged after 1s"},
	}
	spent := []cost{{"MQGrad", 2500 * time.Nanosecond, 5}}
	text := document(results, plan{rounds: 60, every: 20, compute: time.Millisecond}, true, spent, "x.png")
	for _, want := range []string{
		"| bits | mean bits | % at 1.0 s | % at 2.0 s | % at 4.0 s | all rounds, s | % then | test loss then |\n",
		"| good |      2.50 |      50.00 |      75.00 |      87.50 |          4.00 |",
		"| slow |      8.00 |          - |          - |      25.00 |          9.00 |",
		"diverged |",
		"| MQGrad     |       2.50 |               5 |                 0.0500 |              0.0008 |\n",
		"1ms per gradient (measured on this machine)",
		"![Training loss and bits over virtual time](x.png)",
		"-rounds 60 -every 20 -o",
		"    # bad: diverged after 1s\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
