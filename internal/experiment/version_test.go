package experiment

import (
	"slices"
	"testing"

	"gossiptrainer/internal/registry"
)

// A version of its own is one of an algorithm, and a change of all makes the entry needless.
func TestVersionsOfResultsAreOfAlgorithms(t *testing.T) {
	for name, version := range ownResults {
		if !slices.Contains(registry.Names(nil), name) || version <= sharedResults || ResultsVersion(name) != version {
			t.Errorf("ownResults has %s: %d; want an algorithm, and more than %d", name, version, sharedResults)
		}
	}
	if v := ResultsVersion("dpsgd"); v != sharedResults {
		t.Errorf("dpsgd has version %d, want that of all, %d", v, sharedResults)
	}
}
