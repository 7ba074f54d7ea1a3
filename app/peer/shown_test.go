package peer

import (
	"slices"
	"strings"
	"testing"
)

func TestALabShowsTheOutputOfSomeScripts(t *testing.T) {
	for _, test := range []struct {
		text   string
		hidden []int
		where  string
	}{
		{"0", []int{1, 2}, "the output of the scripts but that of worker 0 is in runs/a/scripts/RANK/output"},
		{"all", nil, ""},
		{"none", []int{0, 1, 2}, "the output of all scripts is in runs/a/scripts/RANK/output"},
		{"2", []int{0, 1}, "the output of the scripts but that of worker 2 is in runs/a/scripts/RANK/output"},
	} {
		shown, err := ParseShown(test.text, 3)
		if err != nil {
			t.Fatal(err)
		}
		scripts := Scripts{[]string{"train"}, shown}
		var hidden []int
		for rank := range 3 {
			if scripts.hides(rank) {
				hidden = append(hidden, rank)
			}
		}
		if where := scripts.where("runs/a", 3); !slices.Equal(hidden, test.hidden) || !strings.HasPrefix(where, test.where) {
			t.Errorf("%q hides %v and says %q", test.text, hidden, where)
		}
	}
	for _, text := range []string{"3", "-1", "some"} {
		_, err := ParseShown(text, 3)
		if err == nil || err.Error() != "--output "+text+": want all, none or a worker from 0 to 2" {
			t.Errorf("%q: error %v", text, err)
		}
	}
	for _, all := range []Scripts{{nil, ofNone}, {[]string{"train"}, 0}} {
		if where := all.where("runs/a", 1); where != "" {
			t.Errorf("a run of one with %v hides %q", all, where)
		}
	}
}
