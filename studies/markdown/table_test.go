package markdown

import "testing"

func TestTableIsAligned(t *testing.T) {
	got := Table([][]string{{"θ", "value"}, {"seven", "7"}, {"γ", "0.25"}})
	want := "" +
		"| θ     | value |\n" +
		"|-------|------:|\n" +
		"| seven |     7 |\n" +
		"| γ     |  0.25 |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
