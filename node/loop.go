package node

import (
	"context"
	"errors"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A reporter is a transport that reports its status.
type reporter interface {
	transport
	meter
}

func newDriver(w Worker, t reporter) (*driver, error) {
	d := &driver{
		w: w, t: t, oracle: newOracle(), keeper: newKeeper(&w), hosting: hosting{save: w.Save},
		ending: ending{announce: func(*StoppedError) {}}, decision: newDecision(w.Arbiter),
		through: func(topology.Rank) bool { return false },
		progress: progress{round: w.first(), began: time.Now(), repairs: gossip.RepairsOf(w.Machine),
			account: work.NewAccount()},
	}
	d.audience = newAudience(t)
	var err error
	if d.core, err = w.core(func(rank topology.Rank) bool { return d.through(rank) }); err != nil {
		return nil, err
	}
	d.core.AtBoundary(func(k int) {
		d.keeper.boundary(k)
		d.hosting.boundary(k)
	})
	for _, rank := range w.Rows.Neighbours() {
		d.denials = append(d.denials, refusalState{rank: rank})
	}
	return d, nil
}

// run drives the machine until it is done and no neighbour needs it.
func (d *driver) run(ctx context.Context) error {
	defer d.oracle.start(&d.w)()
	d.cancelled, d.began = ctx.Done(), time.Now()
	tick := time.NewTicker(d.core.Pulse())
	defer tick.Stop()
	d.status(record.Training, "", nil)
	if len(d.w.Rows.Neighbours()) == 0 {
		d.keeper.begin()
	}
	if err := d.listen(); err != nil {
		return err
	}
	for {
		if err := d.advance(); err != nil {
			return err
		}
		switch {
		case d.leaves():
			return d.leave()
		case d.core.Over():
			d.keeper.close(d.core.Unneeded(), d.log)
			return nil
		}
		if err := d.next(ctx, tick.C); err != nil {
			return err
		}
	}
}

// advance does what the core asks for, until the core asks for nothing more.
func (d *driver) advance() error {
	for more := true; more; {
		began := time.Now()
		r := d.core.Ready()
		d.spent.codec += time.Since(began)
		for _, c := range r.Control {
			d.keeper.wished = d.keeper.wished || c.Kind == gossip.SaveState
			d.t.Control(c)
		}
		d.t.Send(r.Send)
		for _, payload := range r.Spent {
			d.t.Recycle(payload)
		}
		d.note(r.Notes)
		if r.Failed != nil {
			return d.cause(r.Failed)
		}
		d.vitals.wait(r.Waiting, d.core.Late())
		d.account.Lack(r.Waiting, time.Since(d.began))
		if r.Round > d.round {
			d.finish(r.Round)
		}
		if r.Compute {
			d.oracle.due = job{k: r.Round, x: r.At}
			d.proceed()
		}
		if more = r.More; !more && d.core.Done() && !d.core.Settled() && d.keeper.finish(d.round) {
			d.core.Settle()
			more = true // neighbours get their bye
		}
	}
	if err := d.watch(); err != nil {
		return err
	}
	d.keeper.write()
	d.proceed()
	return nil
}

// next waits for one event and handles it.
func (d *driver) next(ctx context.Context, tick <-chan time.Time) error {
	began := time.Now()
	select {
	case e := <-d.t.Events():
		return d.woken(began, func() error { return d.handle(e) })
	case o := <-d.oracle.outcomes:
		return d.woken(began, func() error { return d.computed(o) })
	case g := <-d.hosting.requests:
		return d.woken(began, func() error { return d.host(g) })
	case n := <-d.keeper.written:
		return d.woken(began, func() error { return d.kept(n) })
	case <-d.keeper.retry:
		return d.woken(began, d.try)
	case <-tick:
		return d.woken(began, func() error { return nil })
	case <-d.decision.hold:
		d.holdStill()
	case <-d.decision.ended:
		return d.conclude()
	case err := <-d.stopped:
		return d.stop(err)
	case <-d.cancelled:
		return d.interrupted(ctx)
	case <-d.ending.deadline:
		return d.overdue()
	}
	return nil
}

// woken handles an event, and counts the time since began as waiting unless this worker was computing.
func (d *driver) woken(began time.Time, do func() error) error {
	now := time.Now()
	if !d.oracle.busy {
		d.spent.wait += now.Sub(began)
	}
	if err := d.core.Tick(now.Sub(d.began)); err != nil {
		return d.failed(err)
	}
	return do()
}

func (d *driver) computed(o outcome) error {
	d.oracle.busy = false
	d.spent.compute = o.took
	if errors.Is(o.err, work.ErrOver) {
		return over(d, o)
	}
	if o.err != nil {
		return &TrainingError{Rank: d.w.Rank, Round: o.k, Err: o.err}
	}
	d.loss = o.loss
	if err := change(d); err != nil {
		return d.failed(err)
	}
	began := time.Now()
	err := d.core.Gradient(o.g, o.loss, began.Sub(d.began))
	d.spent.codec += time.Since(began)
	return d.failed(err)
}

func (d *driver) handle(e link.Event) error {
	switch e.Kind {
	case link.Up:
		if err := d.core.Met(e.Peer, e.Met); err != nil {
			return d.failed(err)
		}
		*d.refusalState(e.Peer) = refusalState{rank: e.Peer}
		d.keeper.begin()
	case link.Down:
		return d.failed(d.core.Parted(e.Peer, e.Err))
	case link.PeerDone:
		return d.failed(d.core.Parted(e.Peer, gossip.ErrBye))
	case link.Rested:
		return d.failed(d.core.Parted(e.Peer, gossip.ErrRest))
	case link.Stopped:
		return d.stoppedBy(e)
	case link.Refused:
		return d.denied(e.Peer, e.Err)
	case link.FrameIn:
		began := time.Now()
		d.account.Came(e.Peer, began.Sub(d.began))
		err := d.core.Receive(e.Frame)
		d.spent.codec += time.Since(began)
		return d.failed(err)
	}
	return nil
}

// kept takes in whether a checkpoint has been written.
func (d *driver) kept(n keeping) error {
	d.keeper.rest()
	d.keeper.tell(d.log, n)
	if n.err != nil {
		return nil
	}
	if n.growth > 0 {
		d.keeper.grow(n.growth)
	}
	return d.failed(d.core.Saved(d.keeper.enter(n.round)))
}
