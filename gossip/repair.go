package gossip

import (
	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A message that one receiver recovered wrongly is sound: every other receiver may have recovered it well. It must mean
// the same to all of them, or the mean of the models drifts. So the sender never sends it again. The receiver keeps it,
// asks its sender for the repair, and mixes when all repairs of the hop are there. The run equals, bit for bit, one
// without wrong messages.
//
// The sender still knows the repair. As in outbox, it cannot be more than Lead slots ahead of a worker that has not
// mixed, and it learns when a link broke.

// Repairs returns the counts so far.
func (w *Worker) Repairs() Repairs {
	r := w.repair
	for _, l := range w.alg.lanes {
		r.Verified = r.Verified || l.verify != nil
	}
	return r
}

// askAll asks for the repairs of messages with a wrongly recovered piece.
func (w *Worker) askAll(piece int, wrong *algos.MismatchError) error {
	for i, from := range wrong.From {
		first, ok := w.mail().inbox.suspect(w.slot(), piece, from)
		if !ok {
			return w.fail(w.located(wrong))
		}
		if first {
			w.repair.Violations++
		}
		w.ask(from, piece, wrong.Asked(i))
	}
	return nil
}

// ask asks for the repair of a piece of a neighbour's message of the current hop, with the data of a mismatch or nil.
func (w *Worker) ask(from topology.Rank, piece int, with []byte) {
	w.mail().ready[0].send = append(w.mail().ready[0].send, Frame{
		From: w.self, To: from, Kind: Request, Round: w.k, Hop: w.hop, Piece: piece, Payload: with,
	})
}

// answer sends the repair that a request asks for, or says why not.
func (w *Worker) answer(f Frame) error {
	lane, piece := w.boundary.rule(f.Round, &w.alg).lane(f.Hop, f.Piece)
	if lane.verify == nil {
		return ErrUnasked
	}
	if f.Round >= w.schedule.Rounds || f.Round/w.schedule.Every > w.k/w.schedule.Every {
		return ErrEarly // before slots are counted, so that no round overflows
	}
	if err := w.mail().outbox.grant(w.slotOf(f), f.Piece, f.From); err != nil {
		return err
	}
	// The worker does not send the codec's own copy. A forged request from a worker that is ahead would let the codec
	// rewrite it while it is on its way.
	repair, ok := lane.verify.AppendRepair(nil, f.Round, piece, f.Payload)
	if !ok {
		return ErrUnasked
	}
	w.mail().ready[0].send = append(w.mail().ready[0].send, Frame{
		From: w.self, To: f.From, Kind: Repair, Round: f.Round, Hop: f.Hop, Piece: f.Piece, Payload: repair,
	})
	w.mail().ready[0].spent = append(w.mail().ready[0].spent, f.Payload)
	return nil
}
