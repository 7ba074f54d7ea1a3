package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/node/link"
)

// A worker that is told to end differs from a killed one only in its checkpoint, which is as new as
// possible. Later it goes back to a round of its own and takes the messages since then from the
// journals of its neighbours. So workers need not agree on a round, and none waits for another.

// Times after a worker has been told to end. Users wait two seconds at most; of these the gradient
// under way may take cutoff. They wait longer if the worker has Patience.
const (
	lastBoundary = 400 * time.Millisecond  // then it no longer goes on to the next boundary
	lastWrite    = 1100 * time.Millisecond // then it no longer waits for the disk
)

// interrupted ends a worker whose context has ended. Its neighbours are still there, so it goes on to
// the next boundary.
func (d *driver) interrupted(ctx context.Context) error {
	d.cancelled = nil
	return d.end(fmt.Errorf("node: worker %d: interrupted in round %d: %w", d.w.Rank, d.round, context.Cause(ctx)), false)
}

// stoppedBy ends a worker because a neighbour has stopped the run. That neighbour answers no more.
func (d *driver) stoppedBy(e link.Event) error {
	if err := d.core.Parted(e.Peer, e.Err); err != nil {
		return d.failed(err)
	}
	return d.stop(e.Err)
}

// stop ends a worker because another one has stopped the run. A stopped worker may lack messages from
// then on, so it leaves with the copy of the last boundary. An asynchronous worker's copy lacks the
// exchanges since then, so it goes on to the next boundary. Any other error ends the worker at once. So does the stop
// of a worker that has diverged: a copy may hold its model, and would replace a checkpoint from before.
func (d *driver) stop(err error) error {
	var stop *StoppedError
	if !errors.As(err, &stop) {
		return err
	}
	if stop.Diverged {
		d.passOn(err)
		return err
	}
	fresh := d.keeper.copied.round == d.round
	return d.end(err, fresh && !d.w.Asynchronous)
}

// end ends a worker without an error of its own: at once, or at the next boundary.
func (d *driver) end(why error, now bool) error {
	switch {
	case d.keeper.errand == never:
		return why
	case d.ending.why != nil: // the first reason counts
		return nil
	}
	d.ending.why, d.ending.began = why, time.Now()
	if now || d.core.Done() {
		return d.leave()
	}
	d.keeper.asked = true
	d.ending.deadline = time.After(lastBoundary)
	return nil
}

// overdue leaves before the next boundary, unless the gradient that leads to it may still come.
func (d *driver) overdue() error {
	if d.oracle.busy && time.Since(d.ending.began) < d.keeper.Patience {
		d.ending.deadline = time.After(lastBoundary)
		return nil
	}
	return d.leave()
}

// leaves reports whether a worker that was told to end has reached the next boundary.
func (d *driver) leaves() bool { return d.ending.why != nil && !d.keeper.asked }

// leave tells the others, waits until the newest copy of the state is safe, and returns why the worker
// ends. The machine does nothing more.
func (d *driver) leave() error {
	d.passOn(d.ending.why)
	allowed := lastWrite + d.keeper.Patience
	late := time.NewTimer(allowed - time.Since(d.ending.began))
	defer late.Stop()
	for {
		if d.core.Done() {
			d.keeper.finish(d.round)
		}
		if !d.keeper.secure() {
			return d.ending.why
		}
		select {
		case n := <-d.keeper.written:
			d.keeper.rest()
			if n.err != nil {
				return d.unsaved(n.round, n.err)
			}
			d.keeper.enter(n.round)
		case <-late.C:
			return d.unsaved(d.keeper.copied.round, fmt.Errorf("not done in %v", allowed))
		}
	}
}

// unsaved logs that the last state could not be written.
func (d *driver) unsaved(round int, err error) error {
	d.log.Error(fmt.Sprintf("the state of worker %d at round %d could not be written", d.w.Rank, round), "err", err)
	return d.ending.why
}

// reason returns the text of an error for the others, which name the worker themselves.
func (d *driver) reason(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("node: worker %d: ", d.w.Rank))
}

// diverged reports whether an error says that the model of this worker has diverged.
func diverged(err error) bool {
	why, ok := errors.AsType[interface {
		error
		Diverged() bool
	}](err)
	return ok && why.Diverged()
}

// passOn tells the others, once, why this worker stops, or which worker stopped it.
func (d *driver) passOn(err error) {
	if !d.ending.told.IsZero() {
		return
	}
	d.ending.told = time.Now()
	var why *StoppedError
	if !errors.As(err, &why) {
		why = &StoppedError{Rank: d.w.Rank, Reason: d.reason(err), Diverged: diverged(err)}
	}
	d.t.Control(gossip.Control{Kind: gossip.StopRun, Why: why})
	if why.Rank == d.w.Rank {
		d.ending.announce(why)
	}
}
