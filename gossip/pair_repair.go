package gossip

import (
	"errors"

	"gossiptrainer/algos"
)

// A worker repairs messages of an exchange like messages of a round, see repair.go. The payload stays unchanged, and
// both ends use the indices behind it. Only the two ends have to recover the same. The gain of one is the loss of the
// other, so the mean of the models moves only by the gradients.
//
// The sender keeps the repair of a message as long as the message itself, see trade.

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
	if t := p.trade(f.Hop, hopReply); t != nil && t.number == f.Round && t.received.state != absent {
		return &t.received
	}
	return nil
}

// trade returns the exchange of a model, nil of another message. The models of the exchanges for which this worker has
// asked have the hop mine.
func (p *pairPeer) trade(hop, mine int) *trade {
	switch {
	case hop == mine:
		return &p.mine
	case hop == hopOffer, hop == hopReply:
		return &p.theirs
	}
	return nil
}

// mend uses the message of p that f repairs.
func (w *PairWorker) mend(p *pairPeer, f Frame) error {
	t := p.trade(f.Hop, hopReply)
	t.received.state, t.received.repair = repaired, f.Payload
	if f.Payload == nil {
		t.received.repair = []byte{}
	}
	return w.settle(p, t)
}

// grant sends the repair that p asks for, or returns the reason to refuse. It sends one
// repair per message and link, so that requests cannot make this worker send for ever.
func (w *PairWorker) grant(p *pairPeer, f Frame) error {
	t := p.trade(f.Hop, hopOffer)
	switch {
	case p.verify == nil:
		return ErrUnasked
	case t == nil || !t.sent(f.Round):
		return ErrStale
	case t.mended:
		return ErrDuplicate
	}
	repair, ok := p.verify.AppendRepair(nil, f.Round, 0, f.Payload)
	if !ok {
		return ErrUnasked
	}
	t.mended = true
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

// learn tells the codec of a link how an exchange has ended for which this worker has asked. It leaves out those in
// doubt, which may be old.
func (w *PairWorker) learn(p *pairPeer, mixed algos.Mixed, repairs int) {
	if p.proposer == nil {
		return
	}
	if p.mine.mended {
		repairs++
	}
	p.proposer.Ended(p.mine.number, mixed, repairs)
}
