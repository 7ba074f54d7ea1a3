package script

import (
	"slices"
	"strings"
	"testing"
)

// A script leaves its worker for a while. The others train on, and it comes back to the round that they have reached.
// The run waits for it, as it may come back, and ends when the script ends.
func TestAScriptLeavesForAWhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		place Place
		words string
		want  string // begins a line of worker 0
	}{
		"the others wait": {Place{Most: 100}, "step leave return barrier|step step step barrier|step step barrier",
			"barrier "},
		"it stays away": {Place{Most: 100}, "step leave|step step step|step", ""},
		"the run ends":  {Place{Most: 3, Rounds: 3}, "leave return mean|step step step mean|step step step mean", "mean "},
		"another stops": {Place{Most: 100}, "leave return mean|step stop mean|loop mean", "END "},
		"no common rounds": {Place{Most: 100, Free: true}, "step leave return step barrier|barrier|step barrier",
			"barrier "},
		"another dies": {Place{Most: 100, Sheds: true}, "leave return barrier|die|step barrier", "barrier "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, err := test.place.run(t, test.words)
			if err != nil {
				t.Fatal(err)
			}
			found := func(line string) bool { return strings.HasPrefix(line, test.want) }
			if test.want != "" && !slices.ContainsFunc(printed[0], found) {
				t.Errorf("worker 0: %q, want %q", printed[0], test.want)
			}
		})
	}
}
