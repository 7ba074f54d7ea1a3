package gossip

import (
	"errors"

	"gossiptrainer/algos"
)

// Messages of an exchange are repaired as those of a round are, see repair.go:
// the payload stays what it was, and both ends use the indices that it was made
// from. There is nobody else who has to have recovered the same. But the ends
// must: what one gains the other loses, and the mean of the models moves by the
// gradients alone.
//
// What makes a message certain is known as long as it may be asked for: an offer
// until it has ended or its link broke, since the other end then forgets it; a
// reply until the next offer of the other end, which it makes after it has used
// this one.

// Repairs returns what has been counted so far.
func (w *PairWorker) Repairs() Repairs {
	r := w.repair
	for i := range w.peers {
		r.Verified = r.Verified || w.peers[i].verify != nil
	}
	return r
}

// suspect reports whether err says that the message of p was recovered wrongly,
// and then asks for its repair.
func (w *PairWorker) suspect(p *pairPeer, m *letter, err error) bool {
	if err == nil || m.repair != nil {
		return false
	}
	var wrong *algos.MismatchError
	if !errors.As(err, &wrong) {
		return false
	}
	m.lacks = true
	w.repair.Violations++
	w.ask(p, m)
	return true
}

// ask asks for the repair of a message of p.
func (w *PairWorker) ask(p *pairPeer, m *letter) {
	w.post(p, Frame{Kind: Request, Round: m.Round, Hop: m.Hop})
}

// lacked says why a repair is of no use, if so.
func (w *PairWorker) lacked(p *pairPeer, f Frame) error {
	if m := w.letter(p, f); m == nil || !m.lacks {
		return ErrUnasked
	}
	return nil
}

// letter returns the message of p that f repairs, nil if it is not there.
func (w *PairWorker) letter(p *pairPeer, f Frame) *letter {
	if f.Hop == hopOffer && p.held.there && p.held.Round == f.Round {
		return &p.held
	}
	if o := w.made(p, f.Round); f.Hop == hopReply && o != nil && o.reply.there {
		return &o.reply
	}
	return nil
}

// mend goes on with the message of p that f repairs.
func (w *PairWorker) mend(p *pairPeer, f Frame) error {
	m := w.letter(p, f)
	m.lacks, m.repair = false, f.Payload
	if m.repair == nil {
		m.repair = []byte{}
	}
	if m == &p.held {
		return w.consider(p)
	}
	return w.settle(p, w.made(p, f.Round))
}

// grant sends the repair that p asks for, or says why not. It gets one per
// message and link, so that requests cannot be used to make this worker send for
// ever.
func (w *PairWorker) grant(p *pairPeer, f Frame) error {
	var granted *bool
	switch {
	case p.verify == nil:
		return ErrUnasked
	case f.Hop == hopOffer && w.partner == p && w.offer.number == f.Round:
		granted = &w.offer.granted
	case f.Hop == hopReply && p.replied && p.seen == f.Round:
		granted = &p.granted
	default:
		return ErrStale
	}
	if *granted {
		return ErrDuplicate
	}
	repair, ok := p.verify.AppendRepair(nil, f.Round)
	if !ok {
		return ErrUnasked
	}
	*granted = true
	w.post(p, Frame{Kind: Repair, Round: f.Round, Hop: f.Hop, Payload: repair})
	return nil
}

// drop lets go of a message, if it is there.
func (w *PairWorker) drop(m *letter) {
	if m.there {
		w.spend(m.Payload)
	}
	if m.repair != nil {
		w.spend(m.repair)
	}
	*m = letter{}
}

// learn tells the codec of a link how an offer has ended, unless its link broke
// meanwhile: it may have been made long ago.
func (w *PairWorker) learn(p *pairPeer, o *offer, mixed algos.Mixed, repairs int) {
	if o != &w.offer || p.proposer == nil {
		return
	}
	if o.granted {
		repairs++
	}
	p.proposer.Ended(o.number, mixed, repairs)
}
