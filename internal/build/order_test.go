package build

import (
	"testing"
	"time"

	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// A worker that is late once lets others of a changing graph run ahead. Messages leave round by round, so the rounds
// after it take the time of their bytes again.
func TestRoundsOnChangingGraphsRecoverFromADelay(t *testing.T) {
	const rounds, rate, gradient, delay = 80, 1e7, 2 * time.Millisecond, 100 * time.Millisecond
	for _, kind := range []string{"one-peer-exponential", "base2", "random-matching"} {
		r := assemble(t, "topology={size: 12, kind: "+kind+"}", "algorithm={name: dpsgd, codec: full}",
			"model={name: quadratic, dim: 12500, spread: 1}", "train.rounds=80")
		result, err := sim.Run(t.Context(), Tasks(workers(t, r)), sim.Options{
			Network: shape.Network{Uplink: shape.Link{Rate: rate}},
			Compute: func(rank topology.Rank, k int) time.Duration {
				if rank == 3 && k == 10 {
					return gradient + delay
				}
				return gradient
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		round := time.Duration(float64(8*result.Sent[0].Wire) / rate / rounds * float64(time.Second))
		if took, most := result.Time, delay+rounds*max(round, gradient)*21/20; took > most {
			t.Errorf("%s: %v with a delay, want at most %v: a round is %v of sending", kind, took, most, round)
		}
	}
}
