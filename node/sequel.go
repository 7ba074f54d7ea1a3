package node

import (
	"errors"
	"fmt"
	"math"

	"gossiptrainer/gossip"
)

// A worker that has come back from a checkpoint does its last rounds once more,
// with the messages that it was sent the first time. Its neighbours have them in
// their journals: it tells where it is, and they send what it can take from there,
// one exchange ahead. What it says meanwhile they have heard: it is not sent, but
// kept for those who may come back in their turn. Messages that were not sent the
// first time follow when it is where it was.
//
// On every new link both ends do so until they are surely in step: when each has
// passed the place of the one that was ahead by more than Lead exchanges, since one
// that came back cannot have told the other more than that before. From then on a
// message is sent as soon as it is there, and nothing is told of places.
//
// On an edge that goes one way they never are: who sends hears nothing of the one
// behind it, and may be told by the one in front, from a journal, all that lets it
// run ahead while that one comes back as well. The buffers of a machine are then
// used again before they are read. So such an edge stays as all edges begin.
//
// Codecs that verify: a repair that a neighbour in front has asked for in the past
// may be asked for again when that comes back. Requests are not repeated, so
// the repairs of what is said once more are all kept.

// A sequel is how far a neighbour has been told what it lacks, in slots.
type sequel struct {
	passed  int  // where it was when the link came up: it needs nothing older
	next    int  // whose message it gets next, while behind
	room    int  // first that it cannot take yet
	until   int  // place from which on both are in step, if ever
	behind  bool // its messages come from the journal
	telling bool // it is told where this worker is
	knows   int  // the place of this worker that it knows of
	mended  int  // last whose repair was sent from the journal on this link
	request gossip.Frame
	early   bool // request is for a message that is not there yet
}

// meet begins a sequel: the link with s is new.
func (d *driver) meet(s *standing, m gossip.Meeting) {
	if r, ok := d.w.Machine.(gossip.Renewer); ok && m.Renewed {
		r.Renew(s.rank)
	}
	if d.journal == nil {
		return
	}
	s.durable = m.Durable
	s.sequel = sequel{
		passed: m.Theirs, next: m.Theirs, room: m.Theirs + d.slots.Lead + 1,
		until: math.MaxInt, behind: s.hears, telling: s.speaks, knows: m.Ours, mended: -1,
	}
	if d.slots.Of(d.keeper.oldest, 0) > m.Kept { // since it was told on meeting
		d.tell(gossip.Frame{To: s.rank, Kind: gossip.Durable, Round: d.keeper.oldest})
	}
	if s.hears && s.speaks {
		s.until = max(m.Theirs, m.Ours) + d.slots.Lead + 1
	}
}

// move takes in where the machine is, before neighbours can hear of it.
func (d *driver) move(r gossip.Ready) bool {
	if d.w.Asynchronous {
		return false
	}
	place := d.slots.Of(r.Round, r.Hop)
	if place == d.place {
		return false
	}
	d.place = place
	d.introduce()
	return true
}

// introduce says where this worker is, for neighbours that it meets.
func (d *driver) introduce() {
	c := gossip.Control{Kind: gossip.Introduce, Place: d.place, Durable: undurable}
	if d.keeper != nil {
		c.Durable = d.slots.Of(d.keeper.oldest, 0)
	}
	d.t.Control(c)
}

// direct returns the frames that are sent as they are. The others come from the
// journal when they are wanted, or are only kept there.
func (d *driver) direct(frames []gossip.Frame) []gossip.Frame {
	if d.journal == nil || len(frames) == 0 {
		return frames
	}
	d.outgoing = d.outgoing[:0]
	for _, f := range frames {
		s := d.standing(f.To)
		switch {
		case !s.up: // the machine or the journal has it when the link is there
		case f.Kind == gossip.Data && s.behind:
		case f.Kind == gossip.Repair && d.slotOf(f) < s.passed:
		default:
			d.outgoing = append(d.outgoing, f)
		}
	}
	return d.outgoing
}

func (d *driver) slotOf(f gossip.Frame) int { return d.slots.Of(f.Round, f.Hop) }

// follow keeps what the machine has said, and sees to those who are behind. It
// reports whether the machine has been asked for something meanwhile.
func (d *driver) follow(r gossip.Ready, moved bool) (asked bool, err error) {
	if d.journal == nil {
		return false, nil
	}
	first := d.journal.Next()
	if err := d.keep(r.Send); err != nil {
		return false, err
	}
	for i := range d.peers {
		s := &d.peers[i]
		if s.telling && s.up && (moved || s.knows != d.place) && d.overdue(s) {
			s.knows, s.telling = d.place, d.place < s.until
			d.tell(gossip.Frame{To: s.rank, Kind: gossip.Place, Round: r.Round, Hop: r.Hop})
		}
		if err := d.feed(s); err != nil {
			return false, err
		}
	}
	if asked, err = d.askRepairs(first); err != nil {
		return asked, err
	}
	answered, err := d.answerEarly()
	return asked || answered, err
}

// overdue reports whether s has to be told of this worker's place. Who never gets in
// step need not be told of each: what it knows must leave it room for a few more.
func (d *driver) overdue(s *standing) bool {
	return s.until < math.MaxInt || d.place-s.knows >= max(1, d.slots.Lead-1)
}

// keep puts new messages and repairs into the journal.
func (d *driver) keep(frames []gossip.Frame) error {
	for _, f := range frames {
		if f.Kind == gossip.Request || f.Kind == gossip.Data && d.slotOf(f) != d.journal.Next() {
			continue
		}
		if err := d.journal.Append(f); err != nil {
			return err
		}
	}
	return d.shorten()
}

// askRepairs asks the machine for the repairs of the messages from slot first on,
// as neighbours that have passed them may have done.
func (d *driver) askRepairs(first int) (asked bool, err error) {
	for slot := first; d.verified && slot < d.journal.Next(); slot++ {
		for i := range d.peers {
			s := &d.peers[i]
			if !s.hears || slot >= s.passed {
				continue
			}
			f, err := d.journal.Message(slot)
			if err != nil {
				return asked, err
			}
			asked = true
			// Refused where nothing can have been wrong.
			_ = d.w.Machine.Receive(gossip.Frame{From: s.rank, To: d.w.Rank, Kind: gossip.Request, Round: f.Round, Hop: f.Hop})
		}
	}
	return asked, nil
}

// feed sends s what it lacks, as far as it can take it.
func (d *driver) feed(s *standing) error {
	if s.up && s.behind && s.next < d.journal.Base() { // a full disk, and memory is short, too
		why := fmt.Errorf("messages from exchange %d on are not kept any more", s.next)
		d.t.Control(gossip.Control{Kind: gossip.DropLink, Peer: s.rank, Why: why})
		return nil
	}
	for s.up && s.behind && s.next < min(s.room, d.journal.Next()) {
		f, err := d.journal.Message(s.next)
		if err != nil {
			return err
		}
		f.From, f.To = d.w.Rank, s.rank
		d.t.Send([]gossip.Frame{f})
		s.next++
	}
	if s.room == math.MaxInt && s.next == d.journal.Next() {
		s.behind = false
	}
	return nil
}

// owes reports whether s lacks messages that are there.
func (d *driver) owes(s *standing) bool { return s.behind && s.next < d.journal.Next() }

// notice takes in what s has told of itself.
func (d *driver) notice(s *standing, n gossip.Frame) error {
	if d.journal == nil {
		return nil
	}
	slot := d.slots.Of(n.Round, n.Hop)
	if n.Kind == gossip.Durable {
		s.durable = max(s.durable, slot)
		return d.broken(d.forget())
	}
	s.room = max(s.room, slot+d.slots.Lead+1)
	if slot >= s.until {
		s.room = math.MaxInt
	}
	return d.broken(d.feed(s))
}

// recall answers the request for a repair that is in the journal, once per link.
func (d *driver) recall(s *standing, f gossip.Frame) (done bool, err error) {
	if d.journal == nil || f.Kind != gossip.Request {
		return false, nil
	}
	slot := d.slotOf(f)
	repair, ok, err := d.journal.Repair(slot, s.rank)
	if !ok {
		return false, nil
	}
	d.t.Recycle(f.Payload)
	if err != nil || slot <= s.mended {
		return true, d.broken(err)
	}
	s.mended = slot
	repair.From = d.w.Rank
	d.t.Send([]gossip.Frame{repair})
	return true, nil
}

// misplaced deals with a frame that the machine has refused. Of one that is early
// the request is kept; a message shows that the two ends are out of step.
func (d *driver) misplaced(s *standing, f gossip.Frame, why error) {
	early := d.journal != nil && errors.Is(why, gossip.ErrEarly)
	if early && f.Kind == gossip.Request {
		s.request, s.early = f, true
		return
	}
	d.refused.frame(why)
	d.log.Debug("frame not used", "why", why)
	d.t.Recycle(f.Payload)
	if early && f.Kind == gossip.Data {
		d.t.Control(gossip.Control{Kind: gossip.DropLink, Peer: s.rank, Why: why})
	}
}

// answerEarly gives the machine requests for what it has said by now.
func (d *driver) answerEarly() (answered bool, err error) {
	for i := range d.peers {
		if s := &d.peers[i]; s.early && d.slotOf(s.request) < d.journal.Next() {
			s.early, answered = false, true
			if err := d.handle(Event{Kind: FrameIn, Peer: s.rank, Frame: s.request}); err != nil {
				return true, err
			}
		}
	}
	return answered, nil
}

// broken says where the journal has failed this worker.
func (d *driver) broken(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("node: worker %d: round %d: %w", d.w.Rank, d.round, err)
}

func lostState(err error) bool {
	var no *RefusedError
	return errors.As(err, &no) && no.Reason == LostState
}
