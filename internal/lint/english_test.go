package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// maxWords is the length of a sentence that a reader still takes in at once. Writers aim at 25.
const maxWords = 30

// A turn of phrase costs readers time that a plainer one saves.
type turn struct {
	pattern *regexp.Regexp
	advice  string
}

var turns = []turn{
	{regexp.MustCompile(`^(What|Who|Whoever|Whom|Whose)\b[^?]*$`), "begin with the subject by its name"},
	{regexp.MustCompile(`(?i)\bwhat (is|was|are|were)\b[^?]*$`), "name the thing"},
	{regexp.MustCompile(`(?i)\b(whoever|nobody|somebody|everybody)\b`), "name the worker, peer or user"},
	{regexp.MustCompile(`(?i)\banew\b`), `write "again"`},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) done without\b`), `say who is left out: "the ring closes without worker 3"`},
}

// A passage is a paragraph of text for people.
type passage struct {
	line int // of its first word
	text string
}

// sentenceEnd separates sentences. A full stop within a number, a name or an abbreviation is none.
var sentenceEnd = regexp.MustCompile("[.:!?][\")*]*\\s+([\"(*\\[]*\\p{Lu}|`)")

// sentences splits a paragraph. "e.g. Moniqua" and "et al. 2016" stay whole.
func sentences(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var all []string
	from := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		end := strings.IndexByte(text[at[0]:], ' ') + at[0]
		if abbreviated(text[from:end]) {
			continue
		}
		all = append(all, text[from:end])
		from = end + 1
	}
	return append(all, text[from:])
}

func abbreviated(text string) bool {
	for _, short := range []string{"e.g.", "i.e.", "al.", "cf.", "vs.", "etc.", "Fig.", "Eq.", "No."} {
		if strings.HasSuffix(text, short) {
			return true
		}
	}
	return false
}

// riddles finds phrases that make readers stop.
func riddles(name string, passages []passage) []string {
	var found []string
	for _, p := range passages {
		for _, s := range sentences(p.text) {
			for _, turn := range turns {
				if hit := turn.pattern.FindString(s); hit != "" {
					found = append(found, fmt.Sprintf("%s:%d: %q: %s", name, p.line, clip(hit), turn.advice))
				}
			}
		}
	}
	return found
}

// words counts the words of a sentence. Signs such as = are none.
func words(sentence string) int {
	count := 0
	for _, field := range strings.Fields(sentence) {
		if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			count++
		}
	}
	return count
}

// unwieldy finds sentences that are too long.
func unwieldy(name string, passages []passage) []string {
	var found []string
	for _, p := range passages {
		for _, s := range sentences(p.text) {
			if count := words(s); count > maxWords {
				found = append(found, fmt.Sprintf("%s:%d: a sentence of %d words: split it: %q", name, p.line, count, s))
			}
		}
	}
	return found
}

func clip(text string) string {
	if len(text) > 60 {
		return text[:60] + "..."
	}
	return text
}

// paragraphs splits lines at empty ones. Code, tables, headings and list marks are no prose.
func paragraphs(lines []string, first int) []passage {
	var all []passage
	fresh, fenced, skipped := true, false, false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, fresh = !fenced, true
			continue
		case fenced, trimmed == "", strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "<"), isHeading(trimmed):
			fresh, skipped = true, false
			continue
		case indented && (fresh || skipped):
			fresh, skipped = true, true
			continue
		}
		skipped = false
		if item, ok := listItem(trimmed); ok {
			trimmed, fresh = item, true
		}
		if fresh {
			all = append(all, passage{line: first + i})
		}
		all[len(all)-1].text += trimmed + "\n"
		fresh = false
	}
	return all
}

func isHeading(line string) bool { return strings.HasPrefix(line, "#") }

var listMark = regexp.MustCompile(`^([-*]|\d+\.) +`)

// listItem returns the text of an item, without its mark.
func listItem(line string) (string, bool) {
	mark := listMark.FindString(line)
	return line[len(mark):], mark != ""
}

// goPassages returns the comments of a Go file.
func goPassages(s source) []passage {
	if ast.IsGenerated(s.file) {
		return nil
	}
	var all []passage
	for _, group := range s.file.Comments {
		first := s.fset.Position(group.Pos()).Line
		var lines []string
		for _, c := range group.List {
			if text, ok := strings.CutPrefix(c.Text, "//"); ok {
				if strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") {
					text = ""
				}
				lines = append(lines, strings.TrimPrefix(text, " "))
			}
		}
		all = append(all, paragraphs(lines, first)...)
	}
	return all
}

// hashPassages returns the comments of a YAML file or a script.
func hashPassages(text string) []passage {
	var lines []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			comment = ""
		}
		lines = append(lines, comment)
	}
	return paragraphs(lines, 1)
}

// spoken returns the texts of a Go file that its users see: strings of a few words.
func spoken(s source) []passage {
	if s.isTest() || ast.IsGenerated(s.file) {
		return nil
	}
	var all []passage
	ast.Inspect(s.file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Count(text.Value, " ") >= 3 {
			all = append(all, passage{s.fset.Position(text.Pos()).Line, strings.Trim(text.Value, "`\"")})
		}
		return true
	})
	return all
}

// A privateWord is one that readers would have to learn; docs/glossary.md has the words to use.
var privateWord = regexp.MustCompile(`^(?i:sequel|refuge|leash|outlaw|outcast|bulletin|knock|toll|crew|porch)s?$`)

// wordStart is where a word begins within a name: knockAgain, errKnock.
var wordStart = regexp.MustCompile(`[a-z][A-Z]|_`)

// privateNames finds names that need a dictionary.
func privateNames(s source) []string {
	if ast.IsGenerated(s.file) {
		return nil
	}
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		spaced := wordStart.ReplaceAllStringFunc(name.Name, func(s string) string { return s[:1] + " " + s[1:] })
		for _, word := range strings.Fields(strings.ReplaceAll(spaced, "_", " ")) {
			if privateWord.MatchString(word) {
				found = append(found, s.at(name.Pos(), "%s: %q is a word of our own: take one of docs/glossary.md",
					name.Name, word))
			}
		}
		return true
	})
	return found
}

func (t tree) riddles() (found []string) {
	add := func(name string, passages []passage) {
		found = append(found, riddles(name, passages)...)
		found = append(found, unwieldy(name, passages)...)
	}
	for _, s := range t.sources {
		add(s.path, goPassages(s))
		found = append(found, riddles(s.path, spoken(s))...)
	}
	for name, text := range t.texts {
		switch path.Ext(name) {
		case ".md":
			add(name, paragraphs(strings.Split(string(text), "\n"), 1))
		case ".yaml", ".yml", ".sh":
			add(name, hashPassages(string(text)))
		}
	}
	return found
}

func TestTextsArePlainEnglish(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range all.riddles() {
		t.Error(finding)
	}
}

func TestNamesNeedNoDictionary(t *testing.T) { check(t, privateNames) }

func TestPrivateNamesAreFound(t *testing.T) {
	for name, want := range map[string]string{
		"outlaws": "a word of our own", "errKnock": "a word of our own",
		"tollPerByte": "a word of our own", "all_crews": "a word of our own",
		"stroll": "", "linkCost": "",
	} {
		expect(t, privateNames, "node/x.go", "package node\n\nvar "+name+" int\n", want)
	}
}

func TestRiddlesAreFound(t *testing.T) {
	long := strings.Repeat("word ", maxWords-1) + "word"
	for text, want := range map[string]string{
		"What no neighbour can come back to is dropped.":         "begin with the subject",
		"It ends. Who is late waits.":                            "begin with the subject",
		"What does theta bound? The difference.":                 "",
		"It reads what was\nwritten.":                            "name the thing",
		"It knows what theta means.":                             "",
		"Nobody answers.":                                        "name the worker",
		"It starts anew.":                                        `write "again"`,
		"Worker 3 is done without.":                              "left out",
		long + " end.":                                           "31 words",
		long + ". W" + long:                                      "",
		"Short, e.g. Moniqua. A" + long:                          "",
		"- one\n- " + long + "\n- " + long:                       "",
		"```\n" + long + long + "\n```":                          "",
		"Code:\n\n    " + long + long + "\n":                     "",
		"| " + long + long + "|":                                 "",
		"# What is here\n\nThis: the list.":                      "",
		"An item\n    goes on; it says " + long:                  "words",
		"Moniqua (ICML 2020) sends one byte; see [here](a.md#b)": "",
	} {
		passages := paragraphs(strings.Split(text, "\n"), 1)
		got := strings.Join(append(riddles("x.md", passages), unwieldy("x.md", passages)...), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: finding %q, want %q", text, got, want)
		}
	}
}

func TestProseIsReadFromCode(t *testing.T) {
	text := "package x\n\n// F starts anew.\n//\n//\tcode what is it\n//\n// Who waits, waits.\nfunc F() {} // nobody\n"
	s, err := parse("x.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := riddles("x.go", goPassages(s))
	for i, want := range []string{`x.go:3: "anew"`, `x.go:7: "Who waits`, `x.go:8: "nobody"`} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("findings %q, want one with %s", got, want)
		}
	}
	if got := riddles("x.yaml", hashPassages("a: 1\n# It starts\n# anew.\nb: 2\n")); len(got) != 1 {
		t.Errorf("in YAML: %q, want one finding", got)
	}
}
