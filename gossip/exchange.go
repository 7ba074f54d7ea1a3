package gossip

import (
	"errors"
	"fmt"

	"gossiptrainer/algos"
)

// An exchange goes piece by piece. The worker makes a piece of its message, the driver sends it, and the worker makes
// the next one. It checks a piece when its own is made and those of all neighbours are there, and mixes it when the
// gradient allows. Pieces may be mixed in any order, because coordinates do not depend on each other: the run equals,
// bit for bit, one whose messages are whole. The observations of the pieces are joined, and count when the last is
// mixed.

// begin starts round k. It sends the messages that overlap with the gradient.
func (w *Worker) begin() error {
	w.hop, w.asked, w.g = 0, false, nil
	if w.k == w.schedule.Rounds {
		w.phase = done
		return nil
	}
	if w.phase = computing; late(w) {
		return nil
	}
	return overlap(w)
}

// late reports whether the message of this round waits until it is asked for.
func late(w *Worker) bool { return w.schedule.Late && w.k == w.first }

// overlap sends the messages that overlap with the gradient, unless they are sent.
func overlap(w *Worker) error {
	if w.phase == computing && w.plan.Overlap && w.plan.Hops > 0 && w.exchanges() {
		return w.tell()
	}
	return nil
}

// exchange goes on with the pieces from first up to end of the current hop, as far as the received messages allow.
// After the last piece of the last hop it begins the next round.
func (w *Worker) exchange(first, end int) error {
	switch {
	case !w.exchanges():
		return nil
	case w.phase == computing && w.alg.verifies():
		return w.try(first, end)
	case w.phase != exchanging:
		return nil
	}
	for ; w.hop < w.plan.Hops; w.hop++ {
		if err := w.tell(); err != nil {
			return err
		}
		if err := w.try(first, end); err != nil || w.mail().inbox.at(w.slot()).left > 0 {
			return err
		}
		w.end()
		first, end = 0, w.alg.pieces
	}
	if w.schedule.Agreed != nil {
		w.schedule.Agreed.exchanged(w.k)
	}
	if w.plan.Overlap {
		if err := w.descend(); err != nil {
			return err
		}
	}
	return w.next()
}

// next ends round k.
func (w *Worker) next() error {
	w.k++
	w.hop, w.g = 0, nil
	if w.k >= w.gate && w.k < w.schedule.Rounds {
		w.phase = holding
		return nil
	}
	return w.cross()
}

// step ends a round without an exchange.
func (w *Worker) step() error {
	if err := w.alg.local.Local(w.k, w.g); err != nil {
		return w.fail(fmt.Errorf("gossip: worker %d round %d: gradient: %w", w.self, w.k, err))
	}
	return w.next()
}

// descend applies the gradient of round k.
func (w *Worker) descend() error {
	if err := w.alg.Descend(w.k, w.g); err != nil {
		return w.fail(fmt.Errorf("gossip: worker %d round %d: gradient: %w", w.self, w.k, err))
	}
	return nil
}

// tell begins the message of the current hop once, and makes its first piece.
func (w *Worker) tell() error {
	if w.mail().outbox.sent > w.slot() {
		return nil
	}
	f := Frame{Round: w.k, Hop: w.hop}
	for i, l := range w.alg.of(w.hop) {
		if l.noter != nil {
			f.Note |= uint64(l.noter.Note(w.k)) << (noteBits * i)
		}
	}
	if w.schedule.Agreed != nil {
		f.Note |= uint64(w.schedule.Agreed.note()) << noteBits
	}
	w.mail().outbox.start(f)
	w.tried = 0
	w.release()
	return w.make()
}

// make makes the next piece of the last message, and hands out its frames.
func (w *Worker) make() error {
	f := &w.mail().outbox.at(w.mail().outbox.sent - 1).Frame
	payload, err := w.alg.send(f.Round, f.Hop, w.mail().outbox.made, w.mail().outbox.buffer())
	if err != nil {
		return w.fail(w.located(err))
	}
	w.mail().outbox.keep(payload)
	w.mail().ready[0].send = w.mail().outbox.appendLast(w.mail().ready[0].send)
	return nil
}

// work tries the pieces that were made since the last call, and makes another one if there is nothing to send.
func (w *Worker) work() error {
	if w.untried() {
		if err := w.exchange(w.tried, w.mail().outbox.made); err != nil {
			return err
		}
	}
	if w.failed == nil && len(w.mail().ready[0].send) == 0 && w.mail().outbox.unmade() > 0 {
		return w.make()
	}
	return nil
}

// works reports whether work would do something.
func (w *Worker) works() bool {
	return w.failed == nil && (w.mail().outbox.unmade() > 0 || w.untried())
}

// untried reports whether a piece waits to be tried, because the messages of it were there before the worker's own.
func (w *Worker) untried() bool {
	switch {
	case w.failed != nil || w.mail().outbox.sent != w.slot()+1:
		return false
	case w.phase != exchanging && (w.phase != computing || !w.alg.verifies()):
		return false
	}
	x := w.mail().inbox.at(w.slot())
	for piece := w.tried; piece < w.mail().outbox.made; piece++ {
		if x.ready(piece) && (x.pieces[piece].state == open || w.phase == exchanging && !w.waits()) {
			return true
		}
	}
	return false
}

// waits reports whether the first piece of an exchange is mixed only when the last is there.
func (w *Worker) waits() bool { return w.whole && w.alg.splitter != nil }

// try checks the pieces from first up to end that are ready, and mixes them if the gradient is there.
func (w *Worker) try(first, end int) error {
	if first <= w.tried {
		w.tried = max(w.tried, min(end, w.mail().outbox.made))
	}
	var (
		slot   = w.slot()
		x      = w.mail().inbox.at(slot)
		checks = w.alg.verifies() || w.waits()
		failed error
	)
	for piece := first; checks && piece < end && w.failed == nil; piece++ {
		if w.mail().outbox.has(slot, piece) && x.ready(piece) && x.pieces[piece].state == open {
			failed = both(failed, w.check(x, piece))
		}
	}
	switch {
	case w.phase != exchanging:
		return failed
	case w.waits() && !(x.complete() && w.mail().outbox.has(slot, w.alg.pieces-1)):
		return failed
	case w.waits():
		first, end = 0, w.alg.pieces
	}
	w.turns = w.turns[:0]
	for piece := first; piece < end && w.failed == nil; piece++ {
		if w.mail().outbox.has(slot, piece) && x.ready(piece) {
			w.turns = append(w.turns, turn{piece: piece})
		}
	}
	return both(failed, w.mixAll(x))
}

// both joins two errors, which may be nil.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}

// check verifies a piece of the messages.
func (w *Worker) check(x *exchange, piece int) error {
	if err := w.alg.splitter.CheckPiece(w.k, piece, x.messages(piece, w.guard.limit())); err != nil {
		return w.unmixed(piece, err)
	}
	x.pieces[piece].state = checked
	return nil
}

// A turn is the mixing of a piece.
type turn struct {
	piece int
	saw   algos.Mixed
	err   error
}

// mixAll uses the pieces of w.turns, in this order or together.
func (w *Worker) mixAll(x *exchange) error {
	limit := w.guard.limit()
	apart := w.together == nil || len(w.turns) < 2
	if !apart {
		w.mixTogether(x, limit)
	}
	var failed error
	for i := range w.turns {
		t := &w.turns[i]
		if w.failed != nil {
			break
		}
		if apart {
			w.take(t, x, limit)
		}
		if t.err != nil {
			failed = both(failed, w.unmixed(t.piece, t.err))
			continue
		}
		w.mail().ready[0].spent = x.mixed(t.piece, t.saw, w.mail().ready[0].spent)
	}
	return failed
}

// take mixes one piece.
func (w *Worker) take(t *turn, x *exchange, limit float32) {
	t.saw, t.err = w.alg.mix(w.k, w.hop, t.piece, x.messages(t.piece, limit))
}

// mixTogether takes all turns at the same time.
func (w *Worker) mixTogether(x *exchange, limit float32) {
	w.together(len(w.turns), func(i int) { w.take(&w.turns[i], x, limit) })
}

// unmixed handles the error of a piece: it asks for repairs, or forgets an unusable message and waits for it again.
func (w *Worker) unmixed(piece int, err error) error {
	var wrong *algos.MismatchError
	if errors.As(err, &wrong) {
		return w.askAll(piece, wrong)
	}
	var bad *algos.MessageError
	if !errors.As(err, &bad) {
		return w.fail(w.located(err))
	}
	spent, ok := w.mail().inbox.discard(w.slot(), piece, bad.From, w.mail().ready[0].spent)
	if !ok {
		return w.fail(w.located(err))
	}
	w.mail().ready[0].spent = spent
	return w.located(err)
}

// end ends the current hop, whose pieces are mixed.
func (w *Worker) end() {
	slot := w.slot()
	x := w.mail().inbox.at(slot)
	w.mixed = x.saw[0]
	for i, saw := range x.saw[:w.alg.perHop] {
		w.guard.mixed(saw)
		w.repair.Repaired += int64(x.repaired(i))
	}
	for i, l := range w.alg.of(w.hop) {
		if l.noter != nil {
			l.noter.Mixed(w.k, x.notes[i], x.saw[i], x.repaired(i))
		}
	}
	if w.schedule.Agreed != nil {
		w.schedule.Agreed.heard(x.messages(0, 0), x.notes[1])
	}
	w.mail().ready[0].spent = w.mail().inbox.clear(slot, w.mail().ready[0].spent)
}

// release gives back the message of the last exchange, once this worker and all receivers have mixed it. A receiver has
// mixed it when a piece of its next message is there.
func (w *Worker) release() {
	slot := w.slot() - 1
	if w.mail().outbox.lender == nil || slot != w.mail().outbox.oldest() || slot >= w.mail().outbox.sent {
		return
	}
	x := w.mail().inbox.at(slot + 1)
	for _, r := range w.mail().outbox.peers {
		if r.is(slot) && !x.begun(r.rank) {
			return
		}
	}
	w.mail().outbox.release()
}
