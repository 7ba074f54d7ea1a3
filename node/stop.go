package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lastBoundary is how long a worker that has been told to end goes on to the
// next boundary, for a checkpoint there: people wait two seconds in all.
const lastBoundary = time.Second

// An ending is why a worker ends that goes on to a last checkpoint.
type ending struct {
	why      error
	deadline <-chan time.Time
}

// interrupted ends a worker whose context has ended.
func (d *driver) interrupted(ctx context.Context) error {
	d.cancelled = nil
	return d.end(fmt.Errorf("node: worker %d: interrupted in round %d: %w", d.w.Rank, d.round, context.Cause(ctx)))
}

// end ends a worker that nothing is wrong with: at once, or after the checkpoint of
// the next boundary where there are checkpoints and rounds left.
func (d *driver) end(why error) error {
	switch {
	case d.keeper == nil || d.done:
		return why
	case d.ending.why == nil:
		d.keeper.asked = true
		d.ending = ending{why: why, deadline: time.After(lastBoundary)}
	}
	return nil
}

// halted is end for one whom another worker has stopped. Any other error ends it
// at once.
func (d *driver) halted(err error) error {
	var stop *StoppedError
	if errors.As(err, &stop) {
		return d.end(err)
	}
	return err
}
