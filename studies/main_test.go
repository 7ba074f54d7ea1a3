package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/lab/reproduce"
)

func TestEveryResultHasOneStudy(t *testing.T) {
	t.Chdir("..")
	makers := func(path string) (names []string) {
		for _, s := range studies() {
			if slices.Contains(s.writes, path) || slices.Contains(s.writes, filepath.Dir(path)) {
				names = append(names, s.name)
			}
		}
		return names
	}
	err := filepath.WalkDir("docs/results", func(path string, d fs.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		if err != nil || d.IsDir() || path == "docs/results/README.md" {
			return err
		}
		if names := makers(path); len(names) != 1 {
			t.Errorf("%s: the studies %v write it, want one", path, names)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryStudyExists(t *testing.T) {
	t.Chdir("..")
	names := map[string]bool{"": true, "all": true, "list": true}
	for _, s := range studies() {
		if names[s.name] || s.minutes < 1 || len(s.writes) == 0 {
			t.Errorf("%+v: want a name of its own, minutes and files", s)
		}
		names[s.name] = true
		for _, path := range s.writes {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: what it writes is not there: %v", s.name, err)
			}
		}
		words := strings.Fields(s.command)
		for _, word := range words {
			if strings.HasPrefix(word, "docs/") && !slices.Contains(s.writes, word) {
				t.Errorf("%s: %s: %s is not among the files it writes", s.name, s.command, word)
			}
		}
		source := words[0]
		if words[0] == "go" {
			source = words[2]
		}
		if _, err := os.Stat(source); err != nil {
			t.Errorf("%s: %s: %v", s.name, s.command, err)
		}
	}
}

func TestEveryProgramIsPartOfAStudy(t *testing.T) {
	t.Chdir("..")
	sources := map[string]bool{}
	for _, pattern := range []string{"studies/*/main.go", "studies/*.sh", "studies/*/*.sh"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, path := range found {
			sources[strings.TrimSuffix(filepath.ToSlash(path), "/main.go")] = true
		}
	}
	comparisons, err := filepath.Glob("configs/comparisons/*.yaml")
	if err != nil || len(comparisons) == 0 {
		t.Fatal(comparisons, err)
	}
	for _, path := range comparisons {
		sources[strings.TrimSuffix(filepath.Base(path), ".yaml")] = true
	}
	for _, s := range studies() {
		delete(sources, s.name)
		for _, comparison := range reproduced(t, s) {
			delete(sources, comparison)
		}
		for _, word := range strings.Fields(s.command) {
			delete(sources, strings.TrimPrefix(word, "./"))
		}
	}
	for source := range sources {
		t.Errorf("%s: no study runs it", source)
	}
}

// reproduced returns the comparisons of the papers that a study reproduces.
func reproduced(t *testing.T, s study) (names []string) {
	t.Helper()
	words := strings.Fields(s.command)
	if words[0] != "studies/reproduce.sh" {
		return nil
	}
	for _, name := range words[2:] {
		_, size, err := reproduce.Find(name, words[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range size.Parts {
			names = append(names, p.Comparison)
		}
	}
	return names
}

func TestTheResultsNameTheCommand(t *testing.T) {
	text, err := os.ReadFile("../docs/results/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"go run ./studies list", "go run ./studies all"} {
		if !strings.Contains(string(text), command) {
			t.Errorf("docs/results/README.md does not name %q", command)
		}
	}
}

func TestStudiesAreChosenByName(t *testing.T) {
	all := studies()
	for _, test := range []struct {
		names []string
		want  int // studies; 0: an error
	}{
		{[]string{"all"}, len(all)},
		{[]string{"soak"}, 1},
		{[]string{"soak", "faults"}, 2},
		{[]string{"soak", "all"}, 0},
		{[]string{"soap"}, 0},
		{nil, 0},
	} {
		chosen, err := choose(all, test.names)
		if len(chosen) != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("%v: %d studies, %v, want %d", test.names, len(chosen), err, test.want)
		}
	}
}

func TestTheOthersAreMadeWhenOneFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module example\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	failing := study{name: "failing", command: "go no-such-command"}
	made := study{name: "made", command: "go mod edit -module=made"}
	rooted := study{name: "rooted", command: "go mod edit -module=rooted", needs: []string{root}}
	err := makeAll(t.Context(), []study{failing, made, rooted}, false)
	if err == nil || !strings.Contains(err.Error(), "failing") || strings.Contains(err.Error(), "made") {
		t.Errorf("error %v, want one of the failing study alone", err)
	}
	text, err := os.ReadFile("go.mod")
	if err != nil || !strings.Contains(string(text), "module made") {
		t.Errorf("go.mod: %s, %v: want the module made, by the second study alone", text, err)
	}
}
