package record

import (
	"cmp"
	"slices"
	"time"
)

// A Moment is the progress of a run at a time.
type Moment struct {
	Time     time.Duration
	Round    float64 // mean over the workers
	Loss     float64 // mean over the workers of their last mini-batch losses
	Gap      float64 // largest
	Compute  time.Duration
	Wait     time.Duration
	Codec    time.Duration
	HandOver time.Duration // means over the workers, of their last recorded rounds
	Sent     Bytes         // mean over the workers
}

// Progress returns the moments of a run. With n workers, every n-th step completes a moment, once all workers have one.
func (r *Run) Progress() []Moment {
	var steps []*Step
	ranks := map[int]*Step{}
	for _, e := range r.Events {
		if e.Step != nil {
			steps = append(steps, e.Step)
			ranks[e.Step.Rank] = nil
		}
	}
	slices.SortStableFunc(steps, func(a, b *Step) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), a.Rank-b.Rank)
	})
	var moments []Moment
	p := pace{workers: len(ranks)}
	for _, s := range steps {
		if m, ok := p.see(s); ok {
			moments = append(moments, m)
		}
	}
	return moments
}

// A pace turns steps, in the order of time, into moments.
type pace struct {
	workers int
	seen    int
	last    map[int]*Step
}

// see returns the moment that s completes, if it completes one.
func (p *pace) see(s *Step) (Moment, bool) {
	if p.last == nil {
		p.last = map[int]*Step{}
	}
	p.last[s.Rank] = s
	if p.seen++; len(p.last) < p.workers || p.seen%p.workers != 0 {
		return Moment{}, false
	}
	return momentOf(s.Time, p.last), true
}

// momentOf sums up the last steps of all workers.
func momentOf(now time.Duration, last map[int]*Step) Moment {
	m := Moment{Time: now}
	var ranks []int
	for rank := range last {
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks) // sums depend on the order
	n := len(ranks)
	for _, rank := range ranks {
		s := last[rank]
		m.Round += float64(s.Round)
		m.Loss += s.Loss
		m.Gap = max(m.Gap, s.Gap)
		m.Compute += s.Compute
		m.Wait += s.Wait
		m.Codec += s.Codec
		m.HandOver += s.HandOver
		m.Sent.Payload += s.Sent.Payload
		m.Sent.Stream += s.Sent.Stream
		m.Sent.Wire += s.Sent.Wire
	}
	m.Round /= float64(n)
	m.Loss /= float64(n)
	m.Compute /= time.Duration(n)
	m.Wait /= time.Duration(n)
	m.Codec /= time.Duration(n)
	m.HandOver /= time.Duration(n)
	m.Sent = Bytes{m.Sent.Payload / int64(n), m.Sent.Stream / int64(n), m.Sent.Wire / int64(n)}
	return m
}

// Smoothing is the number of moments over which a loss is averaged: mini-batch losses jump.
const Smoothing = 2*beside + 1

// beside is the number of moments on each side of the one for which a mean stands.
const beside = 2

// Smooth returns the mean loss around each moment. Windows are centred and shrink at both ends, so that a straight
// line keeps its place in time.
func Smooth(moments []Moment) []float64 {
	losses := make([]float64, len(moments))
	for i, m := range moments {
		losses[i] = m.Loss
	}
	return Centred(losses, beside)
}

// Centred returns the mean of each value and up to half values on each side of it, the same number on both.
func Centred(values []float64, half int) []float64 {
	means := make([]float64, len(values))
	for i := range values {
		sides := min(half, i, len(values)-1-i)
		sum := 0.0
		for _, v := range values[i-sides : i+sides+1] {
			sum += v
		}
		means[i] = sum / float64(2*sides+1)
	}
	return means
}

// CompleteMeans returns the means of Smooth that cover Smoothing moments: those of all moments but the first two and
// the last two. They do not change while a run goes on.
func CompleteMeans(moments []Moment) []float64 {
	from := min(beside, len(moments))
	return Smooth(moments)[from:max(from, len(moments)-beside)]
}
