package main

import (
	"errors"
	"strings"
	"testing"

	"gossiptrainer/configs"
)

// Each driver has a column, with the digests of the three changes.
func TestARowHasTheDigestsOfAllDrivers(t *testing.T) {
	m := method{"dpsgd, full precision", []string{"algorithm.name=dpsgd", "algorithm.codec=full"}}
	cells, err := row(t.Context(), m, "torus", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != 2+len(drivers) || len(strings.Fields(cells[2])) != len(changes) || cells[2] != cells[3] {
		t.Errorf("the cells are %q", cells)
	}
}

func TestMethodsHaveBothCodecs(t *testing.T) {
	var titles []string
	for _, m := range methods() {
		titles = append(titles, m.title)
	}
	all := strings.Join(titles, "; ")
	for _, want := range []string{"dpsgd, full precision", "gt, Moniqua 8 bit", "choco", "allreduce by ring"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
}

func TestRefusals(t *testing.T) {
	for message, want := range map[string]string{"d2 needs another, got star": "",
		"dcd: members cannot come and go: it sends steps": "it sends steps"} {
		if why, refused := refusal(configs.Errorf("topology.kind", "%s", message)); !refused || why != want {
			t.Errorf("%s: %q, %v", message, why, refused)
		}
	}
	if _, refused := refusal(errors.New("full")); refused {
		t.Error("any error is a refusal")
	}
}

// A run of processes has the digest of its log.
func TestALabReplays(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Chdir("../..")
	l, err := newLab(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := method{"gt, full precision", []string{"algorithm.name=gt", "algorithm.codec=full"}}
	if views, err := l.run(t.Context(), m, "torus"); err != nil || views == "1" {
		t.Errorf("%s views, error %v", views, err)
	}
}
