package gossip

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/algos"
)

// admit returns the sender of f, or the reason to refuse f.
func (w *PairWorker) admit(f Frame) (*pairPeer, error) {
	p := w.peer(f.From)
	switch {
	case p == nil || f.To != w.self:
		return nil, ErrStranger
	case f.Hop < 0 || f.Hop >= pairHops:
		return nil, ErrNoSuchHop
	case f.Kind == Request:
		return p, w.grant(p, f)
	case f.Kind == Repair:
		return p, w.lacked(p, f)
	case f.Kind != Data:
		return nil, ErrUnasked
	}
	switch f.Hop {
	case hopOffer:
		if p.held.state != absent || f.Round == p.seen {
			return nil, ErrDuplicate
		}
		return p, p.inOrder(f.Round)
	case hopQuery:
		switch {
		case p.queried:
			return nil, ErrDuplicate
		case f.Round == p.seen:
			return p, nil
		}
		return p, p.inOrder(f.Round)
	case hopFinished:
		if p.finished {
			return nil, ErrDuplicate
		}
	default:
		o := w.made(p, f.Round)
		switch {
		case o == nil:
			return nil, ErrStale
		case o.reply.state != absent && f.Hop == hopReply:
			return nil, ErrDuplicate
		}
	}
	return p, nil
}

// inOrder refuses the number of an offer that is not the next one of p.
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
	case p.doubt != nil && p.doubt.number == number:
		return p.doubt
	}
	return nil
}

// accept uses a message that was admitted, or holds it.
func (w *PairWorker) accept(p *pairPeer, f Frame) error {
	switch {
	case f.Kind == Repair:
		return w.mend(p, f)
	case f.Kind == Data && f.Hop == hopOffer:
		p.held = letter{Frame: f, state: arrived}
		return w.consider(p)
	case f.Kind == Data && f.Hop == hopReply:
		o := w.made(p, f.Round)
		o.reply = letter{Frame: f, state: arrived}
		return w.settle(p, o)
	}
	w.spend(f.Payload) // its content stays until the next Ready
	switch {
	case f.Kind == Request: // admit has sent the repair
	case f.Hop == hopDecline:
		w.declined(p, w.made(p, f.Round))
	case f.Hop == hopQuery:
		w.recall(p, f.Round)
	case f.Hop == hopFinished:
		model, counts, err := w.split(f)
		if err == nil && len(model) > 0 {
			err = &algos.MessageError{From: f.From, Err: fmt.Errorf("%d bytes before the step counts: must be 0", len(model))}
		}
		if err != nil {
			return w.judge(p, f.Round, err)
		}
		w.steps.join(w.self, counts)
		p.finished = true
	}
	return nil
}

// consider answers or declines the held offer of p, unless the offer must wait until
// the one of this worker has ended.
func (w *PairWorker) consider(p *pairPeer) error {
	switch {
	case w.exchange != offering:
		return w.answer(p)
	case p.rank < w.self:
		number := p.held.Round
		w.dispose(p)
		w.decline(p, number)
	}
	return nil
}

// answer averages with p, whose offer is held. It declines an offer that cannot be used.
func (w *PairWorker) answer(p *pairPeer) error {
	number, mended := p.held.Round, p.held.state == repaired
	model, counts, err := w.split(p.held.Frame)
	if err == nil {
		err = w.average(p, model)
	}
	if w.suspect(p, &p.held, err) {
		return nil
	}
	w.dispose(p)
	if err != nil {
		if err = w.judge(p, number, err); w.failed == nil {
			w.decline(p, number)
		}
		return err
	}
	if mended {
		w.repair.Repaired++
	}
	w.steps.join(w.self, counts)
	w.scratch = w.steps.append(w.scratch)
	p.reply, w.scratch = answer{state: sent, payload: w.scratch}, p.reply.payload
	w.send(p, hopReply, number, p.reply.payload)
	return nil
}

// average moves the model towards the one offered and leaves the reply in
// scratch.
func (w *PairWorker) average(p *pairPeer, model []byte) error {
	if p.proposer != nil {
		if err := p.proposer.Heed(p.held.Round, uint32(p.held.Note)); err != nil {
			return &algos.MessageError{From: p.rank, Err: err}
		}
	}
	offer := algos.Message{From: p.rank, Payload: model, Repair: p.held.repair, Limit: w.guard.limit()}
	reply, mixed, err := w.alg.Answer(w.scratch[:0], p.held.Round, offer)
	if err != nil {
		return err
	}
	w.scratch, w.mixed = reply, mixed
	w.snapshot.move()
	w.guard.mixed(mixed)
	return nil
}

// settle uses the reply to offer o and ends the exchange. If the reply cannot be used,
// the worker waits for it again, from another link.
func (w *PairWorker) settle(p *pairPeer, o *offer) error {
	var mixed algos.Mixed
	model, counts, err := w.split(o.reply.Frame)
	if err == nil {
		reply := algos.Message{From: p.rank, Payload: model, Repair: o.reply.repair, Limit: w.guard.limit()}
		mixed, err = w.alg.Settle(o.number, o.at, o.payload[:len(o.payload)-w.steps.size()], reply)
	}
	if w.suspect(p, &o.reply, err) {
		return nil
	}
	repairs := 0
	if o.reply.state == repaired {
		repairs++
	}
	w.drop(&o.reply)
	if err != nil {
		return w.judge(p, o.number, err)
	}
	w.repair.Repaired += int64(repairs)
	w.mixed = mixed
	w.snapshot.move()
	w.guard.mixed(mixed)
	w.steps.join(w.self, counts)
	w.learn(p, o, mixed, repairs)
	w.close(p, o, over)
	return nil
}

// declined ends an offer of this worker without an exchange.
func (w *PairWorker) declined(p *pairPeer, o *offer) {
	p.declined = p.declined || o == &w.offer
	w.drop(&o.reply)
	if o.mended {
		w.learn(p, o, algos.Mixed{}, 0)
	}
	w.close(p, o, seeking)
}

// close ends offer o to p. The state of this step's exchange changes to next, unless o
// was in doubt and thus of an earlier attempt.
func (w *PairWorker) close(p *pairPeer, o *offer, next exchangeState) {
	if o == p.doubt {
		p.doubt = nil
		return
	}
	w.stop(next)
}

// stop ends the wait for the reply of partner.
func (w *PairWorker) stop(next exchangeState) { w.partner, w.exchange = nil, next }

// decline ends an offer of p without an exchange.
func (w *PairWorker) decline(p *pairPeer, number int) {
	p.seen, p.reply.state = number, none
	w.send(p, hopDecline, number, nil)
}

// dispose drops the held offer of p as if it were declined. It sends nothing, for the
// callers do so, or p asks about its offer.
func (w *PairWorker) dispose(p *pairPeer) {
	p.seen, p.reply.state = p.held.Round, none
	w.drop(&p.held)
}

// recall says again how the last offer of p has ended. A held offer is declined now: p
// has gone on without it, so it must not be answered later.
func (w *PairWorker) recall(p *pairPeer, number int) {
	p.queried = true
	if p.held.state != absent && p.held.Round == number {
		w.dispose(p)
	}
	if number == p.seen && p.reply.state != none {
		w.send(p, hopReply, number, slices.Clone(p.reply.payload))
		return
	}
	w.decline(p, number)
}

// split divides a payload into the model and the census. It refuses a census in which a
// worker has more steps than all share: a worker that knows the budget to be spent
// begins no other step.
func (w *PairWorker) split(f Frame) (model, counts []byte, err error) {
	at := len(f.Payload) - w.steps.size()
	if at < 0 {
		return nil, nil, &algos.MessageError{
			From: f.From, Err: fmt.Errorf("%d bytes: want at least %d, the step counts of %d workers", len(f.Payload),
				w.steps.size(), w.plan.Workers),
		}
	}
	if worker, n := mostSteps(f.Payload[at:]); int64(n) > int64(w.plan.Workers)*int64(w.plan.Rounds) {
		return nil, nil, &algos.MessageError{
			From: f.From, Err: fmt.Errorf("worker %d claims %d steps: the %d workers have %d together", worker, n,
				w.plan.Workers, w.plan.Workers*w.plan.Rounds),
		}
	}
	return f.Payload[:at], f.Payload[at:], nil
}

func (w *PairWorker) send(p *pairPeer, hop, number int, payload []byte) {
	w.post(p, Frame{Round: number, Hop: hop, Payload: payload})
}

func (w *PairWorker) post(p *pairPeer, f Frame) {
	f.From, f.To = w.self, p.rank
	w.ready[0].send = append(w.ready[0].send, f)
}

// spend gives a payload back with the next Ready.
func (w *PairWorker) spend(payload []byte) { w.ready[0].spent = append(w.ready[0].spent, payload) }

// judge names the exchange in which err happened. An error that no message has caused
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
