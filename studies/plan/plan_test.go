package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/lab/plan"
)

func TestSettingsFollowFromTheSeed(t *testing.T) {
	all := draws(3, 40)
	if !slices.Equal(all, draws(3, 40)) || slices.Equal(all, draws(4, 40)) {
		t.Error("the seed does not decide the settings")
	}
	kinds := map[string]bool{}
	for _, s := range all {
		kinds[s.graph] = true
		if s.peers < 2 || s.peers > 8 || s.rate < 5 || s.rate > 200 || s.latency < 0 || s.latency > 20 || s.steps < 1 ||
			s.steps > 4 || s.rounds < 40 || s.rounds > 600 {
			t.Errorf("%+v is out of range", s)
		}
		file := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(file, []byte(s.runFile()), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := configs.Load(configs.Source{File: file}); err != nil {
			t.Errorf("%s: %v", s.String(), err)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("graphs %v, want four", kinds)
	}
}

func TestProcessorTimeIsRead(t *testing.T) {
	if got := busyOf("cpu  100 20 30 4000 50 6 7 8 0 0"); got != 1630*time.Millisecond {
		t.Errorf("busy %v, want 1.63s", got)
	}
	if got := busyOf("cpu0 1 2"); got != 0 {
		t.Errorf("busy %v of a line that is too short", got)
	}
}

// All figures of the page come from the results.
func TestTheDocumentCountsErrors(t *testing.T) {
	c := plan.Candidate{Algorithm: "dpsgd", Bits: 8, Graph: "ring", Steps: 1}
	predicted := plan.Interval{Value: 0.1, Low: 0.09, High: 0.11}
	results := []result{
		{setting: draws(1, 1)[0], others: 0.1, proofs: []plan.Proof{{Candidate: c, Predicted: predicted, Measured: 0.105,
			Time: &plan.Compare{Predicted: plan.Interval{Value: 3, Low: 2, High: 4}, Measured: 2.5}}}},
		{setting: draws(1, 1)[0], others: 0.8, proofs: []plan.Proof{{Candidate: c, Predicted: predicted, Measured: 0.2}}},
	}
	text := document(results, 20)
	for _, want := range []string{
		"| time of a round, all pairs | 2 | 27.4 % | 50 % | 1 | 50 % |",
		"| time of a round, others below 25 % | 1 | 4.8 % | 5 % | 1 | 100 % |",
		"| time to the target, all pairs | 1 | 20.0 % | 20 % | 1 | 100 % |",
		"2 of 20 settings",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}
