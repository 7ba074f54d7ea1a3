package dash

import (
	"math"

	"gossiptrainer/internal/record"
)

// A beat turns the steps of a record into moments. With n workers every n-th step completes one, once all workers have
// a step, as in record.Run.Progress. Here steps come in the order of the record, because a beat does not wait, and lost
// workers count no more.
type beat struct {
	workers int           // of the run; 0: unknown until one of them has two steps
	last    []record.Step // by rank; Round 0: none yet
	gone    []bool        // by rank: lost, and no step since
	known   int           // workers with a step that are not gone
	lost    int           // workers that are gone
	steps   int           // so far

	least, most float64 // losses of the steps since the last moment
}

// see returns the moment that a step completes, if it completes one.
func (b *beat) see(s record.Step) (moment point, complete bool) {
	b.grow(s.Rank + 1)
	switch again := b.last[s.Rank].Round > 0; {
	case b.gone[s.Rank]:
		b.gone[s.Rank] = false
		b.known++
		b.lost--
	case !again:
		b.known++
	case b.workers == 0:
		b.workers = b.known + b.lost
	}
	if b.least, b.most = math.Min(b.least, s.Loss), math.Max(b.most, s.Loss); b.steps == 0 {
		b.least, b.most = s.Loss, s.Loss
	}
	b.last[s.Rank] = s
	b.steps++
	if want := b.workers - b.lost; want <= 0 || b.known < want || b.steps%want != 0 {
		return point{}, false
	}
	moment = b.moment()
	b.least, b.most = math.Inf(1), math.Inf(-1)
	return moment, true
}

// grow makes room for some workers.
func (b *beat) grow(workers int) {
	if more := workers - len(b.last); more > 0 {
		b.last, b.gone = append(b.last, make([]record.Step, more)...), append(b.gone, make([]bool, more)...)
	}
}

// miss notes that a worker is lost. Moments neither wait for it nor count it.
func (b *beat) miss(rank int) {
	if b.grow(rank + 1); b.gone[rank] {
		return
	}
	b.gone[rank] = true
	b.lost++
	if b.last[rank].Round > 0 {
		b.known--
	}
}

// moment sums up the last steps of all workers that are not lost.
func (b *beat) moment() point {
	m := point{moments: 1, least: b.least, most: b.most}
	for rank, s := range b.last {
		if s.Round == 0 || b.gone[rank] {
			continue
		}
		one := pointOf(s)
		m.round += one.round
		m.time = math.Max(m.time, one.time)
		m.sent += one.sent
		m.bits += one.bits
		m.loss += one.loss
		m.gap, m.theta = math.Max(m.gap, one.gap), math.Max(m.theta, one.theta)
		m.compute += one.compute
		m.wait += one.wait
		m.codec += one.codec
		m.own += one.own
	}
	n := float64(b.known)
	for _, sum := range []*float64{&m.round, &m.sent, &m.bits, &m.loss, &m.compute, &m.wait, &m.codec, &m.own} {
		*sum /= n
	}
	return m
}

// pointOf is the moment of one worker.
func pointOf(s record.Step) point {
	return point{
		moments: 1, round: float64(s.Round), time: s.Time.Seconds(), sent: float64(s.Sent.Wire), bits: float64(s.Bits),
		loss: s.Loss, least: s.Loss, most: s.Loss, gap: s.Gap, theta: s.Theta,
		compute: s.Compute.Seconds(), wait: s.Wait.Seconds(), codec: s.Codec.Seconds(), own: s.HandOver.Seconds(),
	}
}
