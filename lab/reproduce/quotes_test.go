package reproduce

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// decimal is a number of a table. Whole numbers occur everywhere and prove nothing.
var decimal = regexp.MustCompile(`\d+\.\d+`)

// spaceless removes white space and hyphens: extracted texts break words at both.
func spaceless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '-' {
			return -1
		}
		return r
	}, text)
}

// texts returns the extracted texts of papers without white space, by file. PEER_PAPERS names another folder.
func texts(t *testing.T) map[string]string {
	t.Helper()
	folder := cmp.Or(os.Getenv("PEER_PAPERS"), "../../../shared/papers")
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("SKIPPED: no texts of papers in %s: NO QUOTATION AND NO NUMBER OF A PAPER IS CHECKED", folder)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = spaceless(string(text))
	}
	return all
}

// lacking returns the parts of quotations, and the decimal numbers, that a text does not have. Parts of a quotation
// follow each other.
func lacking(text string, quotes, numbers []string) (all []string) {
	for _, quote := range quotes {
		rest := text
		for part := range strings.SplitSeq(quote, " … ") {
			_, after, found := strings.Cut(rest, spaceless(part))
			if !found {
				all = append(all, part)
				continue
			}
			rest = after
		}
	}
	for _, words := range numbers {
		for _, number := range decimal.FindAllString(words, -1) {
			if !strings.Contains(text, number) {
				all = append(all, number+" in: "+words)
			}
		}
	}
	return all
}

// Every claim has a quotation, and quotations and numbers occur literally in the text of the paper.
func TestQuotationsAreThePapersWords(t *testing.T) {
	found := texts(t)
	for _, p := range papers() {
		var quotes, numbers []string
		for _, c := range p.Claims {
			if (c.Quote == "") != (p.Unread != "") {
				t.Errorf("%s: claim %q: quotation %q: want one, unless the paper is unread", p.Name, c.Words, c.Quote)
			}
			quotes, numbers = append(quotes, c.Quote), append(numbers, c.Reported)
		}
		for _, printed := range p.Printed {
			numbers = append(numbers, printed.Says)
		}
		if p.Unread != "" {
			t.Logf("SKIPPED: %s: %s", p.Name, p.Unread)
			continue
		}
		best := slices.MinFunc(mapped(found), func(a, b string) int {
			return len(lacking(found[a], quotes, numbers)) - len(lacking(found[b], quotes, numbers))
		})
		for _, words := range lacking(found[best], quotes, numbers) {
			t.Errorf("%s: %s does not have: %s", p.Name, best, words)
		}
	}
}

func mapped(of map[string]string) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The check finds words and numbers that a text does not have.
func TestLacking(t *testing.T) {
	text := spaceless("Moniqua uses 8 bits, and reaches 91.08 0.19% on Res Net20.\nECD-PSGD diverges.")
	for quote, want := range map[string]int{
		"reaches 91.08 0.19% on ResNet20.": 0, "uses 8 bits … diverges": 0, "diverges … uses 8 bits": 1, "uses 9 bits": 1,
		"Moniqua USES": 1,
	} {
		if got := lacking(text, []string{quote}, nil); len(got) != want {
			t.Errorf("%q: lacks %q, want %d", quote, got, want)
		}
	}
	if got := lacking(text, nil, []string{"91.08 % ± 0.19", "36.32 %"}); len(got) != 1 {
		t.Errorf("numbers: lacks %q, want 36.32", got)
	}
}
