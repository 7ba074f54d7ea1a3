package sim

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// paramsOf returns copies of the models of all workers.
func paramsOf(workers []work.Task) [][]float32 {
	var all [][]float32
	for _, w := range workers {
		all = append(all, slices.Clone(w.Machine.Params()))
	}
	return all
}

// A run that ends early is the run of as many rounds: in models, and in bytes.
func TestAnEndIsARoundThatAllHave(t *testing.T) {
	slow := shape.Network{Uplink: shape.Link{Rate: 8e5, Latency: 3 * time.Millisecond}}
	// The first worker is fast, so that others are behind it when the run ends.
	uneven := func(worker topology.Rank, _ int) time.Duration { return time.Duration(1+worker) * time.Millisecond }
	for _, order := range []algos.Order{algos.CTA, algos.ATC} {
		for name, ending := range map[string]Ending{
			"record": {Until: func(s record.Step) bool { return s.Round == 7 }},
			"time":   {Time: 60 * time.Millisecond},
			"begin":  {Time: 1},
			"late":   {Until: func(s record.Step) bool { return s.Round == rounds }},
		} {
			early := ring(t, 6, 50, order)
			res := run(t, early, Options{Network: slow, Compute: uneven, Ending: ending})
			end := res.Rounds[0]
			if least := slices.Min(res.Rounds); least != slices.Max(res.Rounds) || name == "record" && end < 7 {
				t.Fatalf("%s: rounds %v, want those of one run", name, res.Rounds)
			}
			whole := ringOf(t, 6, 50, order, end)
			want := run(t, whole, Options{Network: slow, Compute: uneven})
			if !slices.EqualFunc(paramsOf(early), paramsOf(whole), slices.Equal) {
				t.Errorf("%s: order %v: other models than those of %d rounds", name, order, end)
			}
			if !slices.Equal(res.Sent, want.Sent) || res.Time != want.Time {
				t.Errorf("%s: order %v: %v and %v, want %v and %v", name, order, res.Sent[0], res.Time, want.Sent[0], want.Time)
			}
		}
	}
}
