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

// A checkpoint takes the state of a machine at a boundary, before the machine begins a round. No gradient is
// outstanding, and the worker has sent nothing of the round. The worker has all messages of earlier rounds, but a
// neighbour may not. So the state holds the last Lead messages and their repairs, but see Lockstep.Show. A
// neighbour that returns to an older boundary may need more, which the layers above keep. The state holds no message of
// a later round: its sender still has it.

// Resume is NewScheduled for a worker that begins at the boundary at which s was saved, by the name machine. It fails
// if s is not the state of such a worker.
func Resume(self topology.Rank, rows topology.Sequence, alg Algorithm, schedule Schedule, s *state.Snapshot) (*Worker,
	error) {
	w, err := newWorker(self, rows, alg, schedule)
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

// AtBoundary makes the worker call hook before it begins a round k > 0, and after the last one with k = rounds. The
// hook may only look at the state.
func (w *Worker) AtBoundary(hook func(k int)) { w.boundary.hook = hook }

// State shows the model, the state of algorithm, codec and choice of bits, and the messages that neighbours may lack.
func (w *Worker) State(v *state.Visit) {
	state.Int(v, "round", &w.k, 0, w.schedule.Rounds)
	v.Floats("x", w.alg.Params())
	v.Part("algorithm", w.alg.Algorithm)
	for _, l := range w.alg.lanes {
		v.Part(l.name, l.codec)
	}
	if w.schedule.Agreed != nil {
		v.Part("agreement", w.schedule.Agreed)
	}
	state.Int(v, "violations", &w.repair.Violations, 0, math.MaxInt64)
	state.Int(v, "repaired", &w.repair.Repaired, 0, math.MaxInt64)
	v.Part("guard", &w.guard)
	v.Part("mixed", (*observed)(&w.mixed))
	if v.Loading() {
		w.first = w.k
	}
	if v.Has("sent1.note") || !v.Loading() && w.box != nil {
		lately(w, v)
	}
}

// lately shows the messages that neighbours may lack. There are none where all workers have mixed them.
func lately(w *Worker, v *state.Visit) {
	b := &w.mail().outbox
	if v.Loading() {
		b.first = max(0, b.sent-w.plan.Lead)
	}
	for slot := max(0, b.sent-w.plan.Lead); slot < b.sent; slot++ {
		f := b.at(slot)
		f.From, f.Round, f.Hop = w.self, roundOf(w, slot), slot%w.plan.Hops
		b.address(slot)
		name := "sent" + strconv.Itoa(b.sent-slot)
		state.Int(v, name+".note", &f.Note, 0, math.MaxUint64)
		v.Bytes(name, &f.pieces[0])
		for i := range f.pieces[1:] {
			v.Bytes(name+"."+strconv.Itoa(i+1), &f.pieces[i+1])
		}
	}
}

// observed are the observations of the last mixing that records show.
type observed algos.Mixed

// State shows the gap and the number of coordinates that moved.
func (o *observed) State(v *state.Visit) {
	gap := float64(o.Gap)
	v.Double("gap", &gap)
	o.Gap = float32(gap)
	state.Int(v, "moved", &o.Moved, 0, math.MaxInt)
}

// roundOf returns the round of an exchange.
func roundOf(w *Worker, slot int) int {
	return slot/w.plan.Hops*w.schedule.Every + w.schedule.Every - 1
}

// ResumePair is NewPair for a worker that begins at the step before which s was saved, by the name machine. It fails if
// s is not the state of such a worker. Exchanges that were open then are over: Renew tells the neighbours. They go on
// if
// s has them by the name of Exchanges.
func ResumePair(self topology.Rank, row topology.Row, alg *algos.ADPSGD, plan PairPlan, s *state.Snapshot) (*PairWorker,
	error) {
	w, err := newPair(self, row, alg, plan)
	if err != nil {
		return nil, err
	}
	err = s.Load("machine", w)
	if err == nil && s.Has(Exchanges) {
		err = s.Load(Exchanges, w.Exchanges())
	}
	if err != nil {
		return nil, fmt.Errorf("gossip: worker %d: %w", self, err)
	}
	w.begin()
	if err := w.advance(); err != nil {
		return nil, err
	}
	return w, nil
}

// AtBoundary makes the worker call hook before it begins step k > 0. The hook may only look at the state.
func (w *PairWorker) AtBoundary(hook func(k int)) { w.boundary = hook }

// State shows the model, the known step counts of all workers, and the state of the control of theta.
func (w *PairWorker) State(v *state.Visit) {
	state.Int(v, "round", &w.step, 0, math.MaxInt)
	v.Floats("x", w.alg.X)
	v.Counts("steps", w.steps.steps)
	w.steps.add()
	state.Int(v, "attempts", &w.attempts, 0, math.MaxInt)
	v.Part("codec", w.Codec())
	state.Int(v, "violations", &w.repair.Violations, 0, math.MaxInt64)
	state.Int(v, "repaired", &w.repair.Repaired, 0, math.MaxInt64)
	v.Part("guard", &w.guard)
}

// State shows the choice of bits and the losses that the next choice needs. It leaves out values that the next round
// sets. Times continue: a driver begins at 0 again.
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

// A Renewer must learn that a neighbour's process has changed. The new link calls it before Link says that it is up.
type Renewer interface {
	// Renew forgets the open exchanges with peer, whose new process does not know them.
	Renew(peer topology.Rank)
}

// Renew ends the open exchanges with peer without an average. If peer has used its half before it stopped, the mean of
// the models moves by that half. Both ends number their exchanges from the beginning again.
func (w *PairWorker) Renew(peer topology.Rank) {
	p := w.peer(peer)
	if p == nil {
		return
	}
	w.forget(p)
	state := p.state
	*p = newPairPeer(w.self, peer, p.codec) // with memory of its own: the driver may still read the old one
	p.state = state
	_ = w.advance() // the next call returns the error that stops the machine
}

// forget ends the open exchanges with p on this side.
func (w *PairWorker) forget(p *pairPeer) {
	for _, t := range []*trade{&p.mine, &p.theirs} {
		w.drop(&t.received)
		*t = trade{}
	}
	p.asked, p.held = false, false
	if w.partner == p {
		w.stop(seeking)
	}
	if w.serving == p {
		w.serving = nil
	}
}
