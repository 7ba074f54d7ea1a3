// Package replay lets a worker and its neighbours die and come back. The run ends as if no
// worker had died, bit for bit. Wrap the machine of a worker that is at the beginning of a round:
//
//	start := replay.Start{Self: rank, Rows: row, Slots: gossip.SlotsOf(machine), Log: log}
//	place := start.Slots.Of(round, 0)
//	layer := replay.New(gossip.NewLinked(machine, rank, place, place), start)
//
// The package writes no checkpoints and no files: a Log keeps the messages, and Memory is a Log in
// memory.
//
// A worker that has come back from a checkpoint repeats its last rounds with the messages of the
// first time, which its neighbours have in their logs. The worker reports its place, and the
// neighbours send the messages that it can take, one exchange ahead. The neighbours already have
// the messages that it makes meanwhile. It does not send them, but keeps them for neighbours that
// come back later. When it reaches its old place, it sends again.
//
// On every new link both ends report their places until they are surely in step. That is when each
// has passed the place of the end that was ahead by more than Lead exchanges. A worker that came
// back cannot have sent the other more before. From then on both ends send each message as soon as
// it exists, and report no places.
//
// On a graph that changes, an edge is there in some exchanges only, and a worker that is idle sends
// nothing. The log then has an empty message, so that it has one for every slot.
//
// The two ends of a one-way edge are never surely in step, because the sender receives no message of
// its receiver. The log of the worker in front may let the sender run ahead while the receiver comes
// back as well. The machine would then reuse its buffers before the receiver has read them. So such
// an edge goes on as all edges begin: places are reported, and messages come from the log. So do all
// edges of a graph that changes.
//
// Codecs that verify: a neighbour that comes back may ask again for repairs that it has asked for
// before. This worker may have come back in between. It then makes its messages again, but its
// neighbours do not repeat their old requests. So it keeps the repairs of all messages that a
// neighbour may have had on an earlier link, and sends them on request.
//
// In each handshake a driver reports the values of the last Control (place and durable, at first as
// above), and drives the layer as gossip.Layer describes. A worker that has died begins with its
// newest checkpoint and with its log, cut at that place: see Memory.Rewind. The driver calls Saved
// when a checkpoint is safe, with the round of the oldest checkpoint that is kept.
package replay

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A Log keeps the messages that a worker has sent, one per slot for all its receivers, and some of their repairs. Both
// are in pieces.
type Log interface {
	// Append keeps the next piece of the message of the next slot, or a repair. It keeps each repair once. A message
	// counts when its last piece is there: a log that is opened again drops the pieces of a message without it.
	Append(f gossip.Frame) error
	// Span returns the oldest slot in the log, and the next one whose message is not whole: the same if the log has no
	// message.
	Span() (base, next int)
	// Find returns a piece of the message of a slot in Span, or the repair of that piece for a worker, and reports
	// whether the log has it. The caller must not change the payload.
	Find(kind gossip.FrameKind, slot, piece int, to topology.Rank) (f gossip.Frame, ok bool, err error)
	// Look returns a piece of the message of a slot in Span. Its payload may be Stored.
	Look(slot, piece int) (gossip.Frame, error)
	// Trim removes messages before a slot, where that is cheap. It then removes the oldest messages, even needed ones,
	// until the rest takes at most this number of bytes. It keeps messages that no checkpoint has made safe.
	Trim(before int, most int64) error
}

// A Narrow log may have too little room.
type Narrow interface {
	// Crowded reports whether it has. Then neighbours should make newer states safe, so that it can be shorter.
	Crowded() bool
}

// A LogError says that the log has failed, not the worker's arithmetic.
type LogError struct{ Err error }

func (e *LogError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the log.
func (e *LogError) Unwrap() error { return e.Err }

// A RepeatError says that a worker that has come back does not repeat its rounds as it did them before. It needs a
// repair of a message of the present exchange, and needed none then.
type RepeatError struct{ Peer topology.Rank }

func (e *RepeatError) Error() string {
	return fmt.Sprintf("it needs a repair of the message of worker %d, which is lost", e.Peer)
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return &LogError{err}
}

// A Start has the settings of a Replay.
type Start struct {
	Self  topology.Rank
	Rows  topology.Sequence // of Self
	Slots gossip.Slots      // of the machine
	Log   Log               // at the same place as the machine
	// Returned says that an earlier process of the worker took part in the run, even if this one begins at round 0.
	Returned bool
	// Most is the limit of the log in bytes, even if a neighbour without recent checkpoints needs more; 0: no limit.
	Most int64
	// Repairs says that the codec verifies messages: then the log also keeps repairs.
	Repairs bool
	// Through reports whether a worker is known to have ended well without a bye. Nil: nothing is known.
	Through func(topology.Rank) bool
}

// A phase says what the next call of Ready does.
type phase uint8

//	state    Ready                                                        next
//	passing  hands out the frames for neighbours in step                  keeping
//	keeping  keeps them, and hands out frames that others lack            passing
//
// So keeping does not delay messages.
const (
	passing phase = iota
	keeping
)

// A Replay is the layer that keeps the messages of a worker and sends them to neighbours that come back.
type Replay struct {
	gossip.Layer
	Start
	peers []neighbour
	phase phase
	kept  int          // pieces in the log of the message that is not whole
	said  gossip.Ready // the last work of the layer inside
	place int          // exchanges finished
	back  bool         // the worker has come back
	moved bool         // since the last places were sent
	saved int          // the place of the oldest own checkpoint, as far as Saved has told

	narrow Narrow // the log, nil if it always has room
	owed   []topology.Rank
	say    gossip.Output
	err    error // the reason why the log has failed
}

var _ gossip.Layer = (*Replay)(nil)

// New returns a Replay around inside, for a worker that has no links yet. The log and the machine must be at the same
// place.
func New(inside gossip.Layer, s Start) *Replay {
	if s.Through == nil {
		s.Through = func(topology.Rank) bool { return false }
	}
	if m, ok := inside.(gossip.Logged); ok {
		m.Log()
	}
	_, next := s.Log.Span()
	r := &Replay{Layer: inside, Start: s, peers: neighbours(s.Rows), place: next, back: s.Returned || next > 0}
	r.narrow, _ = s.Log.(Narrow)
	return r
}

// Ready hands out the frames of the layer inside, and asks for another call to keep them.
func (r *Replay) Ready() gossip.Ready {
	if r.phase == keeping {
		r.phase = passing
		return r.keep()
	}
	r.phase = keeping
	r.said = r.Layer.Ready()
	if place := r.Slots.Of(r.said.Round, r.said.Hop); place != r.place {
		r.place, r.moved = place, true
	}
	out := r.said
	for _, f := range out.Send {
		if !r.passes(f) {
			continue
		}
		if n := r.find(f.To); n != nil && f.Kind == gossip.Request {
			n.asked = r.slotOf(f) + 1
		}
		r.say.Send(f)
	}
	out.Send = nil
	return r.finished(out)
}

// finished completes the result of Ready.
func (r *Replay) finished(out gossip.Ready) gossip.Ready {
	r.owed = r.owed[:0]
	_, next := r.Log.Span()
	for i := range r.peers {
		if n := &r.peers[i]; n.lacks(next) {
			r.owed = append(r.owed, n.rank)
		}
	}
	out.Owed, out.Failed = r.owed, errors.Join(out.Failed, r.err)
	out.More = out.More || r.phase == keeping
	return r.say.Add(out)
}

// passes reports whether a frame is sent as it is. The log keeps the others, and sends them when neighbours want them.
func (r *Replay) passes(f gossip.Frame) bool {
	n := r.find(f.To)
	switch {
	case n == nil:
		return true
	case n.gets == away: // the machine or the log has it when there is a link
		return false
	case f.Kind == gossip.Data:
		return n.gets == level
	case f.Kind == gossip.Repair:
		return r.slotOf(f) >= n.had
	}
	return true
}

func (r *Replay) slotOf(f gossip.Frame) int { return r.Slots.Of(f.Round, f.Hop) }

func (r *Replay) find(rank topology.Rank) *neighbour {
	for i := range r.peers {
		if r.peers[i].rank == rank {
			return &r.peers[i]
		}
	}
	return nil
}

// keep appends the frames that were handed out to the log, and serves neighbours that are behind.
func (r *Replay) keep() gossip.Ready {
	said := &r.said
	out := gossip.Ready{Round: said.Round, Hop: said.Hop, Waiting: said.Waiting, Done: said.Done, More: said.More}
	_, first := r.Log.Span()
	if r.err = r.append(said.Send); r.err != nil {
		return r.finished(out)
	}
	asked := false
	for i := range r.peers {
		n := &r.peers[i]
		if n.dueAt(r.place, r.Slots.Lead, r.moved) {
			n.told(r.place)
			r.say.Send(gossip.Frame{From: r.Self, To: n.rank, Kind: gossip.Place, Round: said.Round, Hop: said.Hop})
		}
		r.owe(n, first)
		some, err := r.askRepairs(n)
		asked = asked || some
		if r.err = errors.Join(r.feed(n), err); r.err != nil {
			return r.finished(out)
		}
	}
	r.moved = false
	if !asked { // otherwise the log lacks the answers
		asked, r.err = r.answerEarly()
	}
	out.More = out.More || asked
	return r.finished(out)
}

// append puts new messages and repairs into the log.
func (r *Replay) append(frames []gossip.Frame) error {
	for _, f := range frames {
		if f.Kind == gossip.Data {
			if err := r.idle(r.slotOf(f)); err != nil {
				return err
			}
		}
		_, next := r.Log.Span()
		if f.Kind == gossip.Request || f.Kind >= gossip.Place ||
			f.Kind == gossip.Data && (r.slotOf(f) != next || f.Piece != r.kept) {
			continue
		}
		if err := failed(r.Log.Append(f)); err != nil {
			return err
		}
		if f.Kind == gossip.Data {
			r.kept = (r.kept + 1) % r.Slots.Parts()
		}
	}
	if err := r.idle(r.place); err != nil {
		return err
	}
	r.press()
	if r.Most > 0 {
		return r.shorten()
	}
	return nil
}

// idle enters that this worker sent nothing in the slots before one, where the graph changes.
func (r *Replay) idle(before int) error {
	if r.Rows.Period() == 1 || r.kept > 0 {
		return nil
	}
	for _, next := r.Log.Span(); next < before; next++ {
		for piece := range r.Slots.Parts() {
			f := r.Slots.At(gossip.Frame{From: r.Self, Kind: gossip.Data, Piece: piece}, next)
			f.Round += r.Slots.Every - 1
			if err := failed(r.Log.Append(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hears reports whether a neighbour receives the message of a slot.
func (r *Replay) hears(n *neighbour, slot int) bool {
	if !n.loose {
		return n.hears
	}
	return slices.Contains(r.Rows.At(slot/max(1, r.Slots.Hops)).Out, n.rank)
}

// repairsAtOnce is how many repairs the machine makes in one call of Ready: those of a large model are as long as a
// message.
const repairsAtOnce = 64

// owe notes that the log needs the repairs of the messages from slot first on, because the neighbour may have asked for
// them on an earlier link.
func (r *Replay) owe(n *neighbour, first int) {
	_, next := r.Log.Span()
	end := min(next, n.had)
	switch {
	case !r.Repairs || !n.hears || first >= end:
	case n.owed.slot < n.owed.end:
		n.owed.end = end
	default:
		n.owed = owed{slot: first, end: end}
	}
}

// askRepairs asks the machine for some of the repairs that the log needs, and reports whether there were any. The log
// has them all before the next event, because Ready asks for More until then.
func (r *Replay) askRepairs(n *neighbour) (asked bool, err error) {
	o := &n.owed
	for range repairsAtOnce {
		if o.slot >= o.end {
			return asked, nil
		}
		f, err := r.Log.Look(o.slot, o.piece)
		if err != nil {
			return asked, failed(err)
		}
		asked = true
		f = gossip.Frame{From: n.rank, To: r.Self, Kind: gossip.Request, Round: f.Round, Hop: f.Hop, Piece: o.piece}
		_ = r.Layer.Receive(f) // the machine refuses the request if the piece cannot have been wrong
		if o.piece++; o.piece == r.Slots.Parts() {
			o.slot, o.piece = o.slot+1, 0
		}
	}
	return asked, nil
}

// answerEarly gives the machine the early requests for messages that exist by now.
func (r *Replay) answerEarly() (answered bool, err error) {
	_, next := r.Log.Span()
	for i := range r.peers {
		n := &r.peers[i]
		if len(n.early) == 0 || r.slotOf(n.early[0]) >= next {
			continue
		}
		early := n.early
		n.early, answered = nil, true
		for _, f := range early {
			if err := r.Receive(f); err != nil && !gossip.Refusal(err) {
				return true, err
			}
		}
	}
	return answered, nil
}
