package gossip

import (
	"errors"

	"gossiptrainer/algos"
)

// A worker repairs messages of an exchange like messages of a round, see repair.go. The payload stays unchanged, and
// both ends use the indices behind it. Only the two ends have to recover the same. The gain of one is the loss of the
// other, so the mean of the models moves only by the gradients.
//
// The sender keeps the repair of a message as long as the receiver may ask for it. For an offer that is until it has
// ended or its link broke, since the other end then forgets it. For a reply it is until the next offer of the other
// end, which comes after the other end has used the reply.

// Repairs returns the counts of the run so far.
func (w *PairWorker) Repairs() Repairs {
	r := w.repair
	for i := range w.peers {
		r.Verified = r.Verified || w.peers[i].verify != nil
	}
	return r
}

// suspect reports whether err says that the message of p was recovered wrongly. If so,
// it asks for the repair.
func (w *PairWorker) suspect(p *pairPeer, m *letter, err error) bool {
	if err == nil || m.state == repaired {
		return false
	}
	var wrong *algos.MismatchError
	if !errors.As(err, &wrong) {
		return false
	}
	m.state = mistaken
	w.repair.Violations++
	w.ask(p, m)
	return true
}

// ask asks p for the repair of its message m.
func (w *PairWorker) ask(p *pairPeer, m *letter) {
	w.post(p, Frame{Kind: Request, Round: m.Round, Hop: m.Hop})
}

// lacked refuses a repair unless its message waits for it.
func (w *PairWorker) lacked(p *pairPeer, f Frame) error {
	if m := w.letter(p, f); m == nil || m.state != mistaken {
		return ErrUnasked
	}
	return nil
}

// letter returns the message of p that f repairs, nil if it is not there.
func (w *PairWorker) letter(p *pairPeer, f Frame) *letter {
	if f.Hop == hopOffer && p.held.state != absent && p.held.Round == f.Round {
		return &p.held
	}
	if o := w.made(p, f.Round); f.Hop == hopReply && o != nil && o.reply.state != absent {
		return &o.reply
	}
	return nil
}

// mend uses the message of p that f repairs.
func (w *PairWorker) mend(p *pairPeer, f Frame) error {
	m := w.letter(p, f)
	m.state, m.repair = repaired, f.Payload
	if m.repair == nil {
		m.repair = []byte{}
	}
	if m == &p.held {
		return w.consider(p)
	}
	return w.settle(p, w.made(p, f.Round))
}

// grant sends the repair that p asks for, or returns the reason to refuse. It sends one
// repair per message and link, so that requests cannot make this worker send for ever.
func (w *PairWorker) grant(p *pairPeer, f Frame) error {
	offered := f.Hop == hopOffer && w.partner == p && w.offer.number == f.Round
	replied := f.Hop == hopReply && p.reply.state != none && p.seen == f.Round
	switch {
	case p.verify == nil:
		return ErrUnasked
	case !offered && !replied:
		return ErrStale
	case offered && w.offer.mended, replied && p.reply.state == mended:
		return ErrDuplicate
	}
	repair, ok := p.verify.AppendRepair(nil, f.Round, 0, f.Payload)
	if !ok {
		return ErrUnasked
	}
	if offered {
		w.offer.mended = true
	} else {
		p.reply.state = mended
	}
	w.post(p, Frame{Kind: Repair, Round: f.Round, Hop: f.Hop, Payload: repair})
	return nil
}

// drop gives the payloads of a message back, if there is one.
func (w *PairWorker) drop(m *letter) {
	if m.state != absent {
		w.spend(m.Payload)
	}
	if m.state == repaired {
		w.spend(m.repair)
	}
	*m = letter{}
}

// learn tells the codec of a link how an offer has ended. It leaves out offers in doubt,
// which may have been made long ago.
func (w *PairWorker) learn(p *pairPeer, o *offer, mixed algos.Mixed, repairs int) {
	if o != &w.offer || p.proposer == nil {
		return
	}
	if o.mended {
		repairs++
	}
	p.proposer.Ended(o.number, mixed, repairs)
}
