package node

import (
	"gossiptrainer/internal/record"
)

// idle answers an arbiter for a worker that begins no round, until stop is called: those
// who would give it a place hold still as well.
func idle(a Arbiter) (stop func()) {
	if a == nil {
		return func() {}
	}
	stopped, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-a.Hold():
			a.Held(0)
		case <-stopped:
		}
	}()
	return func() {
		close(stopped)
		<-gone
	}
}

// listen takes in what the arbiter has said before the worker has begun.
func (d *driver) listen() error {
	select {
	case <-d.verdict.hold:
		d.holdStill()
	default:
	}
	select {
	case <-d.verdict.ended:
		return d.conclude()
	default:
	}
	return nil
}

// holdStill begins no further round and tells the arbiter so.
func (d *driver) holdStill() {
	d.verdict.hold, d.verdict.holding = nil, true
	d.verdict.arbiter.Held(d.core.Hold())
}

// conclude makes the run one of as many rounds as the arbiter says. Where workers share
// none each has ended by itself.
func (d *driver) conclude() error {
	v := &d.verdict
	last := v.arbiter.Last()
	v.hold, v.ended, v.holding = nil, nil, false
	if err := d.core.End(last); err != nil {
		return d.failed(err)
	}
	if d.w.Asynchronous {
		return nil
	}
	d.w.Rounds = last
	d.vitals.end(last)
	d.keeper.rounds = last
	d.hosting.end(last)
	if v.unsaid != nil && v.unsaid.Round == last {
		d.observe(record.Event{Step: v.unsaid})
	}
	return nil
}

// recorded reports whether the round that has just been finished is put on record. One
// after which the worker holds still may turn out to be the last.
func (d *driver) recorded() bool {
	recorded := d.w.Recorded(d.round)
	if !recorded && d.verdict.holding && d.w.Every > 0 {
		d.verdict.unsaid = d.step()
	}
	return recorded
}
