package node

import (
	"fmt"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/node/link"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A LostPolicy says what a worker does when it loses a neighbour.
type LostPolicy = peer.Policy

// Policies.
const (
	Wait = peer.Wait // for as long as it takes
	Fail = peer.Fail // with a *NetworkError, when it has been gone for 10 s
	// it goes on without, when the link has been down for a few rounds; the machine must be a gossip.Elastic
	Reweight = peer.Reweight
)

// A Worker is what a node runs: the task of a worker, with the Rank and the Row that
// Join returned, and how this driver runs it.
type Worker struct {
	work.Task
	// Lost says what the worker does when it loses a neighbour. Under Reweight the
	// neighbours that Closing names take its place, and one that comes back gets the
	// state that Save copies; without Save none is taken back.
	Lost LostPolicy
	// Tolerance is how many messages of a neighbour may have to be refused before
	// it is cut off; 0 is 8. One is forgotten for 1000 that are used.
	Tolerance int
	// Guest is where a worker begins that ComeBack has brought back, with Row of its
	// one edge; nil for others.
	Guest *Guest
	// Checkpoints are taken while it trains; nil for none. A worker that has them
	// waits for neighbours that come back, and can come back itself.
	Checkpoints *Checkpoints
	// Through reports whether another worker is known to have ended well, besides those
	// who say so themselves: one that has come back at its own end does not wait for
	// their last words. Nil: nothing is known. It may be called at any time.
	Through func(topology.Rank) bool
	// Arbiter ends the run before its rounds are over; nil: nobody does.
	Arbiter Arbiter
}

// Checkpoints say how a worker's state gets to safety while it trains. Between two
// rounds the state is copied; that is all that training waits for.
type Checkpoints struct {
	// Take copies the state as it is at the beginning of round k > 0, in the place of
	// the last copy. Write makes that copy safe. With k = 0 it makes safe that the worker
	// has begun, and needs no copy. Take is called by the goroutine that drives the
	// machine, Write by another one, and never both at once but for k = 0.
	Take  func(k int)
	Write func(k int) error
	// Round is where the worker begins: that of the checkpoint that it was made
	// from, 0 without one.
	Round int
	// Every is how many rounds pass between two checkpoints, Period how much
	// time; 0 is for ever. After the last round there is one in any case, and
	// there is one when the journal has grown by 256 MiB since the last: those of
	// the neighbours grow as it does, and they keep all that this worker may need.
	Every  int
	Period time.Duration
	// Keep is how many of them the worker may come back to, if the newer ones turn
	// out to be damaged; 0 is 1. Neighbours keep what it would need.
	Keep int
	// Journal keeps what is sent, for neighbours that come back; it is at Round.
	// Nil if the worker waits for nobody.
	Journal *journal.Journal
}

// An Arbiter ends a run before its rounds are over: it hears from all workers how many
// rounds they have begun, while they hold still, and says how many the run has. See
// gossip.Machine. Its methods may be called by several goroutines.
type Arbiter interface {
	// Hold returns a channel that is closed when no further round may begin.
	Hold() <-chan struct{}
	// Held takes how many rounds a worker has begun that holds still, or has done when
	// none is left.
	Held(begun int)
	// Ended returns a channel that is closed when Last is known: how many rounds the
	// run has.
	Ended() <-chan struct{}
	Last() int
}

// A Guest says where a worker that has come back begins.
type Guest struct {
	Sponsor         topology.Rank // the one neighbour that it has then
	Round, Exchange int
}

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
		return nil, fmt.Errorf("node: run: worker %d: nobody comes back to an edge that is off: a journal is of no use",
			w.Rank)
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

// growth is how many bytes a journal may grow by from one checkpoint to the next.
const growth = 256 << 20

// room is how long the journal may become: twice what neighbours need that take
// checkpoints as this worker does.
func (c *Checkpoints) room() int64 { return 2 * growth * int64(max(1, c.Keep)+1) }

// keepsMessages reports whether a neighbour can come back to what the worker has sent.
func (w *Worker) keepsMessages() bool { return w.journal() != nil }
