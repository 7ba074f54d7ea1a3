package node

import (
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
)

// failed returns the error that ends the run after an error of the core: one of the network, of the
// journal, or of this worker's arithmetic. It first passes on the notes of the core.
func (d *driver) failed(err error) error {
	if err == nil {
		return nil
	}
	d.note(d.core.Ready().Notes)
	return d.cause(err)
}

func (d *driver) cause(err error) error {
	if lost, ok := errors.AsType[*peer.LostError](err); ok {
		why := fmt.Errorf("worker %d lost worker %d: %s", d.w.Rank, lost.Peer, d.meter.Trouble(lost.Peer))
		return &NetworkError{Op: "link", Err: why}
	}
	if cut, ok := errors.AsType[*judge.CutOffError](err); ok {
		return &NetworkError{Op: "link", Err: cut}
	}
	if behind, ok := errors.AsType[*elastic.LeftBehindError](err); ok {
		return leftBehind(behind.Err)
	}
	if alone, ok := errors.AsType[*elastic.AloneError](err); ok {
		return &NetworkError{Op: opJoin, Err: alone.Err}
	}
	if repeats, ok := errors.AsType[*replay.RepeatError](err); ok {
		return &RepeatError{Rank: d.w.Rank, From: d.w.saved(), Round: d.round, Peer: repeats.Peer}
	}
	if unmet, ok := errors.AsType[*elastic.UnmetError](err); ok {
		return &NetworkError{Op: opJoin, Err: d.unmet(unmet)}
	}
	if log, ok := errors.AsType[*replay.LogError](err); ok {
		return fmt.Errorf("node: worker %d: round %d: %w", d.w.Rank, d.round, log)
	}
	return &TrainingError{Rank: d.w.Rank, Round: d.round, Err: err}
}

// unmet adds to an error why each neighbour was not met.
func (d *driver) unmet(err error) error {
	var why []string
	for _, e := range d.w.Rows.At(0).In {
		why = append(why, fmt.Sprintf("worker %d: %s", e.Peer, d.meter.Trouble(e.Peer)))
	}
	return fmt.Errorf("%w: %s", err, strings.Join(why, "; "))
}

// refusal converts the reason why a link was refused to the core's type.
func refusal(err error) error {
	no, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return err
	}
	return &gossip.RefusedError{Remote: no.Remote, Place: no.AboutPlace(), Err: err}
}
