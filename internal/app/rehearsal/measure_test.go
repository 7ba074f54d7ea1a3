package rehearsal

import (
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
)

const ms = time.Millisecond

func assemble(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: append([]string{"model={name: quadratic, dim: 10}",
		"topology.size=3"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A round of a worker costs its gradient and all its coding. On slow links and for many peers costs stay as they are:
// no peers rehearse.
func TestWhoRehearses(t *testing.T) {
	quick := assemble(t)
	costs := cost.Costs{Gradient: 3 * ms, Round: ms}
	work, round, err := rounds(t.Context(), quick, costs)
	if err != nil || work != 4*ms || round != 4*ms {
		t.Errorf("a round is %v of work in %v, error %v; want 4 ms", work, round, err)
	}
	slow := assemble(t, "limit.rate=1kbit")
	many := assemble(t, "topology.size=17")
	for _, s := range []*experiment.Run{slow, many} {
		if got, err := amongPeers(t.Context(), s, costs); err != nil || got != costs {
			t.Errorf("%v, error %v, want %v", got, err, costs)
		}
	}
}
