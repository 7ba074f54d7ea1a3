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

// Results that are kept note the version of the results of their algorithm. Programs of one version have the same
// digests.
func TestOtherDigestsAreAnotherVersion(t *testing.T) {
	type version struct {
		results int
		sum     string // of the digests
	}
	versions := map[string]version{
		"adpsgd":      {3, "09e2e10c"},
		"allreduce":   {2, "d709a13d"},
		"choco":       {2, "a2d372f7"},
		"d2":          {2, "f5c4b304"},
		"dcd":         {2, "ced615d0"},
		"deepsqueeze": {2, "3b555437"},
		"dpsgd":       {2, "3f32f9e6"},
		"ecd":         {2, "901dd517"},
		"naive":       {2, "b8735ac6"},
	}
	list, lines := digests(readList(t)), map[string]string{}
	for _, r := range rows() {
		lines[r.algorithm()] += r.name + "\t" + list[r.name] + "\n"
	}
	for name, text := range lines {
		sum := sha256.Sum256([]byte(text))
		if now := (version{experiment.ResultsVersion(name), hex.EncodeToString(sum[:4])}); now != versions[name] {
			t.Errorf("the digests or the version of %s have changed: if a digest is another one, raise ownResults or "+
				"sharedResults of internal/experiment; then write {%d, %q} into this test", name, now.results, now.sum)
		}
		delete(versions, name)
	}
	for name := range versions {
		t.Errorf("%s has a version, but no run", name)
	}
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
