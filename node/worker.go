package node

import (
	"cmp"
	"fmt"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/follow"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A LostPolicy says what a worker does when it loses a neighbour.
type LostPolicy = peer.Policy

// Policies.
const (
	Wait = peer.Wait // until it is back
	Fail = peer.Fail // with a *NetworkError, when it has been gone for 10 s
	// go on without it, when the link has been down for a few rounds; the machine must be a
	// gossip.Elastic
	Reweight = peer.Reweight
)

// A Worker is the work of a node: the task of a worker, with the Rank and the Row that Join returned,
// and the settings of the driver.
type Worker struct {
	work.Task
	// Lost says what the worker does when it loses a neighbour. Under Reweight the neighbours that
	// Closing names take its place, and a returning worker gets the state that Save copies. Without
	// Save the worker takes none back.
	Lost LostPolicy
	// Tolerance is how many messages of a neighbour the worker refuses before it cuts that neighbour
	// off; 0 is 8. One is forgotten for 1000 that are used.
	Tolerance int
	// Place is the place of a worker that ComeBack has brought back, with Row of its one edge; nil for
	// others.
	Place *Place
	// Returned says that an earlier process of this worker took part in the run. The worker then believes a neighbour that
	// has continued without it, or that lacks what it needs to repeat its rounds.
	Returned bool
	// Checkpoints are taken while the worker trains; nil for none. A worker with checkpoints waits for
	// neighbours that come back, and can come back itself.
	Checkpoints *Checkpoints
	// OpenLinks is how many links the worker keeps open where it meets more others; 0 is follow.Default.
	OpenLinks int
	// Program is set where a user's program computes the gradients; nil: none does.
	Program *Program
	// Through reports whether another worker is known to have ended well without telling this one. A
	// worker that came back at its own end does not wait for their bye. Nil: nothing is known. The
	// node may call it at any time.
	Through func(topology.Rank) bool
	// Surroundings go on record.
	work.Surroundings
	// Arbiter may end the run before its rounds are over; nil: the run does all its rounds.
	Arbiter Arbiter
}

// A Program is what a node needs of a user's program that computes gradients. It may end the run before its rounds, by
// work.ErrOver.
type Program struct {
	// Late wraps the receiver of the worker's events. It may hold steps back until their losses are known.
	Late func(next func(record.Event)) func(record.Event)
	// Notice returns what to do with a notice of another worker, nil if no worker of the run can give it; see
	// telemetry.Topic.Notify. Several goroutines may call it.
	Notice func(from topology.Rank, text []byte) func()
	// Newest returns what other workers Fetch under the tag Newest. Several goroutines may call it.
	Newest func() ([]float32, error)
	// Change returns the change of the vector that followed from the newest gradient. It returns each change once, else
	// nil. Without the function, the vector never changes.
	Change func() (*work.Change, error)

	links *link.Links // that know the vector
}

// Newest is the tag of the newest vector of a worker with a Program.
const Newest = "newest"

// Checkpoints say how a worker's state is saved while it trains. The worker copies the state between
// two rounds, and training waits for that copy alone.
type Checkpoints struct {
	// Take copies the state at the beginning of round k > 0, and replaces the last copy. Write makes
	// that copy safe. With k = 0 it makes safe that the worker has begun, and needs no copy. The
	// goroutine that drives the machine calls Take, another one calls Write. Both run at once only for
	// k = 0.
	Take  func(k int)
	Write func(k int) error
	// Direct says that Take itself writes the state to disk, because a copy in memory would be too large. The round waits
	// meanwhile, so the node calls Take for checkpoints alone, and never during a Write.
	Direct bool
	// Last is called after the last round in the place of Take, because no gradient follows; nil: Take is.
	Last func(k int)
	// Cost is how long the last copy has kept the gradient waiting; nil: not at all. The node copies less often where it
	// is long.
	Cost func() time.Duration
	// Patience is how much longer than others this worker may take at its end: for the gradient under way, which leads to
	// the last boundary, and for Write.
	Patience time.Duration
	// Round is the round in which the worker begins: that of its checkpoint, 0 without one.
	Round int
	// Every is the number of rounds between two checkpoints, Period the time, Growth the bytes by which
	// the journal grows; 0 means never. The worker takes one more after the last round. The journals of
	// the neighbours grow as its own does, and they keep everything that this worker may need.
	Every  int
	Period time.Duration
	Growth int64
	// Room returns the Growth from now on, as far as the disk has room; nil: it stays. The node calls it after
	// Write.
	Room func() int64
	// Relieve gives back room that was set aside on the disk for messages, because the disk is full; nil: there is
	// none. Any goroutine may call it.
	Relieve func()
	// Drop removes all checkpoints but the newest, that of a round, because the disk is full; nil: they stay. The
	// goroutine that drives the machine calls it, but not between Take and the end of Write.
	Drop func(newest int) error
	// Keep is how many of them are kept; 0 is 1. The worker can use the last two, if the newest turns out
	// to be damaged, and neighbours keep the messages for both.
	Keep int
	// Journal keeps the messages sent, for neighbours that come back; it is at Round. Nil if the
	// worker does not wait for lost neighbours.
	Journal *journal.Journal
}

// An Arbiter ends a run before its rounds are over. It stops all workers, learns how many rounds each
// has begun, and decides how many rounds the run has. See gossip.Machine. Several goroutines may call
// its methods.
type Arbiter interface {
	// Hold returns a channel that is closed when no further round may begin.
	Hold() <-chan struct{}
	// Held tells the arbiter how many rounds a worker that holds still has begun, or has done if none
	// is left.
	Held(begun int)
	// Ended returns a channel that is closed when Last, the number of rounds of the run, is known.
	Ended() <-chan struct{}
	Last() int
}

// A Place is the place at which a returning worker begins.
type Place struct {
	Sponsor         topology.Rank // its one neighbour at first
	Round, Exchange int
	Process         uint64 // of the sponsor
}

// core returns the machine of w in the layers that w asks for. through reports whether another worker
// is known to have ended well.
func (w *Worker) core(through func(topology.Rank) bool) (*peer.Peer, error) {
	s := peer.Start{
		Self: w.Rank, Rows: w.Rows, Lost: w.Lost, Asynchronous: w.Asynchronous, Through: through,
		Place: w.place(), Durable: w.durable(),
		Links: w.openLinks(), Exchanges: w.Rounds / gossip.SlotsOf(w.Machine).Every,
		Judge: judge.Rules{Self: w.Rank, Tolerance: w.Tolerance, Name: link.Reason},
	}
	switch log := w.journal(); {
	case log != nil && w.Lost == Reweight:
		return nil, fmt.Errorf("node: run: worker %d: no worker comes back to a removed edge: leave out the journal",
			w.Rank)
	case log != nil:
		s.Replay = &replay.Start{
			Self: w.Rank, Rows: w.Rows, Slots: gossip.SlotsOf(w.Machine), Log: log,
			Returned: w.Returned, Most: w.Checkpoints.room(),
			Repairs: gossip.RepairsOf(w.Machine)().Verified, Through: through,
		}
	}
	switch w.Lost {
	case Fail:
		s.Judge.Sentence = judge.StopRun
	case Reweight:
		s.Elastic = &elastic.Start{
			Self: w.Rank, Row: w.Rows.At(0), Closing: w.Closing, Rounds: w.Rounds, Returned: w.Returned,
		}
		if g := w.Place; g != nil {
			s.Elastic.Sponsored, s.Elastic.Seat = true, elastic.Seat{Round: g.Round, From: g.Exchange, Process: g.Process}
		}
	}
	core, err := peer.New(w.Machine, s)
	if err != nil {
		return nil, fmt.Errorf("node: run: %w", err)
	}
	return core, nil
}

// openLinks returns how many links the worker keeps open where its neighbours change.
func (w *Worker) openLinks() int { return cmp.Or(w.OpenLinks, follow.Default) }

// follows reports whether it keeps fewer links open than it has neighbours.
func (w *Worker) follows() bool { return follow.New(w.Rows, w.openLinks(), 0) != nil }

// first returns the round in which the worker begins.
func (w *Worker) first() int {
	if w.Place != nil {
		return w.Place.Round
	}
	return w.saved()
}

// saved returns the round of the worker's checkpoint, 0 without one.
func (w *Worker) saved() int {
	if w.Checkpoints == nil {
		return 0
	}
	return w.Checkpoints.Round
}

// place returns how many exchanges the worker has finished before it begins.
func (w *Worker) place() int {
	switch {
	case w.Place != nil:
		return w.Place.Exchange
	case w.Asynchronous:
		return 0
	}
	return max(0, w.durable())
}

// durable returns how many of them its checkpoint has, gossip.Undurable without one.
func (w *Worker) durable() int {
	if w.Checkpoints == nil {
		return gossip.Undurable
	}
	return gossip.SlotsOf(w.Machine).Of(w.Checkpoints.Round, 0)
}

// journal returns the journal of the worker, nil if it sends no message again.
func (w *Worker) journal() *journal.Journal {
	if w.Checkpoints == nil {
		return nil
	}
	return w.Checkpoints.Journal
}

// room bounds the bytes of the journal: twice what neighbours with the same settings of checkpoints need, also if they
// wait for room. Only neighbours that take no checkpoints need more.
func (c *Checkpoints) room() int64 {
	if c.Growth == 0 {
		return 0
	}
	return 2 * (budget.Longest(c.Growth) + mostHeld)
}

// keepsMessages reports whether the worker keeps its messages for neighbours that come back.
func (w *Worker) keepsMessages() bool { return w.journal() != nil }
