package script

import (
	"strings"
	"testing"
)

// A script takes the mean of the newest models while others wait, have finished or are dead, and a mean over some
// workers. The step of worker r sets its model to r.
func TestMeansOfSomeModels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		place Place
		words string
		want  []string // in the lines of worker 0
	}{
		"all step": {Place{Most: 100}, "step newest barrier|step barrier|step barrier",
			[]string{`"round":1,"moved":false,"rounds":{"0":1,"1":1,"2":1}}`}},
		"some wait or have finished": {Place{Most: 100}, "step newest1 barrier|step barrier|step finish barrier",
			[]string{`"round":1,"moved":false,"rounds":{"1":1}}`}},
		"after the end": {Place{Most: 1, Rounds: 1}, "step barrier newest newest|step barrier|step barrier",
			[]string{"END 1", "barrier ", "newest 1 ", "newest 1 "}}, // the barrier: all others have come to their end
		"one is dead": {Place{Most: 100, Sheds: true}, "step barrier newest newest1|step die|step barrier",
			[]string{"barrier ", `newest `,
				`newest1 {"kind":"newest","round":1,"moved":false,"missing":{"1":"it is sil`}},
		"of two":                {Place{Most: 100}, "step mean01|step mean01|step mean01", []string{`mean01 1 {"kind":"mean"`}},
		"of two, one has ended": {Place{Most: 100}, "step mean01|step|step mean01", []string{`mean01 1 {"kind":"mean"`}},
		"without common rounds": {Place{Most: 100, Free: true}, "step newest mean01|step mean01|step mean01",
			[]string{`newest `, `mean01 0.5 `}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, err := test.place.run(t, test.words)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range test.want {
				if len(printed[0]) <= i || !strings.Contains(printed[0][i], want) {
					t.Errorf("worker 0: %q, want %q", printed[0], test.want)
				}
			}
		})
	}
}
