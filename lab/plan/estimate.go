package plan

import (
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
)

// A traffic is what a candidate sends. It says, without a simulation, how long a round takes about.
type traffic struct {
	payload  int     // bytes of a message; 0: not known before a run
	frames   []int   // by hop: of the worker that sends the most
	mean     float64 // frames per exchange and worker
	steps    int     // rounds per exchange
	overlaps bool    // messages travel while the gradient is computed
}

func trafficOf(run *experiment.Run) traffic {
	p := forecast.Predict(run)
	return traffic{
		payload: p.Payload, frames: p.Frames, mean: p.Mean, steps: max(1, run.Config().Algorithm.LocalSteps),
		overlaps: run.Describe().Overlap == experiment.Overlaps,
	}
}

// round returns the seconds and bytes of a mean round. Each hop adds a latency and the bytes of the busiest uplink.
// Coding takes no time.
func (t traffic) round(gradient time.Duration, link shape.Link) (seconds, bytes float64) {
	wire := float64(sim.WireBytes(sim.StreamBytes(t.payload), link))
	exchange := 0.0
	for _, frames := range t.frames {
		if exchange += link.Latency.Seconds(); link.Rate > 0 {
			exchange += float64(frames) * 8 * wire / link.Rate
		}
	}
	compute, steps := gradient.Seconds(), float64(t.steps)
	last := compute + exchange
	if t.overlaps {
		last = max(compute, exchange)
	}
	return ((steps-1)*compute + last) / steps, t.mean * wire / steps
}

// An estimate is the round of a candidate by bytes and links alone.
type estimate struct{ seconds, bytes float64 }

const (
	// estimateError is the relative error of the time of a round that was estimated.
	estimateError = 0.5
	// paceError is the factor by which the rounds to the target may differ from those of the reference, as long as no
	// simulation says more.
	paceError = 2
)

// estimated predicts a candidate that was not simulated: it is taken to need as many rounds as the reference.
func (f *forecaster) estimated(t *trial) Row {
	r := Row{Candidate: t.Candidate, Outcome: outcomeEstimated, Round: around(t.guess.seconds, estimateError),
		Bytes: t.guess.bytes}
	needs := f.reference.reach(f.target)
	if needs == 0 {
		needs = f.reference.rank(f.target.Value)
	}
	if needs > float64(f.reference.rounds) { // also infinite
		r.Why = "the reference does not say how many rounds it takes"
		return r
	}
	rounds := around(needs, paceError-1)
	real := f.rehearsal.real(needs*t.guess.seconds, needs, t.Steps)
	time := around(real, estimateError).times(around(1, paceError-1))
	sent := around(needs*t.guess.bytes, paceError-1)
	r.Rounds, r.Time, r.Sent = &rounds, &time, &sent
	return r
}
