package dash

import (
	"math"

	"gossiptrainer/internal/record"
)

// Bounds of the points that curves keep.
const (
	mostPoints  = 2000  // of a run
	ownPoints   = 500   // of one worker
	leastPoints = 32    // of one worker of many
	allPoints   = 32000 // of all workers together
)

// A point sums up the moments that it merges. They are neighbours on the axes, and a peak of one of them stays visible.
type point struct {
	moments int
	told    int   // moments with a loss
	changed int64 // version of the last change

	round, time, sent, bits         float64 // of the last moment
	loss, compute, wait, codec, own float64 // sums; own is the time to hand vectors over to a script
	least, most, gap, theta         float64 // of the losses, NaN where there is none; the largest gap and theta
}

// pointOf returns the point of a moment.
func pointOf(m record.Moment, version int64) point {
	p := point{
		moments: 1, changed: version, round: m.Round, time: m.Time.Seconds(), sent: float64(m.Sent.Wire), bits: m.Bits,
		least: m.Least, most: m.Most, gap: m.Gap, theta: m.Theta,
		compute: m.Compute.Seconds(), wait: m.Wait.Seconds(), codec: m.Codec.Seconds(), own: m.HandOver.Seconds(),
	}
	if !math.IsNaN(m.Loss) {
		p.told, p.loss = 1, m.Loss
	}
	return p
}

// meanLoss returns the mean of the losses, NaN where there is none.
func (p *point) meanLoss() float64 { return p.loss / float64(p.told) }

// merge adds a later point.
func (p *point) merge(later point) {
	p.moments += later.moments
	p.changed = max(p.changed, later.changed)
	p.round, p.time, p.sent, p.bits = later.round, later.time, later.sent, later.bits
	p.loss += later.loss
	p.told += later.told
	p.compute += later.compute
	p.wait += later.wait
	p.codec += later.codec
	p.own += later.own
	switch {
	case math.IsNaN(p.least):
		p.least, p.most = later.least, later.most
	case !math.IsNaN(later.least):
		p.least, p.most = min(p.least, later.least), max(p.most, later.most)
	}
	p.gap, p.theta = math.Max(p.gap, later.gap), math.Max(p.theta, later.theta)
}

// A curve keeps a bounded number of points of an unbounded number of moments. Each point merges the same number of
// moments, and the last one perhaps fewer. When there are too many points, neighbours merge.
type curve struct {
	most   int // points
	merged int // moments of a point
	points []point
	whole  int64 // version of the last change of all points
}

func newCurve(most int) *curve { return &curve{most: most, merged: 1} }

// add appends a moment, whose version is that of the change.
func (c *curve) add(moment point) {
	if n := len(c.points); n > 0 {
		last := &c.points[n-1]
		moment.round, moment.time = math.Max(moment.round, last.round), math.Max(moment.time, last.time)
		moment.sent = math.Max(moment.sent, last.sent)
		if last.moments < c.merged {
			last.merge(moment)
			return
		}
	}
	c.points = append(c.points, moment)
	if len(c.points) > c.most {
		c.halve(moment.changed)
	}
}

// halve merges neighbours.
func (c *curve) halve(version int64) {
	kept := c.points[:0]
	for i := 0; i < len(c.points); i += 2 {
		p := c.points[i]
		if i+1 < len(c.points) {
			p.merge(c.points[i+1])
		}
		kept = append(kept, p)
	}
	c.points, c.whole = kept, version
	c.merged *= 2
}

// since returns the points that changed after a version: the columns of all points if that is most of them.
func (c *curve) since(version int64) *Curve {
	from := len(c.points)
	for from > 0 && c.points[from-1].changed > version {
		from--
	}
	whole := version < c.whole || version == 0
	if whole {
		from = 0
	} else if from == len(c.points) {
		return nil
	}
	out := &Curve{Points: len(c.points), Merged: c.merged, Whole: whole, At: make([]int, 0, len(c.points)-from)}
	out.grow(len(c.points) - from)
	before := point{}
	if from > 0 {
		before = c.points[from-1]
	}
	for i, p := range c.points[from:] {
		out.At = append(out.At, from+i)
		out.add(p, before)
		before = p
	}
	return out
}

// A Curve is the columns of a curve or of the points that changed, as the page reads them. Times are in seconds.
type Curve struct {
	Points int   `json:"points"` // of the whole curve
	Merged int   `json:"merged"` // moments of a point
	Whole  bool  `json:"whole,omitempty"`
	At     []int `json:"at"` // the places of the points that follow
	axes
	values
	parts
}

// axes are the columns that never decrease.
type axes struct {
	Round exact `json:"round"` // finished, mean over the workers
	Time  exact `json:"time_s"`
	Bytes exact `json:"bytes"` // sent on the wire, mean over the workers
}

// values are the columns of the training.
type values struct {
	Loss     column `json:"loss"`
	LossLow  column `json:"loss_min"`
	LossHigh column `json:"loss_max"`
	Gap      column `json:"gap"`
	Theta    column `json:"theta"` // NaN without a bound
	Bits     column `json:"bits"`
}

// parts are the columns of the time of a round.
type parts struct {
	Compute  column `json:"compute_s"`
	Wait     column `json:"wait_s"`
	Codec    column `json:"codec_s"`
	HandOver column `json:"handover_s"`
	All      column `json:"round_s"` // NaN: unknown
}

// grow makes room for some points.
func (c *Curve) grow(points int) {
	for _, of := range []*exact{&c.Round, &c.Time, &c.Bytes} {
		*of = make(exact, 0, points)
	}
	for _, of := range []*column{&c.Loss, &c.LossLow, &c.LossHigh, &c.Gap, &c.Theta, &c.Bits, &c.Compute, &c.Wait,
		&c.Codec, &c.HandOver, &c.All} {
		*of = make(column, 0, points)
	}
}

// add appends a point to the columns. The point before it is zero for the first.
func (c *Curve) add(p, before point) {
	n, theta, took := float64(p.moments), p.theta, math.NaN()
	if theta == 0 {
		theta = math.NaN()
	}
	if rounds := p.round - before.round; rounds > 0 {
		took = (p.time - before.time) / rounds
	}
	c.Round, c.Time, c.Bytes = append(c.Round, p.round), append(c.Time, p.time), append(c.Bytes, math.Round(p.sent))
	c.Loss, c.LossLow, c.LossHigh = append(c.Loss, p.meanLoss()), append(c.LossLow, p.least), append(c.LossHigh, p.most)
	c.Gap, c.Theta, c.Bits = append(c.Gap, p.gap), append(c.Theta, theta), append(c.Bits, p.bits)
	c.Compute, c.Wait = append(c.Compute, p.compute/n), append(c.Wait, p.wait/n)
	c.Codec, c.HandOver = append(c.Codec, p.codec/n), append(c.HandOver, p.own/n)
	c.All = append(c.All, took)
}
