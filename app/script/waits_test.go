package script

import (
	"strings"
	"testing"
)

// Each call that may wait ends, with a result or an error that names why. Others may have ended, finished, left for a
// while or died, in the middle of the run and at its end. In each case worker 0 makes the calls, and others do not.
func TestEachCallOfSomeWorkersEnds(t *testing.T) {
	t.Parallel()
	const calls = "barrier reduce broadcast mean mean01 newest newest1"
	words := []string{"step " + calls, "step finish " + calls, "step leave", "step leave return mean", "step stop mean",
		"step step step " + calls, "step step step stop newest mean", "step refresh step step step mean",
		"step step step refresh mean"}
	others := map[string]struct {
		words string
		place Place
		error string // of the run
	}{
		"have ended":     {words: "step|step step", place: Place{Most: 100}},
		"have finished":  {words: "step finish|step step finish", place: Place{Most: 100}},
		"end later":      {words: "step step step|step step", place: Place{Most: 100}},
		"left":           {words: "step leave|step step leave", place: Place{Most: 100}},
		"died":           {words: "step die|step step step", place: Place{Most: 100}, error: "ended with exit code 3"},
		"died, are shed": {words: "step die|step step step", place: Place{Most: 100, Sheds: true}},
		"are free":       {words: "step|step step step", place: Place{Most: 100, Free: true}},
	}
	for name, other := range others {
		for _, own := range words {
			t.Run(own+", others "+name, func(t *testing.T) {
				t.Parallel()
				at := other.place
				if strings.HasPrefix(own, "step step step") {
					at.Most, at.Rounds = 3, 3
				}
				printed, err := at.run(t, own+"|"+other.words)
				refuses := strings.Contains(own, "refresh") && (at.Free || at.Sheds) && err != nil &&
					strings.Contains(err.Error(), "refresh 1: the parameters cannot change")
				if err != nil && !refuses && (other.error == "" || !strings.Contains(err.Error(), other.error)) {
					t.Fatalf("the run fails: %v", err)
				}
				for _, line := range printed[0] {
					if err != nil && strings.Contains(line, `"stopped"`) && !strings.Contains(line, other.error) {
						t.Errorf("worker 0 learns %q", line)
					}
				}
			})
		}
	}
}
