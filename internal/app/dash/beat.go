package dash

import (
	"math"

	"gossiptrainer/internal/record"
)

// A beat turns the steps of a record into moments. With n workers every n-th step completes one, once all workers have
// a step, as in record.Run.Progress. Here steps come in the order of the record, because a beat does not wait.
type beat struct {
	workers int           // of the run; 0: unknown until one of them has two steps
	last    []record.Step // by rank; Round 0: none yet
	known   int           // workers with a step
	absent  int           // workers that were lost before their first step
	steps   int           // so far

	least, most float64 // losses of the steps since the last moment
}

// see returns the moment that a step completes, if it completes one.
func (b *beat) see(s record.Step) (moment point, complete bool) {
	if s.Rank >= len(b.last) {
		b.last = append(b.last, make([]record.Step, s.Rank+1-len(b.last))...)
	}
	again := b.last[s.Rank].Round > 0
	if b.workers == 0 && again {
		b.workers = b.known
	}
	if !again {
		b.known++
	}
	if b.least, b.most = math.Min(b.least, s.Loss), math.Max(b.most, s.Loss); b.steps == 0 {
		b.least, b.most = s.Loss, s.Loss
	}
	b.last[s.Rank] = s
	b.steps++
	if want := b.workers - b.absent; want <= 0 || b.known < want || b.steps%want != 0 {
		return point{}, false
	}
	moment = b.moment()
	b.least, b.most = math.Inf(1), math.Inf(-1)
	return moment, true
}

// miss notes that a worker is gone. Moments do not wait for one that never had a step.
func (b *beat) miss(rank int) {
	if b.workers > 0 && b.known < b.workers-b.absent && (rank >= len(b.last) || b.last[rank].Round == 0) {
		b.absent++
	}
}

// moment sums up the last steps of all workers.
func (b *beat) moment() point {
	m := point{moments: 1, least: b.least, most: b.most}
	for _, s := range b.last {
		if s.Round == 0 {
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
