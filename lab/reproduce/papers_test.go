package reproduce

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// All papers have all sizes, and every claim says where the paper makes it.
func TestPapers(t *testing.T) {
	for _, p := range papers() {
		var sizes []string
		for _, s := range p.Sizes {
			sizes = append(sizes, s.Name)
			if !strings.HasSuffix(s.About, ".") || len(s.Parts) == 0 {
				t.Errorf("%s, %s: about %q, %d parts", p.Name, s.Name, s.About, len(s.Parts))
			}
		}
		if !slices.Equal(sizes, SizeNames()) {
			t.Errorf("%s has the sizes %v, want %v", p.Name, sizes, SizeNames())
		}
		seen := map[string]bool{}
		for _, c := range p.Claims {
			if seen[c.Words] || c.Place == "" || !strings.HasSuffix(c.Words, ".") {
				t.Errorf("%s: claim %q: twice, without a place, or no sentence", p.Name, c.Words)
			}
			seen[c.Words] = true
			if len(c.Checks) == 0 && c.Note == "" {
				t.Errorf("%s: claim %q is never tested, and no note says why", p.Name, c.Words)
			}
		}
	}
}

// A file with unknown words is refused. The error names the file, and the line or the claim.
func TestPapersAreReadStrictly(t *testing.T) {
	const good = `title: T
networks: {slow: 1 Mbit/s}
sizes:
  - {name: minutes, parts: [{name: fig1, comparison: d2}]}
claims:
  - words: A is better.
    quote: "A: better"
    checks: [{is: above, in: [fig1], on: slow, a: [A], than: [B], by: 2}]
printed:
  - {says: '91 %', what: final accuracy, of: A, number: 91, in: [fig1]}
`
	p, err := readPaper("papers/x.yaml", []byte(good))
	if err != nil || p.Name != "x" || p.Claims[0].Quote != "A: better" || p.Claims[0].Checks[0].Network != "1 Mbit/s" ||
		*p.Printed[0].Number != 91 {
		t.Errorf("%+v, error %v", p, err)
	}
	for _, test := range [][3]string{
		{"title: T", "titel: T", `papers/x.yaml:1: unknown field "titel"`},
		{"by: 2", "bye: 2", `papers/x.yaml:8: unknown field "bye"`},
		{"    quote", "    words: B.\n    quote", `papers/x.yaml:7: mapping key "words" already defined`},
		{"by: 2", "by: two", "papers/x.yaml:8: "},
		{"  - words", "  words", "papers/x.yaml:6: "},
		{"is: above", "is: over", `papers/x.yaml: claim "A is better.": is: "over": want one of within, above, above-then`},
		{"on: slow", "on: fast", `claim "A is better.": on: "fast": want one of slow`},
		{"in: [fig1], on", "in: [fig2], on", `claim "A is better.": in: "fig2": no size has this part`},
		{"what: final", "what: first", `printed "91 %": what: "first accuracy": want one of final accuracy`},
		{"91, in: [fig1]", "91, in: [fig2]", `printed "91 %": in: "fig2": no size has this part`},
	} {
		_, err := readPaper("papers/x.yaml", []byte(strings.Replace(good, test[0], test[1], 1)))
		if err == nil || !strings.Contains(err.Error(), test[2]) {
			t.Errorf("%q for %q: error %v, want %s", test[1], test[0], err, test[2])
		}
	}
}

// Every part is a comparison whose cells are legal with the settings of the part.
func TestPartsAreLegal(t *testing.T) {
	for _, p := range papers() {
		for _, s := range p.Sizes {
			for _, part := range s.Parts {
				file := loadPart(t, part)
				for _, cell := range file.Cells() {
					if cell.Seed != file.Seeds[0] || cell.Network != file.Networks[0].Name {
						continue
					}
					for _, c := range cell.Tune {
						cell.Set = append(cell.Set, configs.Override{Key: c.Key, Value: c.Values[0]})
					}
					_, err := configs.Load(configs.Source{File: file.Base, Env: os.Environ(), Set: configs.Arguments(cell.Set),
						All: part.Set})
					if err != nil {
						t.Errorf("%s, %s: %s of %s: %v", p.Name, s.Name, cell, part.Comparison, err)
					}
				}
			}
		}
	}
}

// loadedParts are the comparisons of parts. No test changes one, and it takes seconds to check the cells of one.
var loadedParts = map[string]*configs.Comparison{}

func loadPart(t *testing.T, p Part) *configs.Comparison {
	t.Helper()
	settings := fmt.Sprint(p.Comparison, p.Loss, p.Seeds)
	if file, ok := loadedParts[settings]; ok {
		return file
	}
	file, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	loadedParts[settings] = file
	return file
}

// The rows and networks of all checks exist, and every check belongs to a part of some size.
func TestChecksNameRows(t *testing.T) {
	for _, p := range papers() {
		for _, c := range p.Claims {
			for _, check := range c.Checks {
				for _, in := range check.In {
					found := 0
					for _, s := range p.Sizes {
						for _, part := range s.Parts {
							if part.Name == in {
								found++
								wantRows(t, c, check, loadPart(t, part))
							}
						}
					}
					if found == 0 {
						t.Errorf("%s: %q: no size has the part %q", p.Name, c.Words, in)
					}
				}
			}
		}
	}
}

// The rows and networks of printed results exist in every part that measures them, and each has a source.
func TestPrintedResultsNameRows(t *testing.T) {
	for _, p := range papers() {
		for _, printed := range p.Printed {
			if printed.Place == "" || printed.Source == "" || printed.Says == "" || len(printed.In) == 0 {
				t.Errorf("%s: %+v lacks a place, a source, its words or a part", p.Name, printed)
			}
			for _, s := range p.Sizes {
				for _, part := range s.Parts {
					if !slices.Contains(printed.In, part.Name) {
						continue
					}
					file := loadPart(t, part)
					named := func(n configs.NetworkCase) bool { return n.Name == printed.Network }
					if printed.What == order && !slices.ContainsFunc(file.Networks, named) {
						t.Errorf("%s: %s has no network %q", p.Name, file.Name, printed.Network)
					}
					labelled := func(v configs.Variant) bool { return v.Label == printed.Label }
					if printed.What != order && !slices.ContainsFunc(file.Algorithms, labelled) {
						t.Errorf("%s: %s has no row %q", p.Name, file.Name, printed.Label)
					}
				}
			}
		}
	}
}

// wantRows reports rows, networks and targets of a check that a comparison does not have.
func wantRows(t *testing.T, c Claim, check Check, file *configs.Comparison) {
	t.Helper()
	for _, label := range slices.Concat(check.A, check.B) {
		if !slices.ContainsFunc(file.Algorithms, func(v configs.Variant) bool { return v.Label == label }) {
			t.Errorf("%q: %s has no row %q", c.Words, file.Name, label)
		}
	}
	named := func(n configs.NetworkCase) bool { return n.Name == check.Network }
	if check.Network != "" && !slices.ContainsFunc(file.Networks, named) {
		t.Errorf("%q: %s has no network %q", c.Words, file.Name, check.Network)
	}
	if len(check.A) == 0 || check.Kind.single() != (len(check.B) == 0) {
		t.Errorf("%q: a check of %v against %v", c.Words, check.A, check.B)
	}
	timed := check.Kind == Sooner || check.Kind == FewerTo || check.Kind == Alike || check.Kind == Converges ||
		check.Kind == Misses
	if timed && file.Targets == (configs.Targets{}) {
		t.Errorf("%q: %s has no target", c.Words, file.Name)
	}
}

func TestFind(t *testing.T) {
	if _, size, err := Find("d2", "night"); err != nil || size.Name != "night" {
		t.Errorf("size %q, error %v", size.Name, err)
	}
	for _, test := range [][3]string{
		{"d3", "night", `paper "d3": want one of alq, d2, moniqua, mqgrad, orq`},
		{"d2", "week", `--size "week": want one of minutes, night, paper`},
	} {
		if _, _, err := Find(test[0], test[1]); err == nil || !strings.Contains(err.Error(), test[2]) {
			t.Errorf("%s at size %s: %v, want %s", test[0], test[1], err, test[2])
		}
	}
}

// The version of a part follows the settings of its cells, its targets and its seeds, and nothing else.
func TestVersionsOfParts(t *testing.T) {
	version := func(p Part) string {
		t.Helper()
		v, err := p.Version()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	part := Part{Name: "a", Comparison: "moniqua-theorem1"}
	first := version(part)
	if again := version(Part{Name: "b", Comparison: part.Comparison}); again != first {
		t.Errorf("versions %s and %s of the same comparison", first, again)
	}
	for _, other := range []Part{
		{Comparison: part.Comparison, Set: []string{"train.rounds=9"}}, {Comparison: part.Comparison, Seeds: 2},
		{Comparison: part.Comparison, Loss: 0.1}, {Comparison: "moniqua-ecd"},
	} {
		if v := version(other); v == first {
			t.Errorf("%+v has the version %s, too", other, v)
		}
	}
	// A part is as new as the newest of its algorithms.
	for name, algorithm := range map[string]string{"moniqua-fig2b": "adpsgd", "moniqua-theorem1": "dpsgd"} {
		want := experiment.ResultsVersion(algorithm)
		if got, err := (Part{Comparison: name}).results(); err != nil || got != want {
			t.Errorf("%s: results of version %d, error %v, want %d", name, got, err, want)
		}
	}
	if _, err := presetVersion("nothing", nil); err == nil {
		t.Error("a preset that does not exist has a version")
	}
}
