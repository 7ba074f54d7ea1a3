package gossip

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// The state of a machine is taken at a boundary, before it begins a round: no
// gradient is outstanding, and nothing of the round has been sent. Of the rounds
// before it has all that it needs, but a neighbour that runs on may not: the last
// Lead messages and their repairs are kept for it. A neighbour that goes back to
// a boundary of its own may lack more, which is for drivers to keep. Messages that
// were received for later rounds are not kept. Whoever sent them has them still.

// Resume is NewScheduled for a worker that begins at the boundary at which s was
// saved, by the name machine. It fails if s is not that of such a worker.
func Resume(self topology.Rank, row topology.Row, alg Algorithm, schedule Schedule, s *state.Snapshot) (*Worker,
	error) {
	w, err := newWorker(self, row, alg, schedule)
	if err != nil {
		return nil, err
	}
	if err := s.Load("machine", w); err != nil {
		return nil, fmt.Errorf("gossip: worker %d: %w", self, err)
	}
	if err := w.begin(); err != nil {
		return nil, err
	}
	return w, nil
}

// AtBoundary makes the worker call hook before it begins a round k > 0, and after
// the last one with k = rounds. What hook may do is to look at the state.
func (w *Worker) AtBoundary(hook func(k int)) { w.boundary = hook }

// State shows the model, what the algorithm, the codec and the choice of bits
// carry, and the messages that neighbours may lack.
func (w *Worker) State(v *state.Visit) {
	state.Int(v, "round", &w.k, 0, w.schedule.Rounds)
	v.Floats("x", w.alg.Params())
	v.Part("algorithm", w.alg)
	for _, l := range w.lanes {
		v.Part(l.name, l.codec)
	}
	if w.schedule.Agreed != nil {
		v.Part("agreement", w.schedule.Agreed)
	}
	state.Int(v, "violations", &w.repair.Violations, 0, math.MaxInt64)
	state.Int(v, "repaired", &w.repair.Repaired, 0, math.MaxInt64)
	v.Part("guard", &w.guard)
	if v.Loading() {
		w.outbox.sent = w.slot()
		w.outbox.first = max(0, w.outbox.sent-w.plan.Lead)
	}
	for slot := max(0, w.outbox.sent-w.plan.Lead); slot < w.outbox.sent; slot++ {
		f := w.outbox.at(slot)
		f.From, f.Round, f.Hop = w.self, w.roundOf(slot), slot%w.plan.Hops
		name := "sent" + strconv.Itoa(w.outbox.sent-slot)
		state.Int(v, name+".note", &f.Note, 0, math.MaxUint64)
		v.Bytes(name, &f.Payload)
	}
}

// roundOf returns the round of an exchange.
func (w *Worker) roundOf(slot int) int {
	return slot/w.plan.Hops*w.schedule.Every + w.schedule.Every - 1
}

// ResumePair is NewPair for a worker that begins at the step before which s was
// saved, by the name machine. It fails if s is not that of such a worker.
// Exchanges that were open then are over: its neighbours are told by Renew.
func ResumePair(self topology.Rank, row topology.Row, alg *algos.ADPSGD, plan PairPlan, s *state.Snapshot) (*PairWorker,
	error) {
	w, err := newPair(self, row, alg, plan)
	if err != nil {
		return nil, err
	}
	if err := s.Load("machine", w); err != nil {
		return nil, fmt.Errorf("gossip: worker %d: %w", self, err)
	}
	w.begin()
	if err := w.advance(); err != nil {
		return nil, err
	}
	return w, nil
}

// AtBoundary makes the worker call hook before it begins step k > 0. What hook
// may do is to look at the state.
func (w *PairWorker) AtBoundary(hook func(k int)) { w.boundary = hook }

// State shows the model, the steps that everybody is known to have done, and
// what the control of theta has learnt.
func (w *PairWorker) State(v *state.Visit) {
	state.Int(v, "round", &w.step, 0, math.MaxInt)
	v.Floats("x", w.alg.X)
	v.Counts("steps", w.steps.steps)
	w.steps.total = 0
	for _, n := range w.steps.steps {
		w.steps.total += int(n)
	}
	state.Int(v, "attempts", &w.attempts, 0, math.MaxInt)
	v.Part("codec", w.Codec())
	state.Int(v, "violations", &w.repair.Violations, 0, math.MaxInt64)
	state.Int(v, "repaired", &w.repair.Repaired, 0, math.MaxInt64)
	v.Part("guard", &w.guard)
}

// State shows the choice of bits, and of the losses that it looks at all but what
// the next round brings. Times go on where they were: a driver begins at 0 anew.
func (a *Agreement) State(v *state.Visit) {
	low, high := a.plan.Low, a.plan.High
	state.Int(v, "before", &a.before, low, high)
	state.Int(v, "after", &a.after, low, high)
	state.Int(v, "from", &a.from, 0, math.MaxInt)
	state.Int(v, "told", &a.told, 0, uint8(high))
	state.Int(v, "total", &a.total, 0, math.MaxInt64)
	state.Int(v, "rounds", &a.rounds, 0, math.MaxInt64)
	v.Double("loss", &a.loss)
	v.Double("last", &a.last)
	v.List("losses", &a.losses, a.plan.Window)
	if a.choose == nil {
		return
	}
	elapsed := a.now - a.began
	state.Int(v, "elapsed", &elapsed, math.MinInt64, math.MaxInt64)
	if v.Loading() {
		a.began, a.now = -elapsed, time.Duration(0)
	}
	v.Part("chooser", a.choose)
}

// A Renewer is a machine that has to be told when the process of a neighbour is
// another one than before, on its new link and before Link says that it is up.
type Renewer interface {
	// Renew forgets what was open with peer, which knows nothing of it.
	Renew(peer topology.Rank)
}

// Renew ends what was open with peer without an exchange, even where peer has
// used its half before it stopped: the mean of the models then moves by that
// half. Both ends number their exchanges from the beginning.
func (w *PairWorker) Renew(peer topology.Rank) {
	p := w.peer(peer)
	if p == nil {
		return
	}
	w.drop(&p.held)
	if p.doubt != nil {
		w.drop(&p.doubt.reply)
	}
	if w.partner == p {
		w.drop(&w.offer.reply)
		w.offer = offer{} // the driver may still read the old one: its memory is given away
		w.stop(seeking)
	}
	state := p.state
	*p = newPairPeer(w.self, peer, p.codec)
	p.state = state
	_ = w.advance() // the next call returns the error that stops the machine
}
