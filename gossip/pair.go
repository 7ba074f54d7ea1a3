package gossip

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// A PairWorker is the machine of asynchronous pairwise averaging (AD-PSGD). It
// knows no round of the others: each of its steps takes one gradient and offers
// one exchange to a random neighbour at the same time, and it answers the
// offers of others whenever they come.
//
//	i                                  j
//	offer:  snapshot z = x_i     ──►   reply x_j,  x_j += ½(ẑ − x̂_j)
//	x_i += ½(x̂_j − ẑ)            ◄──
//
// A worker takes part in one exchange at a time, so that each is the plain
// average of two models but for gradient steps. While its own offer is open,
// it holds an offer from a worker of higher rank until its own has ended, and
// declines one from a lower rank. A declined worker offers to another
// neighbour at once; when all have declined, the step ends without.
//
// Why every offer ends and nobody waits in a circle: an offer is answered or
// declined when it arrives unless it is held. A holder has a lower rank than
// the worker it keeps waiting, so a chain of workers that wait for holders
// falls in rank and ends at an offer that is not held. And exchanges happen
// however much workers contend: of those with an open offer the highest rank is
// declined by nobody.
//
// What a lost link does: an offer whose link breaks is in doubt, and the worker
// goes on with another neighbour. On the next link it asks what has become of
// that offer. The other end keeps its last reply to each neighbour: it sends it
// again, or declines the offer for good if it never came. So in the end both
// have used an exchange or neither, and the sum of the models is that of the
// gradients. A reply that comes late still counts half of the old difference,
// on both sides.
//
// What a wrong message does: an offer that was recovered wrongly counts as not
// yet arrived until its repair is there, so nobody waits for anybody because of
// it. It is then answered with the model as it is by then. A reply keeps its
// exchange open until it is certain. Either way the offer or the reply is asked
// for, and the other end has it repaired at once, whatever it is doing.
//
// When it ends: messages carry how many steps each worker is known to have
// done. The workers share a budget of Workers·Rounds steps; a fast one does
// more of them. Who knows the budget to be spent tells its neighbours that it
// has finished and serves them until they have too.
type PairWorker struct {
	self  topology.Rank
	alg   *algos.ADPSGD
	plan  PairPlan
	peers []pairPeer // in increasing rank
	pairStep
	pairEnd

	offer    offer       // to partner while it is open
	partner  *pairPeer   // nil while no offer is open
	scratch  []byte      // for the next reply
	mixed    algos.Mixed // of the last exchange
	guard    guard
	repair   Repairs
	failed   error       // why the machine has stopped for good
	boundary func(k int) // called before step k; may be nil
	ready    [2]work     // work[0] collects, the driver holds work[1]
}

// A pairStep is the step that a worker is in.
type pairStep struct {
	step      int       // steps finished
	clock     int       // steps per worker that were known when this step began
	attempts  int       // offers made
	computing bool      // the gradient of this step is outstanding
	asked     bool      // Ready has asked for it
	exchanged bool      // the exchange of this step is over
	point     []float32 // where the gradient is taken
	snapshot  []float32 // the model when it was last captured, nil if given away
	moved     bool      // the model differs from it
}

// A pairEnd is how near the end of the run is.
type pairEnd struct {
	steps    census // of all workers, as far as known
	held     bool   // no further step may begin
	finished bool   // the budget is spent, or the run over
	told     bool   // the neighbours have been told so
}

var _ Machine = (*PairWorker)(nil)

// A PairPlan is what all workers of a pairwise run agree on.
type PairPlan struct {
	Workers int    // n ≥ 1
	Rounds  int    // steps per worker ≥ 0, on average
	Seed    uint64 // of the choice of neighbours
}

// The messages of an exchange, as Frame.Hop; Frame.Round is its number. A Request
// or a Repair has those of the message that it is about. Each end numbers the
// exchanges that it offers: the lower rank 0, 2, 4, ..., the higher 1, 3, 5, ...
const (
	hopOffer    = iota // the model and the census
	hopReply           // the model and the census
	hopDecline         // there is no such exchange
	hopQuery           // what has become of this offer?
	hopFinished        // the census: no offer or query will follow
	pairHops
)

// NewPair returns the machine of worker self, whose neighbours are row.Out, at
// the beginning of its first step. Until Link says otherwise all of them can be
// reached.
func NewPair(self topology.Rank, row topology.Row, alg *algos.ADPSGD, plan PairPlan) (*PairWorker, error) {
	w, err := newPair(self, row, alg, plan)
	if err != nil {
		return nil, err
	}
	w.begin()
	if err := w.advance(); err != nil {
		return nil, err
	}
	return w, nil
}

// newPair returns a worker that has not begun its first step.
func newPair(self topology.Rank, row topology.Row, alg *algos.ADPSGD, plan PairPlan) (*PairWorker, error) {
	if plan.Rounds < 0 || self < 0 || int(self) >= plan.Workers {
		return nil, fmt.Errorf("gossip: worker %d of %d, %d rounds: need a rank below the number of workers and at least "+
			"0 rounds",
			self, plan.Workers, plan.Rounds)
	}
	w := &PairWorker{self: self, alg: alg, plan: plan, pairEnd: pairEnd{steps: newCensus(plan.Workers)}}
	for _, rank := range row.Out {
		w.peers = append(w.peers, newPairPeer(self, rank, alg.Codec(rank)))
	}
	return w, nil
}

// Ready returns what has to be done since the last call. Frames, spent
// payloads and the request for a gradient are named once.
func (w *PairWorker) Ready() Ready {
	w.ready[0], w.ready[1] = w.ready[1], w.ready[0]
	next, now := &w.ready[0], &w.ready[1]
	clear(next.send) // frames sent again have payloads of their own: let go of them
	next.send, next.spent = next.send[:0], next.spent[:0]
	r := Ready{Send: now.send, Spent: now.spent, Round: w.step}
	switch {
	case w.failed != nil:
	case w.computing && !w.asked:
		w.asked = true
		r.Compute, r.At = true, w.point
	case !w.computing:
		now.waiting = w.appendAwaited(now.waiting[:0])
		r.Waiting = now.waiting
		r.Done = w.told && len(r.Waiting) == 0
	}
	return r
}

// Gradient takes the update direction asked for, as long as the model and
// finite, and applies it to the model as it is by now. A gradient that is
// refused changes nothing. Neither loss nor time counts.
func (w *PairWorker) Gradient(g []float32, _ float32, _ time.Duration) error {
	switch {
	case w.failed != nil:
		return w.failed
	case !w.computing || !w.asked:
		return fmt.Errorf("gossip: worker %d step %d: gradient: not asked for", w.self, w.step)
	case len(g) != len(w.alg.X):
		return fmt.Errorf("gossip: worker %d step %d: gradient: %d coordinates, want %d", w.self, w.step, len(g),
			len(w.alg.X))
	case !vec.Finite(g):
		return fmt.Errorf("gossip: worker %d step %d: gradient: holds NaN or Inf", w.self, w.step)
	}
	w.alg.Descend(w.clock, g)
	w.moved, w.computing = true, false
	w.steps.count(w.self)
	return w.advance()
}

// Receive deals with f at once, or holds it until the own offer has ended.
func (w *PairWorker) Receive(f Frame) error {
	if w.failed != nil {
		return w.failed
	}
	p, err := w.admit(f)
	if err != nil {
		return fmt.Errorf("%w: worker %d at step %d: message %d of exchange %d from worker %d to %d",
			err, w.self, w.step, f.Hop, f.Round, f.From, f.To)
	}
	if err = w.accept(p, f); w.failed != nil {
		return w.failed
	}
	return errors.Join(err, w.advance())
}

// Link notes whether peer can be reached. An offer that was open is in doubt
// either way, and up asks for its end.
func (w *PairWorker) Link(peer topology.Rank, up bool) {
	p := w.peer(peer)
	if p == nil {
		return
	}
	p.up, p.granted = up, false
	if p.held.there { // its sender asks for it, too
		w.dispose(p)
	}
	if w.partner == p {
		p.doubt, w.offer = w.offer, offer{}
		w.partner, w.snapshot = nil, nil
	}
	switch {
	case !up || !p.doubt.open:
	case p.doubt.reply.lacks:
		w.ask(p, &p.doubt.reply)
	default:
		w.send(p, hopQuery, p.doubt.number, nil)
	}
	if up && w.told {
		w.send(p, hopFinished, 0, w.steps.append(nil))
	}
	_ = w.advance() // what stops the machine, the next call returns
}

// Params returns the current model, which exchanges change at any time.
func (w *PairWorker) Params() []float32 { return w.alg.X }

// Mixed returns what the last exchange saw.
func (w *PairWorker) Mixed() algos.Mixed { return w.mixed }

// Codec returns the codec of one link, nil without a neighbour.
func (w *PairWorker) Codec() algos.Codec {
	if len(w.peers) == 0 {
		return nil
	}
	return w.peers[0].codec
}

// ExtraMemory returns the bytes of the snapshot, of those kept for offers in
// doubt, of the payloads kept beyond the two of D-PSGD, and of verification.
func (w *PairWorker) ExtraMemory() int {
	vectors, payloads, largest, verification := 1, cap(w.offer.payload)+cap(w.scratch), cap(w.offer.payload), 0
	for i := range w.peers {
		p := &w.peers[i]
		payloads += cap(p.reply) + cap(p.doubt.payload)
		if p.doubt.open {
			vectors++
		}
		if p.verify != nil {
			verification += p.verify.ExtraMemory()
		}
	}
	return 4*vectors*len(w.alg.X) + max(0, payloads-2*largest) + verification
}

// appendAwaited appends the neighbours without whom this worker cannot go on.
func (w *PairWorker) appendAwaited(dst []topology.Rank) []topology.Rank {
	for i := range w.peers {
		p := &w.peers[i]
		var awaited bool
		switch {
		case w.told:
			awaited = !p.finished
		case w.partner != nil:
			awaited = p == w.partner
		default:
			awaited = p.doubt.open || !p.up && !p.gone
		}
		if awaited {
			dst = append(dst, p.rank)
		}
	}
	return dst
}
