package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of algorithms and compressors into the documents")

// The tables of the documents have the rows of package registry:
//
//	go test ./internal/docs -run Rows -update
//
// writes them.
func TestTablesAreTheRows(t *testing.T) {
	for _, made := range []struct{ name, head, table string }{
		{"reference/algorithms.md", "| name | algorithm |", algorithmTable()},
		{"reference/algorithms.md", "| algorithm | `algorithm.name` |", choiceTable()},
		{"reference/algorithms.md", "| name | C(z), per bucket |", compressorTable()},
		{"format/payloads.md", "| name | header of a bucket |", bucketTable()},
		{"format/payloads.md", "| name | payload |", plainTable()},
	} {
		path := filepath.Join("../../docs", made.name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(text), made.head)
		if !found {
			t.Fatalf("docs/%s: no table begins with %s", made.name, made.head)
		}
		table, after, _ := strings.Cut(made.head+rest, "\n\n")
		if *update {
			if err := os.WriteFile(path, []byte(before+made.table+"\n"+after), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if table+"\n" != made.table {
			t.Errorf("docs/%s has\n%s\nthe rows of package registry are\n%s\nwrite them with -update",
				made.name, table, made.table)
		}
	}
}

// README is for a reader with two minutes, and the glossary for one who looks up a word.
func TestPagesStayShort(t *testing.T) {
	term, prose := regexp.MustCompile(`(?m)^\| [^|]+ \|`), regexp.MustCompile(`(?m)^[^|\n]|^\n`)
	for _, test := range []struct {
		page, of string
		count    func(text string) int
		most     int
	}{
		{"README.md", "lines outside tables", func(text string) int { return len(prose.FindAllString(text, -1)) }, 110},
		{"docs/glossary.md", "terms", func(text string) int { return len(term.FindAllString(text, -1)) - 1 }, 40},
	} {
		text, err := os.ReadFile(root + test.page)
		if err != nil {
			t.Fatal(err)
		}
		if n := test.count(string(text)); n == 0 || n > test.most {
			t.Errorf("%s has %d %s, want at most %d", test.page, n, test.of, test.most)
		}
	}
}

// mostWords bounds the words of README and of the pages in docs, tables and blocks with them. It may only shrink.
const mostWords = 45_400

func TestPagesHaveFewWords(t *testing.T) {
	pages, err := filepath.Glob(root + "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, page := range append(pages, root+"README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		sum += len(strings.Fields(string(text)))
	}
	if sum > mostWords {
		t.Errorf("README and docs have %d words, more than %d: cut what repeats another page", sum, mostWords)
	}
}
