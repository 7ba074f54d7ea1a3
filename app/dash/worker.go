package dash

import (
	"math"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
)

// A worker is all that the dash knows of one worker.
type worker struct {
	record.Worker
	changed int64       // version of the last change
	alone   record.Pace // of its own moments
	own     *curve
	pace    float64 // rounds a second, smoothed; NaN: unknown
	heard   bool    // the record has something of its own

	rates traffic
	live  vital
}

// traffic is bytes a second on the wire, smoothed.
type traffic struct{ sent, received float64 }

func newWorker(points int) *worker {
	return &worker{own: newCurve(points), alone: record.Pace{Workers: 1}, pace: math.NaN(),
		rates: traffic{math.NaN(), math.NaN()}}
}

// smoothing is about the number of values in a smoothed rate.
const smoothing = 4

// smooth moves a rate towards a new value.
func smooth(rate *float64, value float64) {
	if math.IsNaN(*rate) {
		*rate = value
		return
	}
	*rate += (value - *rate) / smoothing
}

// see takes an event of the worker.
func (w *worker) see(e record.Event, version int64) {
	if s := e.Step; s != nil {
		w.advance(s)
	}
	if at, ok := w.alone.See(e); ok {
		w.own.add(pointOf(at, version))
	}
	w.See(e)
	w.changed = version
}

// advance takes the rates of a step.
func (w *worker) advance(s *record.Step) {
	took := (s.Time - w.Last.Time).Seconds()
	if took <= 0 || s.Round <= w.Last.Round {
		return
	}
	smooth(&w.pace, float64(s.Round-w.Last.Round)/took)
	if !w.live.asked {
		smooth(&w.rates.sent, math.Max(0, float64(s.Sent.Wire-w.Last.Sent.Wire)/took))
		smooth(&w.rates.received, math.Max(0, float64(s.Received.Wire-w.Last.Received.Wire)/took))
	}
}

// A vital is what the process of a worker has answered.
type vital struct {
	asked  bool  // it has answered once
	here   *bool // whether it answers; nil: no process of this machine has ever answered, or the worker is done
	answer status.Answer
	at     time.Time // of the answer
}

// take notes the answer of a worker, or that it gave none, and reports whether something changed.
func (w *worker) take(answer *status.Answer, now time.Time) (changed bool) {
	v := &w.live
	if answer == nil {
		if v.here == nil || !*v.here {
			return false
		}
		v.here = new(bool)
		w.rates = traffic{}
		return true
	}
	if w.Final != nil {
		return false
	}
	took := now.Sub(v.at).Seconds()
	if v.asked && took > 0 && answer.Pid == v.answer.Pid {
		smooth(&w.rates.sent, float64(answer.Sent.Wire-v.answer.Sent.Wire)/took)
		smooth(&w.rates.received, float64(answer.Received.Wire-v.answer.Received.Wire)/took)
	}
	here := true
	v.asked, v.here, v.answer, v.at = true, &here, *answer, now
	return true
}
