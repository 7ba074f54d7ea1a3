package conformance

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// later says why no test compares a file of the second set with the code yet.
const later = "not built yet"

// second lists the files of the second set by name, with the test that compares each with the code.
var second = []struct{ name, test string }{
	{"address.json", "TestConformanceAddress"},
	{"admissible.json", "TestConformanceAdmissible"},
	{"behaviour.json", "TestConformanceBehaviour2"},
	{"half.json", later},
	{"optimizer.json", "TestConformanceOptimizer"},
	{"quantizers.json", later},
	{"runs", "TestConformanceRuns"},
	{"schedule.json", "TestConformanceSchedule"},
	{"sparse.json", later},
	{"text.json", later},
	{"theta2.json", "TestConformanceDirectionBound"},
	{"transformer.json", later},
}

// unbuilt lists the algorithms and settings of the second set that the code does not have yet. Runs
// with them are left out.
var unbuilt = struct {
	algorithms, settings, compressors []string
}{
	[]string{"outer", "gasloc", "lead", "motef", "swarm"},
	[]string{"sparse", "half"},
	[]string{"half"},
}

// built reports whether the code has all that an algorithm of the second set needs.
func built(t *testing.T, algorithm json.RawMessage) bool {
	t.Helper()
	var a struct {
		Name       string
		Compressor struct{ Name string }
	}
	decode(t, algorithm, &a)
	var settings map[string]json.RawMessage
	decode(t, algorithm, &settings)
	for name := range settings {
		if slices.Contains(unbuilt.settings, name) {
			return false
		}
	}
	return !slices.Contains(unbuilt.algorithms, a.Name) &&
		!slices.Contains(unbuilt.compressors, a.Compressor.Name)
}

// loadRuns2 reads the run files of the second set that the code can run.
func loadRuns2(t *testing.T) []runFile {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir2(), "runs", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no run files in %s (%v)", Dir2(), err)
	}
	var runs []runFile
	for _, file := range files {
		name := path.Join("runs", filepath.Base(file))
		var head struct {
			Name      string
			Algorithm json.RawMessage
		}
		if Load2(t, name, &head); !built(t, head.Algorithm) {
			continue
		}
		var r runFile
		Load2(t, name, &r)
		if row, _ := r.Algorithm.row(); max(1, len(row.Lanes())) != r.Lanes {
			t.Errorf("%s: %d lanes, its row has %d", r.Name, r.Lanes, len(row.Lanes()))
		}
		runs = append(runs, r)
	}
	return runs
}

// Every file of the second set is in the table, and its test exists.
func TestConformanceCoverage2(t *testing.T) {
	entries, err := os.ReadDir(Dir2())
	if err != nil {
		t.Fatal(err)
	}
	tests := testsHere(t)
	for _, entry := range entries {
		at, ok := slices.BinarySearchFunc(second, entry.Name(), func(row struct{ name, test string }, name string) int {
			return cmp.Compare(row.name, name)
		})
		switch {
		case entry.Name() == "README.md":
		case !ok:
			t.Errorf("%s: no test is named for it", entry.Name())
		case second[at].test != later && !tests[second[at].test]:
			t.Errorf("%s: there is no %s", entry.Name(), second[at].test)
		}
	}
}
