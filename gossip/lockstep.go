package gossip

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A Lockstep lets all workers of a run that are in one memory go through the same rounds without frames. Each worker
// reads the messages of the others where they are. Algorithms, codecs and repairs are those of the workers: after
// every round the workers are, bit for bit, where frames would have brought them.
//
// A round has three parts. Each is over for all workers before the next begins: Gradient, Mix, and Repair of those that
// are Behind. The first two may be called for several workers at the same time.
type Lockstep struct {
	workers []*Worker
	models  algos.Rows             // their memory, where it is one
	wrong   []*algos.MismatchError // by worker: messages of this round that need their repair
	made    [2]messages            // those of round k in made[k mod 2]
	stack   *Stack                 // nil: the workers themselves go through the rounds
}

// messages are those of a round, by worker. Receivers need not look for them at their senders.
type messages struct {
	payloads [][]byte
	notes    []uint64
}

// NewLockstep takes over workers by rank. It reports false for workers that have to see frames. Such
// workers are not at the beginning of one round, or do not exchange in every round. Or their graph or bits change, or
// their messages have several hops or pieces. A Stack takes models that are rows of models where they are.
func NewLockstep(workers []*Worker, models algos.Rows) (*Lockstep, bool) {
	rows := make([]topology.Row, len(workers))
	for i, w := range workers {
		var ok bool
		if rows[i], ok = lasting(w); !ok || w.self != topology.Rank(i) {
			return nil, false
		}
	}
	for i, w := range workers {
		if !hears(i, rows) || !joins(w, workers[0]) {
			return nil, false
		}
	}
	n := len(workers)
	l := &Lockstep{workers: workers, models: models, wrong: make([]*algos.MismatchError, n)}
	for _, w := range workers {
		w.asked = false // the gradients come by Gradient
		quiet(w)
	}
	return l, n > 0
}

// room makes room for the messages, and lets the others see the last ones that there are.
func (l *Lockstep) room() {
	for k := range l.made {
		l.made[k] = messages{make([][]byte, len(l.workers)), make([]uint64, len(l.workers))}
	}
	for i := range l.workers {
		l.tell(i)
	}
}

// hears reports whether worker i of all rows hears those that hear it.
func hears(i int, rows []topology.Row) bool {
	own := rows[i]
	if len(own.In) != len(own.Out) {
		return false
	}
	for at, e := range own.In {
		if own.Out[at] != e.Peer || int(e.Peer) >= len(rows) {
			return false
		}
		if _, ok := slices.BinarySearch(rows[e.Peer].Out, topology.Rank(i)); !ok {
			return false
		}
	}
	return true
}

// joins reports whether a worker can be in a lockstep with the first one.
func joins(w, first *Worker) bool {
	simple := w.plan.Hops == 1 && w.plan.Lead == 1 && w.alg.pieces == 1 && w.alg.perHop == 1
	waits := w.phase == computing && w.failed == nil && w.gate == forever && w.boundary.heir == nil
	return simple && waits && w.k == first.k && w.plan == first.plan &&
		w.schedule == Schedule{Rounds: first.schedule.Rounds, Every: 1, Late: first.schedule.Late}
}

// lasting returns the row of a worker in all exchanges. It reports false where the row changes.
func lasting(w *Worker) (topology.Row, bool) {
	if w.rows.Period() != 1 {
		return topology.Row{}, false
	}
	row := w.rows.At(0)
	return row, w.box == nil || w.box.lasts(row)
}

// lasts reports whether all edges of a row are on, and no others.
func (m *mail) lasts(row topology.Row) bool {
	begins := func(s span) bool { return s.from != 0 || s.until != forever }
	ends := func(r receiver) bool { return r.from != 0 || r.until != forever }
	return len(m.inbox.spans) == len(row.In) && len(m.outbox.peers) == len(row.Out) &&
		!slices.ContainsFunc(m.inbox.spans, begins) && !slices.ContainsFunc(m.outbox.peers, ends)
}

// quiet drops frames: their receivers read the messages in place.
func quiet(w *Worker) {
	if w.box == nil {
		return
	}
	w.mail().ready[0].send, w.mail().ready[0].spent = w.mail().ready[0].send[:0], w.mail().ready[0].spent[:0]
}

// Overlaps reports whether the messages of a worker exist when a round begins. Otherwise Gradient makes them.
func Overlaps(w *Worker) bool { return w.plan.Overlap }

// Begun returns the round that the workers are in, and whether it is beyond the last one.
func (l *Lockstep) Begun() (k int, over bool) {
	if l.stack != nil {
		return l.stack.k, l.stack.k == l.stack.rounds
	}
	return l.workers[0].k, l.workers[0].phase == done
}

// Stack lets the workers go through the next rounds as a stack, until Unstack. It returns nil if they cannot.
// All messages of such rounds have the same number of bytes. It comes before the first round. It fails where a worker
// cannot make its first message.
func (l *Lockstep) Stack() (*Stack, error) {
	computes := l.workers[0].phase == computing
	if l.stack == nil && computes {
		l.stack = newStack(l.workers, l.models)
	}
	if l.stack != nil {
		l.made, l.models = [2]messages{}, algos.Rows{}
		return l.stack, nil
	}
	if l.made[0].notes == nil {
		l.room()
	}
	if !computes {
		return nil, nil
	}
	for i, w := range l.workers {
		if !late(w) {
			break
		}
		if err := cmp.Or(overlap(w), w.failed); err != nil {
			return nil, err
		}
		quiet(w)
		l.tell(i)
	}
	return nil, nil
}

// Settle brings the workers to the round that they are in. It comes before a look at a worker, after all of them have
// ended a round.
func (l *Lockstep) Settle() error {
	if l.stack == nil {
		return nil
	}
	if l.stack.settle(); l.stack.k == l.stack.rounds {
		return l.stack.leave()
	}
	return nil
}

// Show brings a worker of a Stack to the boundary before the present round, and lets look take its state. All workers
// have mixed the messages of earlier rounds, so the state has none. Settle comes before it.
func (l *Lockstep) Show(i int, look func()) error { return l.stack.show(i, look) }

// Unstack lets the workers themselves go through the rounds that follow.
func (l *Lockstep) Unstack() error {
	if l.stack == nil {
		return nil
	}
	l.stack.settle()
	err := l.stack.leave()
	l.models, _ = l.stack.Models()
	l.stack = nil
	l.room()
	return err
}

// Over ends a round that all workers have ended.
func (l *Lockstep) Over() {
	if l.stack != nil {
		l.stack.k++
	}
}

// Payload returns the bytes of a worker's message of round k: of the last round, or of the next one if it exists.
func (l *Lockstep) Payload(i, k int) int {
	if l.stack != nil {
		return l.stack.bytes
	}
	return len(l.made[k%2].payloads[i])
}

// tell lets the others see the last message of a worker.
func (l *Lockstep) tell(i int) {
	if l.workers[i].box == nil {
		return // it has made none
	}
	b := &l.workers[i].box.outbox
	if slot := b.sent - 1; slot >= 0 {
		sent, made := b.at(slot), &l.made[slot%2]
		made.payloads[i], made.notes[i] = sent.pieces[0], sent.Note
	}
}

// Gradient gives a worker its finite update direction at its model. The worker may use g until the round is over for
// it. Where messages overlap with gradients the worker mixes, too, and begins the next round.
func (l *Lockstep) Gradient(i int, g []float32) error {
	w := l.workers[i]
	w.phase, w.g = exchanging, g
	if w.plan.Overlap {
		return l.mix(i)
	}
	err := w.descend()
	if err == nil {
		err = w.tell()
	}
	l.tell(i)
	return err
}

// Mix lets a worker mix and begin the next round, unless Gradient has done that.
func (l *Lockstep) Mix(i int) error {
	if l.workers[i].plan.Overlap {
		return nil
	}
	return l.mix(i)
}

// mix mixes the messages of the neighbours of a worker where they are.
func (l *Lockstep) mix(i int) error {
	w := l.workers[i]
	x := w.mail().inbox.at(w.slot())
	made := &l.made[w.k%2]
	for j := range x.from {
		from := x.from[j].rank
		x.in[j].Payload = made.payloads[from]
		x.notes[0][j], x.notes[1][j] = uint32(made.notes[from]), uint32(made.notes[from]>>noteBits)
	}
	return l.use(i, x)
}

// use mixes the messages of an exchange, and ends the round. Messages that need their repair are kept for Repair.
func (l *Lockstep) use(i int, x *exchange) error {
	w := l.workers[i]
	saw, err := w.alg.mix(w.k, 0, 0, x.messages(0, w.guard.limit()))
	switch {
	case err == nil:
	case errors.As(err, &l.wrong[i]):
		w.g = slices.Clone(w.g) // its memory serves other workers
		return nil
	default:
		return w.fail(w.located(err))
	}
	for j := range x.in {
		x.in[j].Payload, x.in[j].Repair = nil, nil
	}
	x.saw[0] = x.saw[0].Join(saw)
	w.end()
	if w.plan.Overlap {
		if err := w.descend(); err != nil {
			return err
		}
	}
	err = w.next()
	quiet(w)
	if w.plan.Overlap && w.phase != done { // after the last round, others still read its message
		l.tell(i)
	}
	return err
}

// Behind reports whether a worker has recovered messages wrongly and has not ended its round.
func (l *Lockstep) Behind(i int) bool { return l.wrong[i] != nil }

// Repair lets a worker that is Behind have its repairs, and end its round. It tells the bytes of each request and of
// its repair. Only one worker at a time may have repairs.
func (l *Lockstep) Repair(i int, tell func(from topology.Rank, request, repair int)) error {
	w, wrong := l.workers[i], l.wrong[i]
	l.wrong[i] = nil
	x := w.mail().inbox.at(w.slot())
	for n, from := range wrong.From {
		j, asked := x.index(from), wrong.Asked(n)
		verify := l.workers[from].alg.lanes.at(0).verify
		if j < 0 || verify == nil || x.from[j].wrong[0] {
			return w.fail(w.located(wrong))
		}
		repair, ok := verify.AppendRepair([]byte{}, w.k, 0, asked)
		if !ok {
			return w.fail(w.located(fmt.Errorf("internal error: no repair: %w", wrong)))
		}
		x.from[j].wrong[0], x.in[j].Repair = true, repair
		w.repair.Violations++
		tell(from, len(asked), len(repair))
	}
	return l.use(i, x)
}

// Leave gives the workers back, each at the beginning of the round that it has begun. Its message is sent as a frame.
func (l *Lockstep) Leave() error {
	err := l.Unstack()
	for _, w := range l.workers {
		if w.phase == computing && w.plan.Overlap {
			w.mail().ready[0].send = w.mail().outbox.appendLast(w.mail().ready[0].send)
		}
	}
	return err
}
