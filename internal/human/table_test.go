package human

import (
	"strings"
	"testing"
)

// A narrow terminal loses the columns of the highest rank, and never those without one.
func TestTableFitsATerminal(t *testing.T) {
	table := Table{
		Columns: []Column{{Title: "NAME", Left: true}, {Title: "θ", Rank: 2}, {Title: "", Left: true, Close: true, Rank: 3},
			{Title: "LOSS", Rank: 1}},
		Rows: [][]string{{"a", "0.5", "±2", "1"}, {"longer", "10", "", "0.25"}, {"c", "", "", ""}},
	}
	for width, want := range map[int]string{
		0:  "NAME      θ     LOSS\na       0.5 ±2     1\nlonger   10     0.25\nc\n",
		20: "NAME      θ     LOSS\na       0.5 ±2     1\nlonger   10     0.25\nc\n",
		19: "NAME      θ  LOSS\na       0.5     1\nlonger   10  0.25\nc\n",
		16: "NAME    LOSS\na          1\nlonger  0.25\nc\n",
		1:  "NAME\na\nlonger\nc\n",
	} {
		var b strings.Builder
		if err := table.Text(&b, width); err != nil || b.String() != want {
			t.Errorf("width %d:\n%swant\n%s%v", width, b.String(), want, err)
		}
	}
}
