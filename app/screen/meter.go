package screen

import (
	"math"
	"time"
)

// meterWindow is the span over which a rate is taken: long enough to hold
// several rounds on a slow link, short enough to follow a change.
const meterWindow = 3 * time.Second

// A meter turns a growing counter into a rate over the last seconds of the
// run's own time, which in a simulation is virtual.
type meter struct {
	samples []sample
}

type sample struct {
	at    time.Duration
	bytes int64
}

// add takes the counter at time at; a time that does not advance replaces the last sample.
func (m *meter) add(at time.Duration, bytes int64) {
	if n := len(m.samples); n > 0 && at <= m.samples[n-1].at {
		m.samples = m.samples[:n-1]
	}
	m.samples = append(m.samples, sample{at, bytes})
	for len(m.samples) > 2 && m.samples[1].at <= at-meterWindow {
		m.samples = m.samples[1:]
	}
}

// leastSpan is the shortest span over which a rate means anything: the gradients of a simulation may take
// microseconds, and links without a limit no time at all.
const leastSpan = time.Second

// rate returns bits per second, NaN before it is known.
func (m *meter) rate() float64 {
	if len(m.samples) == 0 {
		return math.NaN()
	}
	last := m.samples[len(m.samples)-1]
	first := sample{} // nothing had been sent when the run began
	if len(m.samples) > 1 && last.at-m.samples[0].at >= leastSpan {
		first = m.samples[0]
	}
	if last.at-first.at < leastSpan {
		return math.NaN()
	}
	return 8 * float64(last.bytes-first.bytes) / (last.at - first.at).Seconds()
}

// A smooth is the mean of a duration over the last few rounds, because single rounds vary too much to read.
type smooth struct {
	mean  time.Duration
	begun bool
}

// smoothing is about the number of rounds in the mean.
const smoothing = 8

func (s *smooth) add(d time.Duration) {
	if !s.begun {
		s.mean, s.begun = d, true
		return
	}
	s.mean += (d - s.mean) / smoothing
}
