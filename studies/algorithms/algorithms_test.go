package main

import (
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
)

func TestSettingsAreAccepted(t *testing.T) {
	for _, r := range rows() {
		if _, err := configs.Load(configs.Source{File: preset, Set: r.settings}); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestDocumentHasEveryRunAndItsCommand(t *testing.T) {
	accuracy := 0.875
	text := document([]result{
		{row: row{"fast", []string{"algorithm.bits=4"}}, costs: costs{
			vectors: 0.5, payload: 1234, compute: time.Millisecond, all: 2500 * time.Microsecond, accuracy: &accuracy}},
		{row: row{"diverges", nil}, code: 5, why: "peer: worker 1: not a number"},
	})
	for _, want := range []string{
		"| algorithm | extra vectors | payload, bytes |",
		"|-----------|--------------:|",
		"| fast      |          0.50 |           1234 |        1.00 |      0.00 |       2.50 |       87.50 |\n",
		"| diverges  |             - |",
		"|      exit 5 |\n",
		"peer lab ring8-fashion --json --set algorithm.bits=4\n",
		"# exit 5: peer: worker 1: not a number\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTypicalTimesAreTheUndisturbed(t *testing.T) {
	var events []record.Event
	for round := 20; round > 0; round-- {
		took := time.Duration(round)
		events = append(events, record.Event{Step: &record.Step{Round: round, Compute: took, Codec: 2 * took}})
	}
	events = append(events, record.Event{Step: &record.Step{}}, record.Event{Status: &record.Status{}})
	if got, want := typical(events), (costs{compute: 3, codec: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := typical(nil); got != (costs{}) {
		t.Errorf("times of no rounds: %+v", got)
	}
}

func TestComplaint(t *testing.T) {
	for text, want := range map[string]string{
		"round=1\npeer: lab: it broke\n  more\n": "peer: lab: it broke",
		"":                                       "no reason given",
	} {
		if got := complaint(text); got != want {
			t.Errorf("complaint(%q) = %q, want %q", text, got, want)
		}
	}
}
