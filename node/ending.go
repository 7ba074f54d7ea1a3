package node

import (
	"errors"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
)

// idle answers an arbiter for a worker that begins no round, until stop is called. Otherwise the
// arbiter would wait for this worker, and the workers that hold still could give it no place.
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

// listen takes in what the arbiter said before the worker began.
func (d *driver) listen() error {
	select {
	case <-d.decision.hold:
		d.holdStill()
	default:
	}
	select {
	case <-d.decision.ended:
		return d.conclude()
	default:
	}
	return nil
}

// holdStill begins no further round and tells the arbiter so.
func (d *driver) holdStill() {
	d.decision.hold, d.decision.holding = nil, true
	d.decision.arbiter.Held(d.core.Hold())
}

// conclude sets the number of rounds to the arbiter's. An asynchronous worker has ended by itself.
func (d *driver) conclude() error {
	last := d.decision.arbiter.Last()
	d.decision.settle()
	if err := d.core.End(last); err != nil {
		return d.failed(err)
	}
	if !d.w.Asynchronous {
		shorten(d, last)
	}
	return nil
}

// over ends a run whose gradient has said that no further round takes place. A worker that shares no rounds ends with a
// step without an update.
func over(d *driver, o outcome) error {
	if d.w.Asynchronous {
		d.core.Hold()
		clear(o.g)
		return d.failed(d.core.Gradient(o.g, d.loss, time.Since(d.began)))
	}
	if err := d.core.End(o.k); err != nil {
		return d.failed(err)
	}
	shorten(d, o.k)
	return nil
}

// shorten notes that the run has fewer rounds than planned.
func shorten(d *driver, last int) {
	v := &d.decision
	v.settle()
	d.w.Rounds = last
	d.vitals.end(last)
	d.keeper.rounds = last
	d.hosting.end(last)
	if v.unsaid != nil && v.unsaid.Round == last {
		d.observe(record.Event{Step: v.unsaid})
	}
}

// recorded reports whether to record the round that has just been finished. The round after which a
// worker holds still may turn out to be the last, and so may each round of an open run.
func (d *driver) recorded() bool {
	recorded := d.w.Recorded(d.round)
	if !recorded && (d.decision.holding || d.w.Program != nil) && d.w.Every > 0 {
		d.decision.unsaid = d.step()
	}
	return recorded
}

// change prepares the machine and the links for the vector with which the program goes on, if there is another one.
func change(d *driver) error {
	p := d.w.Program
	if p == nil || p.Change == nil {
		return nil
	}
	c, err := p.Change()
	if c == nil || err != nil {
		return err
	}
	machine, ok := d.w.Machine.(*gossip.Worker)
	if !ok {
		return errors.New("the vector cannot change where workers share no rounds: join with all that will train")
	}
	p.links.Widen(c.MaxPayload)
	return gossip.Succeed(machine, c.From, func(x []float32) (*gossip.Worker, error) {
		next, err := c.Next(x)
		if err != nil {
			return nil, err
		}
		p.links.Lay(next.Coding)
		d.w.Recording = next.Recording
		return next.Machine.(*gossip.Worker), nil
	})
}
