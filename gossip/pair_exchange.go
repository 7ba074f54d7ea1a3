package gossip

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/algos"
)

// admit returns who has sent f, or why it is of no use.
func (w *PairWorker) admit(f Frame) (*pairPeer, error) {
	p := w.peer(f.From)
	switch {
	case p == nil || f.To != w.self:
		return nil, ErrStranger
	case f.Kind != Data:
		return nil, ErrUnasked
	case f.Hop < 0 || f.Hop >= pairHops:
		return nil, ErrNoSuchHop
	}
	switch f.Hop {
	case hopOffer:
		if p.holds || f.Round == p.seen {
			return nil, ErrDuplicate
		}
		return p, p.inOrder(f.Round)
	case hopQuery:
		if f.Round == p.seen {
			return p, nil
		}
		return p, p.inOrder(f.Round)
	case hopFinished:
		if p.finished {
			return nil, ErrDuplicate
		}
	default:
		if w.made(p, f.Round) == nil {
			return nil, ErrStale
		}
	}
	return p, nil
}

// inOrder says what is wrong with the number of an offer that is new.
func (p *pairPeer) inOrder(number int) error {
	switch {
	case number > p.seen+2:
		return ErrEarly
	case number < p.seen+2:
		return ErrStale
	}
	return nil
}

// made returns the open offer to p of that number, nil if there is none.
func (w *PairWorker) made(p *pairPeer, number int) *offer {
	switch {
	case w.partner == p && w.offer.number == number:
		return &w.offer
	case p.doubt.open && p.doubt.number == number:
		return &p.doubt
	}
	return nil
}

// accept deals with a message that was admitted.
func (w *PairWorker) accept(p *pairPeer, f Frame) error {
	if f.Hop == hopOffer && w.partner != nil && p.rank > w.self {
		p.held, p.holds = f, true
		return nil
	}
	w.spend(f.Payload) // its content stays until the driver has it back
	switch f.Hop {
	case hopOffer:
		if w.partner == nil {
			return w.answer(p, f)
		}
		w.decline(p, f.Round)
	case hopReply:
		return w.settle(p, f)
	case hopDecline:
		o := w.made(p, f.Round)
		p.declined = p.declined || o == &w.offer
		w.close(o)
	case hopQuery:
		w.recall(p, f.Round)
	case hopFinished:
		_, counts, err := w.split(f)
		if err != nil {
			return w.judge(p, f.Round, err)
		}
		w.steps.join(w.self, counts)
		p.finished = true
	}
	return nil
}

// answer averages with p, who has made the offer f. An offer that cannot be
// used is declined.
func (w *PairWorker) answer(p *pairPeer, f Frame) error {
	model, counts, err := w.split(f)
	if err == nil {
		err = w.average(p, f.Round, model)
	}
	if err != nil {
		if err = w.judge(p, f.Round, err); w.failed == nil {
			w.decline(p, f.Round)
		}
		return err
	}
	w.steps.join(w.self, counts)
	w.scratch = w.steps.append(w.scratch)
	p.seen, p.replied = f.Round, true
	p.reply, w.scratch = w.scratch, p.reply
	w.send(p, hopReply, f.Round, p.reply)
	return nil
}

// average moves the model towards the one offered and leaves the reply in
// scratch.
func (w *PairWorker) average(p *pairPeer, number int, model []byte) error {
	reply, mixed, err := w.alg.Answer(w.scratch[:0], number, p.rank, model)
	if err != nil {
		return err
	}
	w.scratch, w.mixed, w.moved = reply, mixed, true
	return nil
}

// settle ends the exchange that this worker has offered. A reply that cannot
// be used is awaited again, from another link.
func (w *PairWorker) settle(p *pairPeer, f Frame) error {
	model, counts, err := w.split(f)
	if err != nil {
		return w.judge(p, f.Round, err)
	}
	o := w.made(p, f.Round)
	mixed, err := w.alg.Settle(f.Round, o.at, o.payload[:len(o.payload)-w.steps.size()], p.rank, model)
	if err != nil {
		return w.judge(p, f.Round, err)
	}
	w.mixed, w.moved = mixed, true
	w.exchanged = w.exchanged || o == &w.offer
	w.steps.join(w.self, counts)
	w.close(o)
	return nil
}

// close ends an offer. What one in doubt has kept is let go of.
func (w *PairWorker) close(o *offer) {
	if o == &w.offer {
		w.partner, o.open = nil, false
		return
	}
	*o = offer{}
}

// decline ends an offer of p without an exchange.
func (w *PairWorker) decline(p *pairPeer, number int) {
	p.seen, p.replied = number, false
	w.send(p, hopDecline, number, nil)
}

// dispose declines the offer that is held without saying so: its sender asks.
func (w *PairWorker) dispose(p *pairPeer) {
	p.seen, p.replied = p.held.Round, false
	w.spend(p.held.Payload)
	p.held, p.holds = Frame{}, false
}

// recall says again how the last offer of p has ended. If it has not, it ends
// now: p has lost it from sight, and it must not be answered later.
func (w *PairWorker) recall(p *pairPeer, number int) {
	if p.holds && p.held.Round == number {
		w.dispose(p)
	}
	if number == p.seen && p.replied {
		w.send(p, hopReply, number, slices.Clone(p.reply))
		return
	}
	w.decline(p, number)
}

// split divides a payload into the model and the census.
func (w *PairWorker) split(f Frame) (model, counts []byte, err error) {
	at := len(f.Payload) - w.steps.size()
	if at < 0 {
		return nil, nil, &algos.MessageError{
			From: f.From, Err: fmt.Errorf("%d bytes, at least %d are the steps of %d workers", len(f.Payload), w.steps.size(), w.plan.Workers),
		}
	}
	return f.Payload[:at], f.Payload[at:], nil
}

func (w *PairWorker) send(p *pairPeer, hop, number int, payload []byte) {
	w.ready[0].send = append(w.ready[0].send, Frame{From: w.self, To: p.rank, Round: number, Hop: hop, Payload: payload})
}

// spend gives a payload back with the next Ready.
func (w *PairWorker) spend(payload []byte) { w.ready[0].spent = append(w.ready[0].spent, payload) }

// judge says in which exchange err happened. One that no message has caused
// stops the machine for good.
func (w *PairWorker) judge(p *pairPeer, number int, err error) error {
	var bad *algos.MessageError
	fatal := !errors.As(err, &bad)
	err = fmt.Errorf("gossip: worker %d step %d: exchange %d with worker %d: %w", w.self, w.step, number, p.rank, err)
	if fatal {
		w.failed = err
	}
	return err
}
