package human

import (
	"strings"
	"testing"
)

func TestLinesAreFoldedAtBlanks(t *testing.T) {
	for _, test := range []struct {
		line  string
		width int
		want  string
	}{
		{"note: a round takes 14 ms", 0, "note: a round takes 14 ms"},
		{"note: a round takes 14 ms", 25, "note: a round takes 14 ms"},
		{"note: a round takes 14 ms", 24, "note: a round takes 14\n  ms"},
		{"note: a round takes 14 ms", 14, "note: a round\n  takes 14 ms"},
		{"data        iid, 3000 rows per worker", 30, "data        iid, 3000 rows per\n            worker"},
		{"digest 0123456789abcdef", 10, "digest\n  0123456789abcdef"},
		{"µµ µµ", 5, "µµ µµ"},
		{"", 5, ""},
	} {
		got := strings.Join(Fold(test.line, test.width), "\n")
		if got != test.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", test.line, test.width, got, test.want)
		}
		var b strings.Builder
		w := Folded(&b, test.width)
		for _, piece := range strings.SplitAfter(test.line+"\n", "t") { // a table is written in pieces
			if _, err := w.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != test.want+"\n" {
			t.Errorf("%q in %d columns: wrote %q", test.line, test.width, b.String())
		}
	}
}
