package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"gossiptrainer/internal/experiment"
)

// The list is whole: every run has a digest, and the runs of a lab end like those of the simulator.
func TestListIsWhole(t *testing.T) {
	list := digests(readList(t))
	for _, r := range rows() {
		if len(list[r.name]) != 64 {
			t.Errorf("%s: no digest in %s: go run ./test/digests -write", r.name, file)
		}
		if name, lab := strings.CutPrefix(r.name, "lab "); lab && list[r.name] != list["sim "+name+", four workers"] {
			t.Errorf("%s: lab and sim differ", r.name)
		}
		delete(list, r.name)
	}
	for name := range list {
		t.Errorf("%s: in %s, but no run", name, file)
	}
}

// Results that are kept note the version of results. Programs of one version have the same digests, but for AD-PSGD:
// its pairs have come to ask first within version 2, and its kept results were made again.
func TestOtherDigestsAreAnotherVersion(t *testing.T) {
	const version, sum = 2, "874a7b1f8748251144f4ea0dcf0ffec549d994713a954d4d84834067d70afd43"
	got := sha256.Sum256([]byte(readList(t)))
	if hex.EncodeToString(got[:]) == sum && experiment.ResultsVersion == version {
		return
	}
	t.Errorf("the list or the version has changed: if a digest is another one, raise experiment.ResultsVersion; then "+
		"write version %d and %x into this test", experiment.ResultsVersion, got)
}

func TestDifferencesAreNamed(t *testing.T) {
	err := compare("a\t1\nb\t2\nc\t3\n", "a\t1\nb\t4\nd\t5\n")
	if err == nil || !strings.HasPrefix(err.Error(), "3 differences:") {
		t.Errorf("got %v", err)
	}
	if err := compare("a\t1\n", "a\t1\n"); err != nil {
		t.Error(err)
	}
}

func readList(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("digests.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
