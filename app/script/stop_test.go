package script

import (
	"slices"
	"strings"
	"testing"
)

// A script that stops the run ends it for all, after the same round and for the reason that it gives. A worker that
// waits for it in a call learns so, and its script ends well. Calls after the end are those of one number.
func TestAScriptStopsTheRun(t *testing.T) {
	t.Parallel()
	const waits = "step reduce mean" // and is cut off
	for name, place := range map[string]Place{
		"as long as the scripts": {Most: 1000},
		"of 20 rounds":           {Most: 20, Rounds: 20},
		"without common rounds":  {Most: 1000, Free: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			third := waits
			if place.Free { // there the stop may come before its call
				third = "loop mean barrier"
			}
			printed, err := place.run(t, "loop mean barrier|step step step stop mean barrier|"+third+"|loop mean barrier")
			if err != nil {
				t.Fatal(err)
			}
			for rank, lines := range printed {
				end := lines[0]
				if !strings.Contains(end, `{"why":"stopped","message":"worker 1: enough"`) {
					t.Fatalf("worker %d: %q, want that worker 1 has stopped the run", rank, lines)
				}
				round, _, _ := strings.Cut(strings.TrimPrefix(end, "END "), " ")
				if first, _, _ := strings.Cut(strings.TrimPrefix(printed[0][0], "END "), " "); !place.Free && round != first {
					t.Errorf("worker %d ends after %s rounds, worker 0 after %s", rank, round, first)
				}
				want := []string{"mean ", "barrier "}
				if rank == 2 && !place.Free {
					want = nil
				}
				if !slices.EqualFunc(lines[1:], want, strings.HasPrefix) {
					t.Errorf("worker %d: %q, want %q after the end", rank, lines, want)
				}
			}
		})
	}
}
