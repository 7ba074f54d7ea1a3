package gossip

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A run may go on with other members: some join, some leave, some are dead. Each member then gets a machine for the new
// graph, which begins with the state of the member, or of its sponsor. Messages of the old graph are not carried over.

// A Restarter is an algorithm that can go on with other members.
type Restarter interface {
	// Restart forgets what belongs to other members than those of the next exchange. It comes before the first round of
	// a view, and keeps the model. A clone has the state of its sponsor; it also forgets what that one owes.
	Restart(of algos.Origin)
}

// An Entrance says how a worker begins in the middle of a run.
type Entrance struct {
	Round   int             // the first round, at the beginning of an exchange
	State   *state.Snapshot // as Baggage shows it, by the name of BaggageName
	Clone   bool            // the state is that of the sponsor
	Restart bool            // the members have changed
}

// BaggageName is the name of a worker's baggage in a snapshot.
const BaggageName = "baggage"

// Enter is NewScheduled for a worker that begins in the middle of a run with the state of another machine. It fails if
// that is not the state of such a worker, or if the algorithm cannot restart.
func Enter(self topology.Rank, rows topology.Sequence, alg Algorithm, schedule Schedule, e Entrance) (*Worker, error) {
	w, err := newWorker(self, rows, alg, schedule)
	if err != nil {
		return nil, err
	}
	if e.Round < 0 || e.Round > schedule.Rounds || e.Round%schedule.Every != 0 {
		return nil, fmt.Errorf("gossip: worker %d: enter in round %d of %d: must be the first round of an exchange", self,
			e.Round, schedule.Rounds)
	}
	r, ok := alg.(Restarter)
	if e.Restart && !ok {
		return nil, fmt.Errorf("gossip: worker %d round %d: the algorithm cannot go on with other members", self, e.Round)
	}
	if err := e.State.Load(BaggageName, Baggage(w)); err != nil {
		return nil, fmt.Errorf("gossip: worker %d round %d: %w", self, e.Round, err)
	}
	if e.Clone {
		w.repair = Repairs{Verified: w.repair.Verified}
	}
	if e.Restart {
		of := algos.Kept
		if e.Clone {
			of = algos.Cloned
		}
		r.Restart(of)
	}
	w.k = e.Round
	w.mail().outbox.sent = w.slot()
	w.mail().outbox.first = w.mail().outbox.sent
	w.mail().inbox.begin(w.slot())
	if err := w.begin(); err != nil {
		return nil, err
	}
	return w, nil
}

// Baggage shows what a worker carries into the next graph: the model, the state of its algorithm, its counts and the
// largest magnitudes that it saw. Save it at a boundary or when the worker is done.
func Baggage(w *Worker) state.Keeper { return baggage{w} }

type baggage struct{ w *Worker }

// State shows the parts.
func (b baggage) State(v *state.Visit) {
	w := b.w
	v.Floats("x", w.alg.Params())
	v.Part("algorithm", w.alg.Algorithm)
	state.Int(v, "violations", &w.repair.Violations, 0, math.MaxInt64)
	state.Int(v, "repaired", &w.repair.Repaired, 0, math.MaxInt64)
	v.Part("guard", &w.guard)
	v.Part("mixed", (*observed)(&w.mixed))
}

// Gate keeps a worker from beginning a round, and all later ones, until another gate. A worker that has finished the
// round before it holds still.
func Gate(w *Worker, round int) error {
	w.gate = round
	if w.failed == nil && w.phase == holding && w.k < round {
		return w.cross()
	}
	return w.failed
}

// Standing returns the first round that the worker has not finished, and whether it has begun it.
func Standing(w *Worker) (round int, begun bool) {
	return w.k, w.phase == computing || w.phase == exchanging
}

// Reroute takes the rows of the exchange in progress and of later ones again, because they name fewer neighbours now.
// The worker must wait for whole exchanges, see Elastic.
func Reroute(w *Worker) error {
	if w.failed != nil {
		return w.failed
	}
	for slot := w.slot(); slot < w.slot()+w.mail().inbox.slots; slot++ {
		x := w.mail().inbox.at(slot)
		if x.left < w.alg.pieces {
			return w.fail(w.located(fmt.Errorf("%d of %d pieces are mixed, and a neighbour is gone: call Whole before the "+
				"first frame", w.alg.pieces-x.left, w.alg.pieces)))
		}
		old := *x
		*x = w.mail().inbox.laidOut(slot)
		w.mail().ready[0].spent = w.mail().inbox.move(&old, x, slot, w.mail().ready[0].spent)
	}
	return w.exchange(0, w.alg.pieces)
}

// A Scaler is a codec with a scale that all workers choose while the run goes on.
type Scaler interface {
	// Scale returns that of exchange x, and whether this worker knows it. It is 0, and known, where nothing is chosen.
	Scale(x int) (scale float64, known bool)
}

// A Choice has the values that all workers choose for an exchange while the run goes on: the scale of each lane, and
// bits. A value that is not chosen is 0.
type Choice struct {
	Scales [mostLanes]float64
	Bits   int
}

// Chosen returns the choice of exchange x, and whether the worker knows it.
func Chosen(w *Worker, x int) (c Choice, known bool) {
	known = true
	for i, l := range w.alg.lanes {
		if s, ok := l.codec.(Scaler); ok && i < mostLanes {
			scale, knows := s.Scale(x)
			c.Scales[i], known = scale, known && knows
		}
	}
	if w.schedule.Agreed != nil {
		bits, knows := w.schedule.Agreed.at(x)
		c.Bits, known = bits, known && knows
	}
	return c, known
}

// Torn reports whether the worker has recovered a message of a neighbour in the exchange in progress wrongly, and lacks
// the repair.
func Torn(w *Worker, peer topology.Rank) bool {
	if w.failed != nil || w.phase == done {
		return false
	}
	for piece := range w.alg.pieces {
		if w.mail().inbox.lacks(w.slot(), piece, peer) {
			return true
		}
	}
	return false
}

// AskAgain asks for the repairs again that a neighbour has not sent.
func AskAgain(w *Worker, peer topology.Rank) {
	for piece := range w.alg.pieces {
		if w.failed == nil && w.phase != done && w.mail().inbox.lacks(w.slot(), piece, peer) {
			w.ask(peer, piece, nil)
		}
	}
}

// Answer returns the repair that a request asks for, if the codec still knows it. A request may come again, and from a
// worker that is further behind than Receive allows.
func Answer(w *Worker, f Frame) (Frame, bool) {
	if f.Hop < 0 || f.Hop >= w.plan.Hops || f.Piece < 0 || f.Piece >= w.alg.pieces {
		return Frame{}, false
	}
	lane, piece := w.boundary.rule(f.Round, &w.alg).lane(f.Hop, f.Piece)
	if lane.verify == nil {
		return Frame{}, false
	}
	repair, ok := lane.verify.AppendRepair(nil, f.Round, piece, f.Payload)
	return Frame{
		From: w.self, To: f.From, Kind: Repair, Round: f.Round, Hop: f.Hop, Piece: f.Piece, Payload: repair,
	}, ok
}

// A Replica is the algorithm of workers whose models are equal after each exchange.
type Replica interface {
	// Settle ends round k at a worker that has sent all its messages and has not mixed those of hop. It keeps the
	// error that the worker owes.
	Settle(k, hop int) error
	// Shared shows the variables beside the model that are equal at all workers after an exchange.
	Shared(v *state.Visit)
}

// Conclude ends the exchange in progress of a worker that has sent all its messages, with the baggage of another worker
// at the beginning of the next one. It returns the baggage of the worker there, which must not be used any more. It
// fails if the workers are no replicas.
func Conclude(w *Worker, of *state.Snapshot) (*state.Snapshot, error) {
	r, ok := w.alg.Algorithm.(Replica)
	if !ok || w.failed != nil {
		return nil, fmt.Errorf("gossip: worker %d: no other worker has its model", w.self)
	}
	if err := r.Settle(w.k, w.hop); err != nil {
		return nil, w.located(err)
	}
	var names, shared state.Snapshot
	names.Save(BaggageName, replica{w, r})
	for _, n := range names.Tensors {
		for _, t := range of.Tensors {
			if t.Name == n.Name {
				shared.Tensors = append(shared.Tensors, t)
			}
		}
	}
	if err := shared.Load(BaggageName, replica{w, r}); err != nil {
		return nil, w.located(err)
	}
	own := new(state.Snapshot)
	own.Save(BaggageName, Baggage(w))
	return own, nil
}

// A replica is the part of a worker's baggage that all workers have alike.
type replica struct {
	w *Worker
	r Replica
}

// State shows the parts.
func (p replica) State(v *state.Visit) {
	v.Floats("x", p.w.alg.Params())
	v.Part("algorithm", sharing{p.r})
}

type sharing struct{ r Replica }

// State shows the shared variables.
func (s sharing) State(v *state.Visit) { s.r.Shared(v) }
