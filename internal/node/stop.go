package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/link"
)

// A worker that is told to end is like one whose process is killed, but for a
// checkpoint that is as fresh as can be: it goes back to a round of its own, and finds
// the messages since then in the journals of its neighbours. So workers need not agree
// on a round, and none waits for another.

// Times after a worker has been told to end. People wait two seconds in all, of which a
// gradient that is being computed may take cutoff.
const (
	lastBoundary = 400 * time.Millisecond  // until it goes on no longer to the next boundary
	lastWrite    = 1100 * time.Millisecond // until it waits no longer for the disk
)

// interrupted ends a worker whose context has ended. Its neighbours are still there: it
// goes on to the next boundary.
func (d *driver) interrupted(ctx context.Context) error {
	d.cancelled = nil
	return d.end(fmt.Errorf("node: worker %d: interrupted in round %d: %w", d.w.Rank, d.round, context.Cause(ctx)), false)
}

// halted ends a worker because of what a neighbour has said, from which no answer comes any
// more.
func (d *driver) halted(e link.Event) error {
	if err := d.core.Parted(e.Peer, e.Err); err != nil {
		return d.failed(err)
	}
	return d.stop(e.Err)
}

// stop ends a worker because of what another one has said. One that has been stopped may
// lack messages from then on: it leaves with the copy of the last boundary. But without
// rounds that copy lacks the exchanges since then. Any other error ends it as it is.
func (d *driver) stop(err error) error {
	var stop *StoppedError
	if !errors.As(err, &stop) {
		return err
	}
	fresh := d.keeper.copied.round == d.round
	return d.end(err, fresh && !d.w.Asynchronous)
}

// end ends a worker that nothing is wrong with: at once, or at the next boundary.
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

// leaves reports whether a worker that is told to end has reached the next boundary.
func (d *driver) leaves() bool { return d.ending.why != nil && !d.keeper.asked }

// leave tells the others, waits until the newest copy of the state is safe, and returns
// why the worker ends. The machine does no more.
func (d *driver) leave() error {
	d.passOn(d.ending.why)
	late := time.NewTimer(lastWrite - time.Since(d.ending.began))
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
			return d.unsaved(d.keeper.copied.round, fmt.Errorf("not done in %v", lastWrite))
		}
	}
}

// unsaved says that the last state could not be written.
func (d *driver) unsaved(round int, err error) error {
	d.log.Error(fmt.Sprintf("the state of worker %d at round %d could not be written", d.w.Rank, round), "err", err)
	return d.ending.why
}

// reason returns what the others hear of an error of this worker: they name the worker themselves.
func (d *driver) reason(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("node: worker %d: ", d.w.Rank))
}

// passOn tells the others, once, that this worker stops and why, or who stopped it.
func (d *driver) passOn(err error) {
	if !d.ending.told.IsZero() {
		return
	}
	d.ending.told = time.Now()
	var why *StoppedError
	if !errors.As(err, &why) {
		why = &StoppedError{Rank: d.w.Rank, Reason: d.reason(err)}
	}
	d.t.Control(gossip.Control{Kind: gossip.StopRun, Why: why})
	if why.Rank == d.w.Rank {
		d.ending.announce(why)
	}
}
