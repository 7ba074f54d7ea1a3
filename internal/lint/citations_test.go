package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// citing is this file, which has to name what it forbids.
const citing = "internal/lint/citations_test.go"

// standards are named like documents, and are not ours to keep.
var standards = []string{"HTTP", "IEEE", "POSIX", "YAML"}

var (
	// elsewhere is an address of the web or a path with a variable.
	elsewhere = regexp.MustCompile(`\w+://\S+|\$\S+`)
	// document is a Markdown file, with a section or without.
	document = regexp.MustCompile(`([\w./-]*\w\.md)(#[\pL\pN_-]+)?`)
	// link is one of Markdown.
	link = regexp.MustCompile(`\[[^\]]*\]\(([^()\s]+)\)`)
	// numbered is a section by its number, of a document by its name in capitals.
	numbered = regexp.MustCompile(`\b([A-Z]{4,}\d?)(?:\.md)?,?\s+(?:section\s+\w+|§\s*\w+|[A-Z]\d+\b|\d+\.\d+)`)
)

// citations finds what a text cites that the tree does not have.
func (t tree) citations(name, text string) []string {
	folder := path.Dir(name)
	text = elsewhere.ReplaceAllString(text, "")
	var found []string
	for _, hit := range numbered.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(standards, hit[1]) {
			found = append(found, fmt.Sprintf("%q: the number of a section changes, and the document may be elsewhere: "+
				"cite file and heading, as in docs/math.md#notation", strings.Join(strings.Fields(hit[0]), " ")))
		}
	}
	if strings.HasSuffix(name, ".md") {
		for _, hit := range link.FindAllStringSubmatch(text, -1) {
			found = append(found, t.lacks(folder, name, hit[1])...)
		}
		text = link.ReplaceAllString(text, "")
	}
	for _, hit := range document.FindAllString(text, -1) {
		found = append(found, t.lacks(folder, name, hit)...)
	}
	return found
}

// lacks says why a citation in the file name, which lies in folder, leads nowhere.
func (t tree) lacks(folder, name, cited string) []string {
	file, section, _ := strings.Cut(cited, "#")
	full := name
	if file != "" {
		if full = path.Join(folder, file); !t.has(full) {
			full = path.Clean(file)
		}
	}
	switch {
	case !t.has(full):
		return []string{fmt.Sprintf("%q: there is no such file", cited)}
	case section != "" && !slices.Contains(anchors(string(t.texts[full])), section):
		return []string{fmt.Sprintf("%q: %s has no such section", cited, full)}
	}
	return nil
}

// has reports whether a file or a folder is in the tree.
func (t tree) has(name string) bool {
	return t.files[name]
}

// anchors returns those of the headings of a Markdown text, as GitHub makes them.
func anchors(text string) []string {
	var all []string
	seen := map[string]int{}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || len(title) == len(line) || !strings.HasPrefix(title, " ") {
			continue
		}
		anchor := anchor(title)
		seen[anchor]++
		if n := seen[anchor]; n > 1 {
			anchor = fmt.Sprintf("%s-%d", anchor, n-1)
		}
		all = append(all, anchor)
	}
	return all
}

// anchor returns that of a heading: lower case, hyphens for spaces, no punctuation.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.Nd):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

// quoted is a document that a text of the program names.
var quoted = regexp.MustCompile(`\bdocs/[\w./-]*\.md(#[\pL\pN_-]+)?`)

// prose returns the parts of a file that may cite: of a Go file its comments, and the
// documents that its strings name.
func (t tree) prose(name string) []string {
	if !strings.HasSuffix(name, ".go") {
		return []string{string(t.texts[name])}
	}
	var all []string
	for _, s := range t.sources {
		if s.path != name {
			continue
		}
		for _, group := range s.file.Comments {
			all = append(all, group.Text())
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				all = append(all, quoted.FindAllString(text.Value, -1)...)
			}
			return true
		})
	}
	return all
}

// cites reports whether a file is read by people: code, documents, scripts.
func cites(name string) bool {
	made := regexp.MustCompile(`^docs/(reference/|results/claims/|papers/\w+\.md$)`) // by the program
	if made.MatchString(name) {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".md", ".yaml", ".yml", ".sh":
		return name != citing
	}
	return false
}

func TestWhatIsCitedExists(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all.texts)) {
		if !cites(name) {
			continue
		}
		for _, finding := range all.citations(name, strings.Join(all.prose(name), "\n\n")) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func TestBadCitationsAreFound(t *testing.T) {
	small := tree{
		texts: map[string][]byte{
			"docs/math.md": []byte("# Mathematics\n\n## The sums S and S1\n\n```sh\n# no heading\n```\n\n## Slack, γ\n## " +
				"The D² recursion\n## Twice\n## Twice\n"),
			"docs/format.md": nil, "README.md": []byte("## On a LAN\n"),
		},
		files: map[string]bool{"docs": true, "docs/math.md": true, "docs/format.md": true, "README.md": true, "algos": true},
	}
	for _, test := range []struct{ name, text, want string }{
		{"algos/x.go", "see docs/math.md#the-sums-s-and-s1", ""},
		{"algos/x.go", "see docs/math.md#slack-γ, docs/math.md#the-d-recursion and docs/math.md#twice-1.", ""},
		{"algos/x.go", "see docs/math.md#the-sums", "has no such section"},
		{"algos/x.go", "see docs/math.md#no-heading", "has no such section"},
		{"algos/x.go", "see docs/theory.md", "no such file"},
		{"algos/x.go", "see https://example.org/theory.md", ""},
		{"algos/x.go", "that is all of W (SPEC 2.3).", `"SPEC 2.3": the number`},
		{"algos/x.go", "the discount of SPEC A29, for", "the number"},
		{"algos/x.go", "with --json (DESIGN\nsection 4).", `"DESIGN section 4"`},
		{"algos/x.go", "DESIGN.md, section 4", "the number"},
		{"algos/x.go", "QSGD, NeurIPS 2017, section 3.1; ICML 2020, section 3; RFC 6763, section 7.2; YAML 1.2", ""},
		{"studies/x.sh", "out=$PWD/docs; peer > $out/new.md; peer > docs/new.md", `"docs/new.md": there is no such file`},
		{"docs/format.md", "[sums](math.md#the-sums-s-and-s1), [start](../README.md#on-a-lan), [code](../algos)", ""},
		{"docs/format.md", "[sums](math.md#sums)", "docs/math.md has no such section"},
		{"docs/format.md", "[code](../moniqua)", "no such file"},
		{"docs/format.md", "[here](#nowhere)", "docs/format.md has no such section"},
		{"README.md", "[here](#on-a-lan), docs/math.md, [there](https://example.org/x.md)", ""},
		{"README.md", "[format.md](docs/format.md)", ""},
	} {
		got := strings.Join(small.citations(test.name, test.text), "\n")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q: finding %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

func TestGoFilesCiteInCommentsAndTexts(t *testing.T) {
	s, err := parse("algos/x.go",
		[]byte("package algos\n\n// F is (SPEC\n// 2.3).\nconst F = \"(SPEC 2.4), docs/nothing.md#x\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := tree{sources: []source{s}}.prose("algos/x.go")
	if want := []string{"F is (SPEC\n2.3).\n", "docs/nothing.md#x"}; !slices.Equal(got, want) {
		t.Errorf("prose %q, want %q", got, want)
	}
}
