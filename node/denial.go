package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// refusalState returns the entry of a worker, and adds one if it has none.
func (d *driver) refusalState(rank topology.Rank) *refusalState {
	i := slices.IndexFunc(d.denials, func(n refusalState) bool { return n.rank == rank })
	if i < 0 {
		i = len(d.denials)
		d.denials = append(d.denials, refusalState{rank: rank})
	}
	return &d.denials[i]
}

// denied notes that this worker or the neighbour refuses the other. Under Reweight package elastic decides about
// places, because a neighbour that refuses this worker for its place may lie.
func (d *driver) denied(rank topology.Rank, why error) error {
	if err := d.core.Parted(rank, refusal(why)); err != nil {
		return d.failed(err)
	}
	no, ok := errors.AsType[*RefusedError](why)
	if d.w.Lost == Reweight && ok && no.AboutPlace() {
		return nil
	}
	d.refusalState(rank).why = why
	return d.unwanted()
}

// unwanted ends a worker that all its neighbours refuse, or whose place another process has. A worker
// that some neighbours accept waits: the others may restart with the right run file. But a worker that
// came back and cannot be helped by all its neighbours is of no use to them.
func (d *driver) unwanted() error {
	for _, n := range d.denials {
		if d.returns(n.why) {
			return nil
		}
		if n.why != nil && !d.w.Asynchronous && d.round == d.w.saved() && lostState(n.why) {
			no, _ := errors.AsType[*RefusedError](n.why)
			hinted := *no
			hinted.Advice = cmp.Or(no.Advice, "give this peer the folder that it wrote last; without it, start the run again "+
				"on all machines without --resume")
			return &NetworkError{Op: opJoin, Err: fmt.Errorf("worker %d: %w", n.rank, &hinted)}
		}
	}
	var why []string
	var advice string
	for _, n := range d.denials {
		no, ok := errors.AsType[*RefusedError](n.why)
		if ok && no.Reason == Duplicate {
			return &NetworkError{Op: opJoin, Err: no}
		}
		if n.why == nil && !d.core.Seeks(n.rank) {
			continue
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

// returns reports whether this worker has refused a neighbour that came without its state, but keeps
// the messages which that neighbour needs. The neighbour may then start again from its checkpoint.
func (d *driver) returns(refused error) bool {
	no, ok := errors.AsType[*RefusedError](refused)
	return ok && no.Reason == LostState && !no.Remote && d.w.keepsMessages()
}

func lostState(err error) bool {
	no, ok := errors.AsType[*RefusedError](err)
	return ok && no.Reason == LostState
}
