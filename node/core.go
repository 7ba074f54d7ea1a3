package node

import (
	"errors"
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/journal"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// core returns the machine of w with the layers around it that w asks for. through reports
// whether another worker is known to have ended well.
func (w *Worker) core(through func(topology.Rank) bool) (*peer.Peer, error) {
	s := peer.Start{
		Self: w.Rank, Row: w.Row, Lost: w.Lost, Asynchronous: w.Asynchronous, Through: through,
		Place: w.place(), Durable: w.durable(),
		Judge: judge.Rules{Self: w.Rank, Tolerance: w.Tolerance, Name: link.Reason},
	}
	switch log := w.journal(); {
	case log != nil && w.Lost == Reweight:
		return nil, fmt.Errorf("node: run: worker %d: nobody comes back to an edge that is off: a journal is of no use", w.Rank)
	case log != nil:
		s.Replay = &replay.Start{
			Self: w.Rank, Row: w.Row, Slots: gossip.SlotsOf(w.Machine), Log: log, Most: w.Checkpoints.room(),
			Repairs: gossip.RepairsOf(w.Machine)().Verified, Through: through,
		}
	}
	switch w.Lost {
	case Fail:
		s.Judge.Sentence = judge.StopRun
	case Reweight:
		s.Elastic = &elastic.Start{Self: w.Rank, Row: w.Row, Closing: w.Closing, Rounds: w.Rounds}
		if g := w.Guest; g != nil {
			s.Elastic.Sponsored, s.Elastic.Seat = true, elastic.Seat{Round: g.Round, From: g.Exchange}
		}
	}
	core, err := peer.New(w.Machine, s)
	if err != nil {
		return nil, fmt.Errorf("node: run: %w", err)
	}
	return core, nil
}

// first returns the round in which the worker begins.
func (w *Worker) first() int {
	if w.Guest != nil {
		return w.Guest.Round
	}
	return w.saved()
}

// saved returns the round of the checkpoint that the worker was made from, 0 without one.
func (w *Worker) saved() int {
	if w.Checkpoints == nil {
		return 0
	}
	return w.Checkpoints.Round
}

// place returns how many exchanges the worker has finished before it begins.
func (w *Worker) place() int {
	switch {
	case w.Guest != nil:
		return w.Guest.Exchange
	case w.Asynchronous:
		return 0
	}
	return max(0, w.durable())
}

// durable returns how many of them its checkpoint knows of, gossip.Undurable without one.
func (w *Worker) durable() int {
	if w.Checkpoints == nil {
		return gossip.Undurable
	}
	return gossip.SlotsOf(w.Machine).Of(w.Checkpoints.Round, 0)
}

// journal returns the journal of the worker, nil if no message is sent twice.
func (w *Worker) journal() *journal.Journal {
	if w.Checkpoints == nil {
		return nil
	}
	return w.Checkpoints.Journal
}

// failed returns what ends the run after an error of the core: one of the network, of the
// journal, or of this worker's arithmetic. What the core has still to tell is told first.
func (d *driver) failed(err error) error {
	if err == nil {
		return nil
	}
	d.note(d.core.Ready().Notes)
	return d.cause(err)
}

func (d *driver) cause(err error) error {
	if lost, ok := errors.AsType[*peer.LostError](err); ok {
		return &NetworkError{Op: "link", Err: fmt.Errorf("worker %d lost worker %d: %s", d.w.Rank, lost.Peer, d.meter.Trouble(lost.Peer))}
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
	if log, ok := errors.AsType[*replay.LogError](err); ok {
		return fmt.Errorf("node: worker %d: round %d: %w", d.w.Rank, d.round, log)
	}
	return &TrainingError{Rank: d.w.Rank, Round: d.round, Err: err}
}

// A forgedError is why a link ended because of what its other end has sent.
type forgedError struct{ error }

func (e forgedError) Unwrap() error        { return e.error }
func (e forgedError) Is(target error) bool { return target == gossip.ErrForged }

// parting returns the reason for which a link has ended in the words of the core.
func parting(err error) error {
	if link.Forged(err) {
		return forgedError{err}
	}
	return err
}

// refusal returns why a link was refused in the words of the core.
func refusal(err error) error {
	no, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return err
	}
	return &gossip.RefusedError{Remote: no.Remote, Place: no.AboutPlace(), Err: err}
}
