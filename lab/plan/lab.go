package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/record"
	"gossiptrainer/lab/rehearse"
)

// A labTask is how a candidate runs with real peers.
type labTask struct {
	set   []string
	flags []string // values of --until
}

// A labRun is what real peers have shown.
type labRun struct {
	*rehearse.Result
	whole   float64 // seconds of a round, of all rounds
	steady  float64 // seconds of a round, after the first fifth
	scatter float64 // relative standard error of steady
}

// lab runs a candidate as processes of this machine.
func (p *planner) lab(ctx context.Context, c Candidate, task labTask) (*labRun, error) {
	loaded, err := p.load(c, slices.Concat(p.limits, task.set)...)
	if err != nil {
		return nil, err
	}
	result, err := rehearse.Run(ctx, loaded.Config, task.flags...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("plan: real peers with %s: %w", c, err)
	}
	done := &labRun{Result: result, whole: result.Summary.Time / float64(result.Summary.Rounds)}
	done.steady, done.scatter = blocks(result.Run.Progress())
	if done.steady == 0 {
		done.steady = done.whole
	}
	return done, nil
}

// blocks returns the seconds of a round after the first fifth of the moments, and their relative standard error, from
// eight parts of equal length.
func blocks(moments []record.Moment) (seconds, scatter float64) {
	moments = moments[len(moments)/5:]
	const parts = 8
	n := len(moments) - 1
	if n < 1 {
		return 0, 0
	}
	rate := func(a, b record.Moment) float64 { return (b.Time - a.Time).Seconds() / (b.Round - a.Round) }
	seconds = rate(moments[0], moments[n])
	if n < parts {
		return seconds, 0
	}
	sum := 0.0
	for i := range parts {
		d := rate(moments[i*n/parts], moments[(i+1)*n/parts])/seconds - 1
		sum += d * d
	}
	return seconds, math.Sqrt(sum / (parts - 1) / parts)
}
