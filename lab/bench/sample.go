// Package bench measures what this machine can do. Each figure is a time over that of a
// reference that is measured in turns with it, so that what disturbs the machine disturbs
// both: Moniqua's codec and the compressors over a copy, rounds between processes over plain
// sockets, simulated rounds over their gradients, gradients over the peak of the machine.
//
// It reads the clock and starts processes. Figures out of range are usage errors.
package bench

import (
	"slices"
	"time"

	"gossiptrainer/internal/stats"
)

// A sample is the times of one kind of work in one measurement.
type sample []time.Duration

// take measures one call of work.
func (s *sample) take(work func() error) error {
	start := time.Now()
	err := work()
	*s = append(*s, time.Since(start))
	return err
}

// inTurns measures all work in turn, and repeats that. It calls after after each time.
func inTurns(times int, work []func() error, after func()) ([]sample, error) {
	samples := make([]sample, len(work))
	for range times {
		for i, w := range work {
			if err := samples[i].take(w); err != nil {
				return nil, err
			}
		}
		after()
	}
	return samples, nil
}

// A tally tells how much of the measurements is done.
type tally struct {
	done, all int64
	watch     func(done, all int64)
}

func (t *tally) add(n int64) {
	t.done += n
	t.watch(t.done, t.all)
}

func (s sample) shortest() time.Duration { return slices.Min(s) }

func (s sample) median() time.Duration { return stats.Median(s) }

// A Figure is a time as a multiple of the reference's.
type Figure struct {
	Median float64 `json:"median"` // of the medians
	Best   float64 `json:"best"`   // of the shortest times: disturbances only make times longer
}

// over returns s as multiples of reference; both have been taken.
func (s sample) over(reference sample) Figure {
	ratio := func(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }
	return Figure{ratio(s.median(), reference.median()), ratio(s.shortest(), reference.shortest())}
}
