package reproduce

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "write the tables of docs/papers")

// docs is the folder of the documents.
const docs = "../../docs/"

// An item is an algorithm, a theorem, a table or a figure of a paper, with what we have for it. The claims of the paper
// are items, too, but come from its file of claims.
type item struct {
	Item    string `yaml:"item"`    // with its place
	Command string `yaml:"command"` // makes or tests it
	// Result is text with %s for the groups of Pattern in File; "": the tests of the command pass.
	Result  string `yaml:"result"`
	File    string `yaml:"file"` // beside docs/papers
	Pattern string `yaml:"pattern"`
	Preset  string `yaml:"preset"`  // the run file from which the runs of File started
	Version string `yaml:"version"` // of that run file when File was made
	Agrees  string `yaml:"agrees"`  // yes, no, partly, not run
	Why     string `yaml:"why"`
}

// itemsOf reads the file of a paper.
func itemsOf(t *testing.T, name string) (all []item) {
	t.Helper()
	text, err := os.ReadFile(docs + "papers/" + name + ".yaml")
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// row returns the cells of an item, or an error that names the item.
func (i item) row(t *testing.T) (cells []string, wrong error) {
	t.Helper()
	result := "tests pass"
	switch {
	case i.Item == "" || i.Command == "" || !regexp.MustCompile(`^(yes|no|partly|not run)$`).MatchString(i.Agrees):
		return nil, fmt.Errorf("%+v: want an item, a command, and yes, no, partly or not run", i)
	case i.Agrees != "yes" && i.Why == "":
		return nil, fmt.Errorf("%s: agrees: %s: say why", i.Item, i.Agrees)
	case i.Agrees == "not run":
		result = ""
	case i.File != "":
		found, err := i.measured()
		if err != nil {
			return nil, err
		}
		result = found + fmt.Sprintf(" ([%s](%s))", filepath.Base(i.File), i.File)
	default:
		if err := testsExist(i.Command); err != nil {
			return nil, fmt.Errorf("%s: %w", i.Item, err)
		}
	}
	return []string{i.Item, "`" + strings.ReplaceAll(i.Command, "|", `\|`) + "`", result, i.Agrees, i.Why}, nil
}

// measured takes the numbers of a result from its file. It is an error if the run file has changed since.
func (i item) measured() (string, error) {
	if i.Preset != "" {
		if now, err := presetVersion(i.Preset, nil); err != nil || now != i.Version {
			return "", fmt.Errorf("%s: %s is older than the preset %s, whose version is %s and was %s: run %s (%v)", i.Item,
				i.File, i.Preset, now, i.Version, i.Command, err)
		}
	}
	text, err := os.ReadFile(docs + "papers/" + i.File)
	if err != nil {
		return "", err
	}
	groups := regexp.MustCompile(i.Pattern).FindSubmatch(text)
	if groups == nil {
		return "", fmt.Errorf("%s: %s has nothing like %s", i.Item, i.File, i.Pattern)
	}
	var numbers []any
	for _, g := range groups[1:] {
		numbers = append(numbers, string(g))
	}
	return fmt.Sprintf(i.Result, numbers...), nil
}

// testsExist reports whether the packages of a go test command have tests that match its -run.
func testsExist(command string) error {
	words := strings.Fields(command)
	if len(words) < 5 || words[0] != "go" || words[1] != "test" || words[3] != "-run" {
		return fmt.Errorf("%q: want go test PACKAGE -run NAMES, or a file with the result", command)
	}
	files, err := filepath.Glob(filepath.Join("../..", words[2], "*_test.go"))
	if err != nil {
		return err
	}
	name := regexp.MustCompile(`(?m)^func (Test\w*)\(`)
	for part := range strings.SplitSeq(strings.Trim(words[4], "'"), "|") {
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, test := range name.FindAllSubmatch(text, -1) {
				found = found || regexp.MustCompile(part).Match(test[1])
			}
		}
		if !found {
			return fmt.Errorf("%q: %s has no test %s", command, words[2], part)
		}
	}
	return nil
}

// kept is what docs/results/claims has of a paper at the size minutes: the cells of each claim, and the versions of the
// parts.
type kept struct {
	claims   map[string][]string
	versions map[string]string
	results  map[string]string // versions of results of the program, by part
}

func keptOf(t *testing.T, name string) kept {
	t.Helper()
	k := kept{map[string][]string{}, map[string]string{}, map[string]string{}}
	text, err := os.ReadFile(docs + "results/claims/" + name + "-minutes.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := false
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 5 {
			words, _, _ := strings.Cut(strings.TrimSpace(cells[0]), "<br>")
			k.claims[words] = cells
		}
		listed = listed || strings.TrimSpace(line) == versionsAre
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "* "); ok && listed {
			part, version, _ := strings.Cut(entry, " ")
			k.versions[part], k.results[part], _ = strings.Cut(version, "/")
		}
	}
	return k
}

// row returns the cells of a claim, or an error that names the claim.
func (k kept) row(p Paper, c Claim) ([]string, error) {
	command := "peer reproduce " + p.Name + " --size minutes"
	item := "claim: " + c.Words + " (" + c.Place + ")"
	if len(c.Checks) == 0 {
		return []string{item, "–", "", "not run", c.Note}, nil
	}
	run, has, older := 0, false, ""
	for _, check := range c.Checks {
		for _, in := range check.In {
			part, of := p.part(Minutes, in)
			if !of {
				continue
			}
			has = true
			switch now, err := part.Version(); {
			case err != nil:
				return nil, err
			case k.versions[in] == "": // it is not finished yet
			case k.versions[in] != now:
				return nil, fmt.Errorf("%s: %q: the result of the part %s has the version %s, and the comparison is %s: run %s, "+
					"and keep its claims.md: go run ./studies claims", p.Name, c.Words, in, k.versions[in], now, command)
			default:
				run++
				results, err := part.results()
				if err != nil {
					return nil, err
				}
				if k.results[in] != fmt.Sprint(results) {
					older = " Made with results of version " + k.results[in] + "."
				}
			}
		}
	}
	cells := k.claims[c.Words]
	switch {
	case !has:
		return []string{item, "`peer reproduce " + p.Name + " --size night`", "", "not run", c.Note}, nil
	case run == 0:
		return []string{item, "`" + command + "`", "", "not run", strings.TrimSpace("Its runs are not finished. " + c.Note)},
			nil
	}
	if cells == nil {
		return nil, fmt.Errorf("%s: no result of the claim %q: run %s", p.Name, c.Words, command)
	}
	var measured []string
	for line := range strings.SplitSeq(cells[2], "<br>") {
		if !strings.HasPrefix(line, "*") {
			measured = append(measured, line)
		}
	}
	agrees := map[string]string{"supported": "yes", "not supported": "no", "not decided": "not decided"}[cells[3]]
	return []string{item, "`" + command + "`", strings.Join(measured, "<br>"), cmp.Or(agrees, "not run"),
		strings.TrimSpace(c.Note + older)}, nil
}

// part finds a part of a size.
func (p Paper) part(size, name string) (Part, bool) {
	for _, s := range p.Sizes {
		for _, part := range s.Parts {
			if s.Name == size && part.Name == name {
				return part, true
			}
		}
	}
	return Part{}, false
}

// Each item of a paper has a row with a command and a result that is not older than what makes it:
//
//	go test ./lab/reproduce -run PapersTables -update
//
// writes the tables.
func TestPapersTables(t *testing.T) {
	for _, p := range papers() {
		k := keptOf(t, p.Name)
		if have, now := k.versions["claims"], p.claimsVersion(); have != now {
			t.Errorf("%s: docs/results/claims judges by the checks %s, and the paper has %s: run peer report in its folder",
				p.Name, have, now)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s: what we have of the paper\n\n%s,\n<%s>\n\n", p.Name, p.Title, p.Source)
		if p.Unread != "" {
			fmt.Fprintf(&b, "%s\n\n", p.Unread)
		}
		fmt.Fprintf(&b, "Algorithms, theorems, tables and figures come from [%[1]s.yaml](%[1]s.yaml), claims from\n"+
			"[claims/%[1]s-minutes.md](../results/claims/%[1]s-minutes.md).\n\n", p.Name)
		fmt.Fprint(&b, "| item | command | result | agrees | why |\n|---|---|---|---|---|\n")
		add := func(cells []string, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
		for _, i := range itemsOf(t, p.Name) {
			add(i.row(t))
		}
		for _, c := range p.Claims {
			add(k.row(p, c))
		}
		file := docs + "papers/" + p.Name + ".md"
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != b.String() {
			t.Errorf("%s is not what its data say (%v): write it with -update", file, err)
		}
	}
}
