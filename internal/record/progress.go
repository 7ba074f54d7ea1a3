package record

import (
	"maps"
	"math"
	"slices"
	"time"
)

// A Moment is the progress of a run at a time. Means are over the workers that are not lost.
type Moment struct {
	Time     time.Duration
	Round    float64 // mean
	Loss     float64 // mean of the last mini-batch losses of the workers that have one; NaN: none has
	Least    float64 // mini-batch loss since the last moment, and Most; NaN: there was none
	Most     float64
	Gap      float64 // largest
	Theta    float64 // largest
	Bits     float64 // mean
	Compute  time.Duration
	Wait     time.Duration
	Codec    time.Duration
	HandOver time.Duration // means of the last recorded rounds
	Sent     Bytes         // mean
}

// Progress returns the moments of a run. Where members come and go, those of the latest view count.
func (r *Run) Progress() []Moment {
	if slices.ContainsFunc(r.Events, func(e Event) bool { return e.Status != nil && e.Status.View != nil }) {
		return memberProgress(r.Events)
	}
	var events []ordered
	var latest time.Duration
	ranks := map[int]bool{}
	for _, e := range r.Events {
		if at, ok := orderedOf(e, &latest); ok {
			events = append(events, at)
		}
		if e.Step != nil {
			ranks[e.Step.Rank] = true
		}
	}
	slices.SortStableFunc(events, ordered.compare)
	var moments []Moment
	p := Pace{Workers: len(ranks)}
	for _, e := range events {
		if m, complete := p.See(e.Event); complete {
			moments = append(moments, m)
		}
	}
	return moments
}

// A Pace turns the steps of a run, in the order of time, into moments. With n workers every n-th step completes one,
// once all workers have a step. Lost workers count no more, until they have another step.
type Pace struct {
	Workers int // of the run; 0: unknown until one of them has two steps

	last        map[int]*Step // of the workers that are not lost
	lost        map[int]bool
	steps       int     // since one of them was lost or came back
	least, most float64 // losses since the last moment
}

// See returns the moment that an event completes, if it completes one.
func (p *Pace) See(e Event) (m Moment, complete bool) {
	if p.last == nil {
		p.last, p.lost, p.least, p.most = map[int]*Step{}, map[int]bool{}, math.Inf(1), math.Inf(-1)
	}
	if e.isLoss() {
		delete(p.last, e.Status.Rank)
		p.lost[e.Status.Rank] = true
		p.steps = 0 // the others make the next moment
	}
	if e.Step == nil {
		return Moment{}, false
	}
	if p.Workers == 0 && p.last[e.Step.Rank] != nil {
		p.Workers = len(p.last) + len(p.lost)
	}
	if p.lost[e.Step.Rank] {
		delete(p.lost, e.Step.Rank)
		p.steps = 0
	}
	p.last[e.Step.Rank] = e.Step
	if !math.IsNaN(e.Step.Loss) {
		p.least, p.most = min(p.least, e.Step.Loss), max(p.most, e.Step.Loss)
	}
	p.steps++
	if n := p.Workers - len(p.lost); n <= 0 || len(p.last) < n || p.steps%n != 0 {
		return Moment{}, false
	}
	m = p.moment()
	p.least, p.most = math.Inf(1), math.Inf(-1)
	return m, true
}

// Enter lets only these workers count from now on: members of a run come and go.
func (p *Pace) Enter(workers []int) {
	gone := func(rank int) bool { return !slices.Contains(workers, rank) }
	maps.DeleteFunc(p.last, func(rank int, _ *Step) bool { return gone(rank) })
	maps.DeleteFunc(p.lost, func(rank int, _ bool) bool { return gone(rank) })
	p.Workers, p.steps = len(workers), 0
}

// Last returns the last steps of the workers that are not lost, by rank: sums depend on the order.
func (p *Pace) Last() []*Step {
	return slices.SortedFunc(maps.Values(p.last), func(a, b *Step) int { return a.Rank - b.Rank })
}

// moment sums up the last steps.
func (p *Pace) moment() Moment {
	steps := p.Last()
	m, n := Moment{Loss: MeanLoss(steps), Least: p.least, Most: p.most}, len(steps)
	if m.Least > m.Most {
		m.Least, m.Most = math.NaN(), math.NaN()
	}
	for _, s := range steps {
		m.Time = max(m.Time, s.Time)
		m.Round += float64(s.Round)
		m.Gap, m.Theta = max(m.Gap, s.Gap), max(m.Theta, s.Theta)
		m.Bits += float64(s.Bits)
		m.Compute += s.Compute
		m.Wait += s.Wait
		m.Codec += s.Codec
		m.HandOver += s.HandOver
		m.Sent.Add(s.Sent)
	}
	m.Round /= float64(n)
	m.Bits /= float64(n)
	m.Compute /= time.Duration(n)
	m.Wait /= time.Duration(n)
	m.Codec /= time.Duration(n)
	m.HandOver /= time.Duration(n)
	m.Sent = Bytes{m.Sent.Payload / int64(n), m.Sent.Stream / int64(n), m.Sent.Wire / int64(n)}
	return m
}

// MeanLoss returns the mean loss of the steps that have one, NaN where none has. A missing loss is no loss of 0.
func MeanLoss(steps []*Step) float64 {
	var losses []float64
	for _, s := range steps {
		if !math.IsNaN(s.Loss) {
			losses = append(losses, s.Loss)
		}
	}
	return mean(losses)
}

// mean returns the mean of some numbers, NaN of none.
func mean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all))
}

// Smoothing is the number of moments over which a loss is averaged: mini-batch losses jump.
const Smoothing = 2*beside + 1

// beside is the number of moments on each side of the one for which a mean stands.
const beside = 2

// Smooth returns the mean loss around each moment, NaN around one without a loss. Windows are centred and shrink at
// both ends, so that a straight line keeps its place in time.
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

// MeasuresGaps reports whether the algorithm of a run measures the distance of neighbours. Algorithms that do not have
// 0 in every moment.
func MeasuresGaps(moments []Moment) bool {
	return slices.ContainsFunc(moments, func(m Moment) bool { return m.Gap > 0 })
}
