package rehearse

import (
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
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
	mean, round, err := rounds(t.Context(), quick, costs)
	if err != nil || mean != (record.Spent{Compute: 3 * ms, Codec: ms}) || round != 4*ms {
		t.Errorf("a round is %+v in %v, error %v; want 4 ms", mean, round, err)
	}
	slow := assemble(t, "limit.rate=1kbit")
	many := assemble(t, "topology.size=17")
	for _, s := range []*experiment.Run{slow, many} {
		if got, err := amongPeers(t.Context(), s, costs); err != nil || got != costs {
			t.Errorf("%v, error %v, want %v", got, err, costs)
		}
	}
}

func TestRoundsOfRealPeers(t *testing.T) {
	account := func(rank, rounds int, compute, cpu time.Duration) record.Event {
		return record.Event{Links: &record.Links{Rank: rank, Rounds: rounds, Spent: record.Spent{
			Compute: compute, Codec: time.Duration(rounds) * ms / 5, CPU: cpu}}}
	}
	events := []record.Event{
		account(0, 10, 900*ms, 900*ms), account(1, 10, 900*ms, 900*ms), // the first fifth has starts
		account(0, 20, 920*ms, 950*ms), account(1, 20, 960*ms, 930*ms),
		account(0, 30, 940*ms, 1000*ms), account(1, 30, 1020*ms, 960*ms),
		account(0, 40, 960*ms, 1050*ms), account(1, 40, 1080*ms, 990*ms),
		account(0, 50, 980*ms, 1100*ms), account(1, 50, 2140*ms, 1020*ms), // another program has the processors
	}
	slow := func(rank topology.Rank) float64 { return float64(1 + 2*rank) }
	of := func(events ...record.Event) record.Spent {
		return (&Result{Run: &record.Run{Events: events}}).Round(slow)
	}
	// Worker 0 has 2 ms by the clock, 5 ms of a processor. Worker 1 has 6 and 3 ms, and is three times slower.
	if got, want := of(events...), (record.Spent{Compute: (2*ms + ms) / 2, Codec: ms / 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := of(events[0]), (record.Spent{Compute: 90 * ms, Codec: ms / 5}); got != want {
		t.Errorf("%+v of one account, want %+v", got, want)
	}
	if got := of(); got != (record.Spent{}) {
		t.Errorf("%+v without accounts", got)
	}
}

func TestCostsAmongPeers(t *testing.T) {
	costs := cost.Costs{Gradient: 3 * ms, Round: ms, Encode: 2 * ms, Frame: ms, Link: 4 * ms, Late: ms}
	alone := record.Spent{Compute: 3 * ms, Codec: 2 * ms}
	want := cost.Costs{Gradient: 5 * ms, Round: 3 * ms / 2, Encode: 3 * ms, Frame: ms, Link: 4 * ms, Late: ms}
	if got := among(costs, alone, record.Spent{Compute: 5 * ms, Codec: 3 * ms}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := among(costs, alone, record.Spent{Compute: ms, Codec: ms}); got != costs {
		t.Errorf("nothing takes longer: %v, want %v", got, costs)
	}
	free := cost.Costs{Gradient: 3 * ms}
	if got := among(free, record.Spent{Compute: 3 * ms}, alone); got != free {
		t.Errorf("without coding: %v", got)
	}
}
