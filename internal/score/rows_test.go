package score

import (
	"testing"

	"gossiptrainer/internal/data"
	"gossiptrainer/model/sample"
)

// Rows that score a second model are in memory as models see them, and are the same rows.
func TestRowsOfASecondModelStayInMemory(t *testing.T) {
	set, _, err := data.Load("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	var rows testRows
	for _, most := range []int{0, 7} {
		first, second, third := rows.of(set, most), rows.of(set, most), rows.of(set, most)
		if first == second || second != third {
			t.Errorf("at most %d: the second model has other rows in memory than the third", most)
		}
		var want, got sample.Batch
		first.Range(&want, 2, 5)
		third.Range(&got, 2, 5)
		if first.Len() != third.Len() || len(got.X) != len(want.X) {
			t.Fatalf("at most %d: %d rows, want %d", most, third.Len(), first.Len())
		}
		for i, v := range want.X {
			if got.X[i] != v {
				t.Fatalf("at most %d: value %d is %v, want %v", most, i, got.X[i], v)
			}
		}
	}
}
