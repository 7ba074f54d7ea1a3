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
		if p.held.there || f.Round == p.seen {
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
		o := w.made(p, f.Round)
		switch {
		case o == nil:
			return nil, ErrStale
		case o.reply.there && f.Hop == hopReply:
			return nil, ErrDuplicate
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
	switch {
	case f.Kind == Repair:
		return w.mend(p, f)
	case f.Kind == Data && f.Hop == hopOffer:
		p.held = letter{Frame: f, there: true}
		return w.consider(p)
	case f.Kind == Data && f.Hop == hopReply:
		o := w.made(p, f.Round)
		o.reply = letter{Frame: f, there: true}
		return w.settle(p, o)
	}
	w.spend(f.Payload) // its content stays until the driver has it back
	switch {
	case f.Kind == Request: // was granted
	case f.Hop == hopDecline:
		w.declined(p, w.made(p, f.Round))
	case f.Hop == hopQuery:
		w.recall(p, f.Round)
	case f.Hop == hopFinished:
		model, counts, err := w.split(f)
		if err == nil && len(model) > 0 {
			err = &algos.MessageError{From: f.From, Err: fmt.Errorf("%d bytes before the steps, want none", len(model))}
		}
		if err != nil {
			return w.judge(p, f.Round, err)
		}
		w.steps.join(w.self, counts)
		p.finished = true
	}
	return nil
}

// consider answers the offer of p that has come, or declines it, unless it has
// to wait for the own one to end.
func (w *PairWorker) consider(p *pairPeer) error {
	switch {
	case w.partner == nil:
		return w.answer(p)
	case p.rank < w.self:
		number := p.held.Round
		w.dispose(p)
		w.decline(p, number)
	}
	return nil
}

// answer averages with p, whose offer is held. An offer that cannot be used is
// declined.
func (w *PairWorker) answer(p *pairPeer) error {
	number, repaired := p.held.Round, p.held.repair != nil
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
	if repaired {
		w.repair.Repaired++
	}
	w.steps.join(w.self, counts)
	w.scratch = w.steps.append(w.scratch)
	p.replied, p.granted = true, false
	p.reply, w.scratch = w.scratch, p.reply
	w.send(p, hopReply, number, p.reply)
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
	w.scratch, w.mixed, w.moved = reply, mixed, true
	w.guard.mixed(mixed)
	return nil
}

// settle ends the exchange that this worker has offered by its reply. A reply
// that cannot be used is awaited again, from another link.
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
	if o.reply.repair != nil {
		repairs++
	}
	w.drop(&o.reply)
	if err != nil {
		return w.judge(p, o.number, err)
	}
	w.repair.Repaired += int64(repairs)
	w.mixed, w.moved = mixed, true
	w.guard.mixed(mixed)
	w.exchanged = w.exchanged || o == &w.offer
	w.steps.join(w.self, counts)
	w.learn(p, o, mixed, repairs)
	w.close(o)
	return nil
}

// declined ends an offer of this worker without an exchange.
func (w *PairWorker) declined(p *pairPeer, o *offer) {
	p.declined = p.declined || o == &w.offer
	w.drop(&o.reply)
	if o.granted {
		w.learn(p, o, algos.Mixed{}, 0)
	}
	w.close(o)
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

// dispose lets go of the offer that is held, as if it were declined: to say so
// is not needed where its sender asks.
func (w *PairWorker) dispose(p *pairPeer) {
	p.seen, p.replied = p.held.Round, false
	w.drop(&p.held)
}

// recall says again how the last offer of p has ended. If it has not, it ends
// now: p has lost it from sight, and it must not be answered later.
func (w *PairWorker) recall(p *pairPeer, number int) {
	if p.held.there && p.held.Round == number {
		w.dispose(p)
	}
	if number == p.seen && p.replied {
		w.send(p, hopReply, number, slices.Clone(p.reply))
		return
	}
	w.decline(p, number)
}

// split divides a payload into the model and the census, which is refused if it
// says of a worker what none can have done: who knows of as many steps as all
// share begins no other.
func (w *PairWorker) split(f Frame) (model, counts []byte, err error) {
	at := len(f.Payload) - w.steps.size()
	if at < 0 {
		return nil, nil, &algos.MessageError{
			From: f.From, Err: fmt.Errorf("%d bytes, at least %d are the steps of %d workers", len(f.Payload), w.steps.size(),
				w.plan.Workers),
		}
	}
	if worker, n := mostSteps(f.Payload[at:]); int64(n) > int64(w.plan.Workers)*int64(w.plan.Rounds) {
		return nil, nil, &algos.MessageError{
			From: f.From, Err: fmt.Errorf("worker %d has done %d steps, all %d together have %d", worker, n, w.plan.Workers,
				w.plan.Workers*w.plan.Rounds),
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
