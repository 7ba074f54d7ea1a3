package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/topology"
)

// denial returns that of a worker.
func (d *driver) denial(rank topology.Rank) *denial {
	i := slices.IndexFunc(d.denials, func(n denial) bool { return n.rank == rank })
	if i < 0 {
		i = len(d.denials)
		d.denials = append(d.denials, denial{rank: rank})
	}
	return &d.denials[i]
}

// denied notes that one of two workers refuses the other. That this one has gone on without
// that one is a matter of the two alone.
func (d *driver) denied(rank topology.Rank, why error) error {
	if err := d.core.Parted(rank, refusal(why)); err != nil {
		return d.failed(err)
	}
	no, ok := errors.AsType[*RefusedError](why)
	if d.w.Lost == Reweight && ok && no.AboutPlace() && !no.Remote {
		return nil
	}
	d.denial(rank).why = why
	return d.outcast()
}

// outcast ends a worker that none of its neighbours wants, or in whose place
// another process is. One that is wanted by some waits: the others may be
// restarted with the right run file. But one that has come back, and cannot be
// helped by all, is of no use to the others.
func (d *driver) outcast() error {
	for _, n := range d.denials {
		if d.returns(n.why) {
			return nil
		}
		if n.why != nil && !d.w.Asynchronous && d.round == d.w.saved() && lostState(n.why) {
			return &NetworkError{Op: opJoin, Err: fmt.Errorf("worker %d: %w", n.rank, n.why)}
		}
	}
	var why []string
	var advice string
	for _, n := range d.denials {
		no, ok := errors.AsType[*RefusedError](n.why)
		if ok && no.Reason == Duplicate {
			return &NetworkError{Op: opJoin, Err: no}
		}
		if n.why == nil || n.cut { // a neighbour that is cut off may come back as another process
			return nil
		}
		why = append(why, fmt.Sprintf("worker %d: %v", n.rank, n.why))
		if ok {
			advice = cmp.Or(advice, no.Advice)
		}
	}
	all := "no neighbour works with this peer: " + strings.Join(why, "; ")
	return &NetworkError{Op: opJoin, Err: &handshake.UnwantedError{Detail: all, Advice: advice}}
}

// returns reports whether this worker has refused a neighbour that came without its
// state, and keeps the messages with which the neighbour can come back: it may be
// started again, from its checkpoint.
func (d *driver) returns(refused error) bool {
	no, ok := errors.AsType[*RefusedError](refused)
	return ok && no.Reason == LostState && !no.Remote && d.w.keepsMessages()
}

func lostState(err error) bool {
	no, ok := errors.AsType[*RefusedError](err)
	return ok && no.Reason == LostState
}
