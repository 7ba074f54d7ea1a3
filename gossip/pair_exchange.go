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
	return p, p.due(f)
}

// due refuses a message that is not the next one of p.
func (p *pairPeer) due(f Frame) error {
	asked := p.asked && f.Round == p.question()
	switch f.Hop {
	case hopAsk:
		if p.held || f.Round == p.seen {
			return ErrDuplicate
		}
		return p.inOrder(f.Round)
	case hopQuery:
		return p.mayQuery(f.Round)
	case hopFinished:
		if p.finished {
			return ErrDuplicate
		}
		return nil
	case hopOffer:
		return p.theirs.lacks(f.Round)
	case hopReply:
		if asked {
			return nil
		}
		return p.mine.lacks(f.Round)
	case hopAgree:
		if !asked && p.mine.state != none && p.mine.number == f.Round {
			return ErrDuplicate
		}
	}
	if !asked {
		return ErrStale
	}
	return nil
}

// inOrder refuses the number of a question that is not the next one of p.
func (p *pairPeer) inOrder(number int) error {
	switch {
	case number > p.seen+2:
		return ErrEarly
	case number < p.seen+2:
		return ErrStale
	}
	return nil
}

// lacks refuses a model for which the exchange does not wait.
func (t *trade) lacks(number int) error {
	switch {
	case t.state == none || t.number != number:
		return ErrStale
	case t.state == used || t.received.state != absent:
		return ErrDuplicate
	}
	return nil
}

// own reports whether this worker asks with that number.
func (p *pairPeer) own(number int) bool { return (number-p.next)%2 == 0 }

// mayQuery refuses a query for an exchange in which p lacks nothing. A neighbour may send one for an exchange of each
// end on each link, so that queries cannot make this worker send for ever.
func (p *pairPeer) mayQuery(number int) error {
	which := 0
	if p.own(number) {
		which = 1
	}
	switch {
	case p.queried[which]:
		return ErrDuplicate
	case p.own(number) && !(p.asked && number == p.question()) && !p.mine.sent(number):
		return ErrStale
	case !p.own(number) && number != p.seen:
		if err := p.inOrder(number); err != nil {
			return err
		}
	}
	p.queried[which] = true
	return nil
}

// sent reports whether this worker has sent its model in that exchange, the last one.
func (t *trade) sent(number int) bool { return t.state != none && t.number == number }

// accept uses a message that was admitted, or holds it.
func (w *PairWorker) accept(p *pairPeer, f Frame) error {
	switch {
	case f.Kind == Repair:
		return w.mend(p, f)
	case f.Kind == Data && f.Hop == hopOffer:
		p.theirs.received = letter{Frame: f, state: arrived}
		return w.settle(p, &p.theirs)
	case f.Kind == Data && f.Hop == hopReply:
		if p.asked { // the agreement comes later, or was lost with an earlier link
			if err := w.agreed(p); err != nil {
				w.spend(f.Payload)
				return err
			}
		}
		p.mine.received = letter{Frame: f, state: arrived}
		return w.settle(p, &p.mine)
	}
	w.spend(f.Payload) // its content stays until the next Ready
	switch {
	case f.Kind == Request: // admit has sent the repair
	case f.Hop == hopAsk:
		w.turn.arrivals++
		p.held, p.arrival, p.note = true, w.turn.arrivals, uint32(f.Note)
		if shut(w) || w.exchange == asking && p.rank < w.self {
			w.decline(p)
		}
	case f.Hop == hopAgree:
		return w.agreed(p)
	case f.Hop == hopDecline:
		p.asked = false
		if w.partner == p && w.exchange == asking {
			p.declined = true
			w.stop(seeking)
		}
	case f.Hop == hopQuery:
		return w.recall(p, f.Round)
	case f.Hop == hopFinished:
		model, counts, err := w.split(f)
		if err == nil && len(model) > 0 {
			err = &algos.MessageError{From: f.From, Err: fmt.Errorf("%d bytes before the step counts: must be 0", len(model))}
		}
		if err != nil {
			return w.judge(p, f.Round, err)
		}
		w.steps.join(counts)
		p.finished = true
	}
	return nil
}

// agree agrees to the exchange for which p has asked, and sends the model. It declines one with a note that cannot be
// used.
func (w *PairWorker) agree(p *pairPeer) error {
	number := p.seen + 2
	if p.proposer != nil {
		if err := p.proposer.Heed(number, p.note); err != nil {
			w.decline(p)
			return w.judge(p, number, &algos.MessageError{From: p.rank, Err: err})
		}
	}
	if err := w.encode(p, &p.theirs, number); err != nil {
		if err = w.judge(p, number, err); w.failed == nil {
			w.decline(p)
		}
		return err
	}
	p.seen, p.held = number, false
	w.serving, w.turn.served = p, true
	w.send(p, hopAgree, number, nil)
	w.send(p, hopReply, number, p.theirs.payload)
	return nil
}

// agreed sends the model to p, which has agreed to the exchange for which this worker has asked.
func (w *PairWorker) agreed(p *pairPeer) error {
	if err := w.encode(p, &p.mine, p.question()); err != nil {
		return w.judge(p, p.question(), err)
	}
	p.asked = false
	if w.partner == p && w.exchange == asking {
		w.exchange = trading
	}
	w.send(p, hopOffer, p.mine.number, p.mine.payload)
	return nil
}

// encode makes the present model the own one of an exchange.
func (w *PairWorker) encode(p *pairPeer, t *trade, number int) error {
	payload, err := w.alg.Encode(t.payload[:0], number, p.rank)
	if err != nil {
		return err
	}
	*t = trade{number: number, state: lacking, at: w.spare, payload: w.steps.append(payload)}
	w.spare = nil
	if t.at == nil {
		t.at = make([]float32, len(w.alg.X))
	}
	copy(t.at, w.alg.X)
	return nil
}

// settle uses the model received in an exchange, which ends it. If the model cannot be used,
// the worker waits for it again, from another link.
func (w *PairWorker) settle(p *pairPeer, t *trade) error {
	var mixed algos.Mixed
	model, counts, err := w.split(t.received.Frame)
	if err == nil {
		theirs := algos.Message{From: p.rank, Payload: model, Repair: t.received.repair, Limit: w.guard.limit()}
		mixed, err = w.alg.Average(t.number, t.at, t.payload[:len(t.payload)-w.steps.size()], theirs)
	}
	if w.suspect(p, &t.received, err) {
		return nil
	}
	repairs := 0
	if t.received.state == repaired {
		repairs++
	}
	w.drop(&t.received)
	if err != nil {
		return w.judge(p, t.number, err)
	}
	w.repair.Repaired += int64(repairs)
	w.mixed = mixed
	w.guard.mixed(mixed)
	w.steps.join(counts)
	t.state, t.at, w.spare = used, nil, t.at
	switch {
	case t == &p.theirs && w.serving == p:
		w.serving = nil
	case t == &p.mine && w.partner == p && w.exchange == trading:
		w.learn(p, mixed, repairs)
		w.stop(over)
	}
	return nil
}

// stop ends the own exchange of the step.
func (w *PairWorker) stop(next exchangeState) { w.partner, w.exchange = nil, next }

// decline answers the question of p that is held.
func (w *PairWorker) decline(p *pairPeer) {
	p.seen, p.held = p.seen+2, false
	w.send(p, hopDecline, p.seen, nil)
}

// recall sends p what it lacks of an exchange. A question of p that has not arrived is declined now: p has gone on
// without it, so it must not be answered later.
func (w *PairWorker) recall(p *pairPeer, number int) error {
	switch {
	case p.own(number) && p.asked && number == p.question():
		return w.agreed(p)
	case p.own(number):
		w.send(p, hopOffer, number, slices.Clone(p.mine.payload))
	case p.theirs.sent(number):
		w.send(p, hopReply, number, slices.Clone(p.theirs.payload))
	default:
		p.seen, p.held = number, false
		w.send(p, hopDecline, number, nil)
	}
	return nil
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
