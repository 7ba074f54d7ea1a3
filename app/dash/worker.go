package dash

import (
	"math"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
)

// A worker is all that the dash knows of one worker.
type worker struct {
	changed int64 // version of the last change
	state   record.State
	detail  string
	missing []int
	step    record.Step // the last one; Round 0: none yet
	own     *curve
	pace    float64       // rounds a second, smoothed; NaN: unknown
	spent   record.Spent  // of the recorded rounds, or of all rounds up to the account
	account *record.Links // the last one; nil: none yet
	deaths  int
	final   *record.Final

	rates traffic
	live  vital
}

// traffic is bytes a second at the socket, smoothed.
type traffic struct{ sent, received float64 }

func newWorker(points int) *worker {
	return &worker{own: newCurve(points), pace: math.NaN(), rates: traffic{math.NaN(), math.NaN()}}
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

// advance takes a step.
func (w *worker) advance(s record.Step, version int64) {
	if took := (s.Time - w.step.Time).Seconds(); took > 0 && s.Round > w.step.Round {
		smooth(&w.pace, float64(s.Round-w.step.Round)/took)
		if !w.live.asked {
			smooth(&w.rates.sent, math.Max(0, float64(s.Sent.Wire-w.step.Sent.Wire)/took))
			smooth(&w.rates.received, math.Max(0, float64(s.Received.Wire-w.step.Received.Wire)/took))
		}
	}
	w.step = s
	if w.account == nil {
		w.spent.Add(record.Spent{Compute: s.Compute + s.HandOver, Wait: s.Wait, Codec: s.Codec})
	}
	at := pointOf(s)
	at.changed = version
	w.own.add(at)
	w.changed = version
}

// enter takes a change of the state.
func (w *worker) enter(s record.Status, version int64) {
	if s.State == record.Returning || s.State == record.Lost {
		w.deaths++
	}
	w.state, w.detail, w.missing, w.changed = s.State, s.Detail, s.Missing, version
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
	if w.final != nil {
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
