package reproduce

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/lab/compare"
)

// A folder of another reproduction, and one with other files, are refused. The same reproduction goes on.
func TestFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	paper, size, err := Find("d2", Minutes)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Options: compare.Options{Dir: dir}}
	for range 2 {
		if _, err := New(paper, size, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range [][2]string{{"alq", Minutes}, {"d2", Night}} {
		paper, size, err := Find(other[0], other[1])
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(paper, size, o)
		if _, usage := errors.AsType[*advice.UsageError](err); !usage || !strings.Contains(err.Error(),
			"out holds d2 at size minutes") {
			t.Errorf("%v: %v", other, err)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	o.Dir = full
	if _, err := New(paper, size, o); err == nil ||
		!strings.Contains(err.Error(), "holds thesis.tex, and no reproduction") {
		t.Errorf("a folder with other files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, MarkerFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	if _, err := New(paper, size, o); err == nil || !strings.Contains(err.Error(), MarkerFile) {
		t.Errorf("a damaged marker: %v", err)
	}
}

// A missing data set is fetched. Where that fails, the error names the command that fetches it.
func TestMissingData(t *testing.T) {
	t.Setenv("PEER_DATA", t.TempDir())
	paper, size, err := Find("alq", Minutes)
	if err != nil {
		t.Fatal(err)
	}
	asked := ""
	o := Options{Options: compare.Options{Dir: filepath.Join(t.TempDir(), "out"), Talk: io.Discard},
		Fetch: func(_ context.Context, set, root string) error {
			asked = set
			return errors.New("no route to host")
		}}
	run, err := New(paper, size, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Do(t.Context())
	hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if _, missing := errors.AsType[*data.MissingError](err); !missing {
		t.Errorf("error %v, want one of missing data", err)
	}
	if !ok || asked != "fashion-mnist" || !strings.Contains(hinted.Hint(), "peer data fetch fashion-mnist") {
		t.Errorf("asked for %q, error %v", asked, err)
	}
}

// The page escapes names, and says that a comparison is missing.
func TestPage(t *testing.T) {
	name := "a<b"
	p := made(accurate(name, 0.5, 0.51), accurate("b", 0.4, 0.41))
	p.study.Groups[0].Cells[0].Summary.Algorithm = "dpsgd"
	p.study.Networks, p.study.Seeds = []cells.Network{{Name: "slow"}}, []uint64{1, 2}
	p.study.Targets = record.Targets{}
	claim := Claim{Words: "A is better.", Quote: "A < B & C", Place: "table 1",
		Reported: "91 % & more", Note: "It is small.",
		Checks: []Check{{Kind: Above, In: []string{"made"}, A: []string{name}, B: []string{"b"}}}}
	open := Claim{Words: "C is best.", Place: "abstract", Note: "No runs."}
	page := &Page{Paper: Paper{Name: "p", Title: "T"}, Size: Size{Name: Minutes, About: "Small.",
		Parts: []Part{{Name: "made"}, {Name: "later"}}}, Dir: t.TempDir(), parts: []*part{p}}
	for _, c := range []Claim{claim, open} {
		page.Claims = append(page.Claims, judge(c, map[string]*part{"made": p}))
	}
	if got, want := page.Tally(),
		"2 claims: 1 supported, 0 not supported, 0 not decided, 1 not tested at this size"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := page.save(); err != nil {
		t.Fatal(err)
	}
	for file, wants := range map[string][]string{
		PageFile: {"a&lt;b 50.50 %",
			"A is better.<br><q>A &lt; B &amp; C</q><br><span",
			"91 % &amp; more", `href="made/report/index.html"`,
			`href="made/cells/a-b.slow.1/cell.json"`, "1 of 2 comparisons have been run", "<td class=\"v1\">supported</td>"},
		TextFile: {"| A is better.<br>\"A < B & C\" | table 1: 91 % & more | a<b 50.50 %, b 40.50 %: +10.00 points",
			"| supported |",
			"| C is best. | abstract | *No runs.* | not tested at this size |  |"},
	} {
		text, err := os.ReadFile(filepath.Join(page.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q:\n%s", file, want, text)
			}
		}
		if strings.Contains(string(text), "{{") {
			t.Errorf("%s has a place that nothing fills", file)
		}
	}
	var out strings.Builder
	if err := page.Write(&out); err != nil || !strings.Contains(out.String(), "supported                A is better.") {
		t.Errorf("%s\n%v", out.String(), err)
	}
}
