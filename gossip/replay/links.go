package replay

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// Met begins to send a neighbour the messages that it lacks. The neighbour may have had every message that this worker
// has sent since it came back.
func (r *Replay) Met(peer topology.Rank, m gossip.Meeting) error {
	n := r.find(peer)
	if n == nil {
		return r.Layer.Met(peer, m)
	}
	n.meet(m, r.Slots.Lead)
	if err := r.Layer.Met(peer, m); err != nil {
		return err
	}
	base, next := r.Log.Span()
	r.owe(n, max(base, next-1-r.Slots.Lead))
	return nil
}

// Saved trims the log to the messages that neighbours may still need.
func (r *Replay) Saved(round int) error {
	if err := r.Layer.Saved(round); err != nil {
		return err
	}
	r.saved = r.Slots.Of(round, 0)
	return r.forget()
}

// Parted forgets the place of a neighbour.
func (r *Replay) Parted(peer topology.Rank, cause error) error {
	if n := r.find(peer); n != nil {
		n.gets = away
	}
	return r.Layer.Parted(peer, cause)
}

// Receive takes the places and checkpoints of neighbours, and answers requests for repairs that are in the log. An
// early message shows that the two ends are out of step: then they make a new link.
func (r *Replay) Receive(f gossip.Frame) error {
	n := r.find(f.From)
	if n == nil {
		return r.Layer.Receive(f)
	}
	switch f.Kind {
	case gossip.Durable:
		if slot := r.slotOf(f); slot > n.durable {
			n.durable, n.pressed = slot, false
		}
		if f.Note == gossip.Pressing {
			r.say.Control(gossip.Control{Kind: gossip.SaveState, Peer: n.rank})
		}
		return r.forget()
	case gossip.Place:
		n.at(r.slotOf(f), r.Slots.Lead)
		return r.feed(n)
	case gossip.Missing:
		return r.missing(n, f)
	case gossip.Request:
		if done, err := r.recall(n, f); done || err != nil {
			return err
		}
	}
	err := r.Layer.Receive(f)
	if f.Kind == gossip.Request && r.Repairs && (errors.Is(err, gossip.ErrStale) || errors.Is(err, gossip.ErrUnasked)) {
		r.say.Send(gossip.Frame{From: r.Self, To: n.rank, Kind: gossip.Missing, Round: f.Round, Hop: f.Hop})
	}
	if !errors.Is(err, gossip.ErrEarly) {
		return err
	}
	switch f.Kind {
	case gossip.Request: // refused, but kept for later
		n.ask(gossip.Frame{From: f.From, To: f.To, Kind: f.Kind, Round: f.Round, Hop: f.Hop, Piece: f.Piece})
	case gossip.Data:
		r.say.Control(gossip.Control{Kind: gossip.DropLink, Peer: n.rank, Why: err})
	}
	return err
}

// missing ends a worker that has come back and needs a repair that is lost. The log of the neighbour has all repairs
// for which it asked before it died, so it repeats its rounds in another way. A worker that has not come back lacks no
// repair: the neighbour lies.
func (r *Replay) missing(n *neighbour, f gossip.Frame) error {
	if slot := r.slotOf(f); !r.back || n.asked != slot+1 || slot != r.place || !slices.Contains(r.said.Waiting, n.rank) {
		return gossip.ErrUnasked
	}
	return &RepeatError{Peer: n.rank}
}

// recall answers a request for a repair that is in the log, once per link.
func (r *Replay) recall(n *neighbour, f gossip.Frame) (done bool, err error) {
	slot := r.slotOf(f)
	repair, ok, err := r.Log.Find(gossip.Repair, slot, f.Piece, n.rank)
	if !ok || err != nil {
		return false, failed(err)
	}
	r.say.Spend(f.Payload)
	if !n.recalled.enter(slot, f.Piece) {
		return true, nil
	}
	repair.From = r.Self
	r.say.Send(repair)
	return true, nil
}

// feed sends a neighbour the messages that it lacks, as far as it has room.
func (r *Replay) feed(n *neighbour) error {
	if n.gets == away || n.gets == level {
		return nil
	}
	base, next := r.Log.Span()
	for n.next < next && !r.hears(n, n.next) {
		n.next++
	}
	if n.next < base { // a full disk, and memory is short, too
		r.say.Control(gossip.Control{
			Kind: gossip.DropLink, Peer: n.rank,
			Why: fmt.Errorf("the log no longer holds messages from exchange %d on", n.next),
		})
		return nil
	}
	for n.next < next {
		if !r.hears(n, n.next) {
			n.next++
			continue
		}
		if !n.takes(n.next) {
			break
		}
		for piece := range r.Slots.Parts() {
			f, err := r.Log.Look(n.next, piece)
			if err != nil {
				return failed(err)
			}
			f.From, f.To = r.Self, n.rank
			r.say.Send(f)
		}
		n.next++
	}
	// The neighbour has not got the pieces that were handed out and are not part of a whole message yet.
	if n.gets == catching && n.next == next && r.kept == 0 && r.phase == passing {
		n.gets = level
	}
	return nil
}

// forget removes messages that no neighbour will ask for again. A neighbour without checkpoints needs the messages that
// it may not have mixed.
func (r *Replay) forget() error {
	_, next := r.Log.Span()
	before := next
	for i := range r.peers {
		switch n := &r.peers[i]; {
		case !n.hears:
		case n.durable == gossip.Undurable:
			before = min(before, next-1-r.Slots.Lead)
		default:
			before = min(before, n.durable)
		}
	}
	return failed(r.Log.Trim(before, everything))
}

// press asks neighbours for newer checkpoints while the log is crowded: each once, and again when it has told of one.
func (r *Replay) press() {
	if r.narrow == nil || !r.narrow.Crowded() {
		return
	}
	_, next := r.Log.Span()
	for i := range r.peers {
		n := &r.peers[i]
		if !n.hears || n.gets == away || n.pressed || n.durable == gossip.Undurable || n.durable >= next-1-r.Slots.Lead {
			continue
		}
		n.pressed = true
		r.say.Send(r.Slots.At(gossip.Frame{
			From: r.Self, To: n.rank, Kind: gossip.Durable, Note: gossip.Pressing}, r.saved))
	}
}

// shorten removes messages that only neighbours without recent checkpoints need, so that they do not fill the disk.
// Such a neighbour cannot come back after its death.
func (r *Replay) shorten() error {
	before, _ := r.Log.Span()
	if err := failed(r.Log.Trim(before, r.Most)); err != nil {
		return err
	}
	base, _ := r.Log.Span()
	for i := range r.peers {
		if n := &r.peers[i]; n.hears && n.durable >= before && n.durable < base {
			r.say.Note(gossip.Note{
				Kind: gossip.Warning, Peer: n.rank, Exchange: base,
				Text: "the journal is full: a neighbour that takes no checkpoints could not come back",
				Why:  fmt.Errorf("its checkpoint is at exchange %d, messages are kept from %d on", n.durable, base),
			})
		}
	}
	return nil
}

// Over reports whether the log of a worker that is done may be removed, because no neighbour can come back to it.
func (r *Replay) Over() bool {
	_, next := r.Log.Span()
	for i := range r.peers {
		n := &r.peers[i]
		if n.hears && n.durable != gossip.Undurable && n.durable < next && !r.Through(n.rank) {
			return false
		}
	}
	return true
}
