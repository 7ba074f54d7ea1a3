package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
)

func newBench(c *console) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "bench",
		Short: "measure what this machine can do, as ratios",
		Long: `measure what this machine can do, as ratios

Each figure is a time over that of a reference measured in the same run, in
turns with it, so that what disturbs the machine disturbs both.`,
		Example: `  peer bench codec
  peer bench compressors
  peer bench link --json
  peer bench step ring8-cifar
  peer bench sim`,
	}, newBenchCodec(c), newBenchCompressors(c), newBenchLink(c), newBenchStep(c), newBenchSim(c))
}

// A sample is the times of one kind of work in one measurement.
type sample []time.Duration

// take measures one call of work.
func (s *sample) take(work func() error) error {
	start := time.Now()
	err := work()
	*s = append(*s, time.Since(start))
	return err
}

// inTurns measures all work so many times, one after the other each time.
func inTurns(times int, work []func() error) ([]sample, error) {
	samples := make([]sample, len(work))
	for range times {
		for i, w := range work {
			if err := samples[i].take(w); err != nil {
				return nil, err
			}
		}
	}
	return samples, nil
}

func (s sample) shortest() time.Duration { return slices.Min(s) }

func (s sample) median() time.Duration { return slices.Sorted(slices.Values(s))[len(s)/2] }

// A figure is a time as a multiple of the reference's.
type figure struct {
	Median float64 `json:"median"` // of the medians
	Best   float64 `json:"best"`   // of the shortest times: disturbances only make times longer
}

// over returns s as multiples of reference; both have been taken.
func (s sample) over(reference sample) figure {
	ratio := func(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }
	return figure{ratio(s.median(), reference.median()), ratio(s.shortest(), reference.shortest())}
}
