package gossip

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// A PairWorker is the machine of asynchronous pairwise averaging (AD-PSGD, Lian et
// al., 2018). It shares no rounds with other workers. Each of its steps takes one
// gradient and, at the same time, asks a random neighbour for one exchange. It serves
// the neighbours that ask it.
//
//	i                                  j
//	ask                          ──►
//	                             ◄──   agree, reply x_j
//	offer x_i                    ──►   x_j += ½(x̂_i − x̂_j)
//	x_i += ½(x̂_j − x̂_i)
//
// A question and its answer have no payload. So models travel only where both ends
// want them, and they travel both ways at once. x̂ are the models as they were sent;
// gradient steps in between are kept.
//
// A worker takes part in one exchange at a time, so each is the plain average of two
// models, except for gradient steps. While its own question is open, the worker holds
// a question from a higher rank and declines one from a lower rank. While models
// travel, it holds all questions. A declined worker asks another neighbour at once.
// When all have declined, the step ends without an exchange. The tables of
// exchangeState, gradientState, pairEnd, pairPeer and trade list the states.
//
// Every question ends, and no workers wait in a circle: an exchange that both ends
// want needs nothing but its two models. A worker whose own question is open holds
// only those from higher ranks. So ranks fall along a chain of workers that wait for
// holders, and the chain ends at a question that is not held. Exchanges happen under
// any contention: among workers with an open question, no worker declines the
// highest rank. Questions are served in the order in which they came. A worker that has
// served a neighbour asks its own question before it serves another one.
//
// A lost link: an exchange whose link breaks is in doubt, and the worker goes on with
// another neighbour. On the next link each end asks for what it lacks: the answer to
// its question, or the model. Each end keeps the last model that it has sent in
// exchanges of either end, until the next such exchange. If the question never arrived, the
// other end declines it for good. So in the end both have used an exchange or neither,
// and the sum of the models moves only by the gradients. A late model still counts half
// of the old difference, on both sides.
//
// A wrong message: a model that was recovered wrongly keeps its exchange open until it
// is certain. The receiver asks for the repair, and the sender sends it at once.
//
// The end: models travel with the number of steps that each worker is known to have
// done. The workers share a budget of Workers·Rounds steps; a fast worker does more of
// them. A worker that knows the budget to be spent ends its exchanges, tells its
// neighbours that it has finished, and then only repeats what they lack.
type PairWorker struct {
	self  topology.Rank
	alg   *algos.ADPSGD
	plan  PairPlan
	peers []pairPeer // in increasing rank
	pairStep
	steps census // of all workers, as far as known
	end   pairEnd

	spare    []float32   // memory of an exchange that has ended, nil if there is none
	mixed    algos.Mixed // of the last exchange
	guard    guard
	repair   Repairs
	failed   error       // why the machine has stopped for good
	boundary func(k int) // called before step k; may be nil
	ready    [2]work     // work[0] collects, the driver holds work[1]
}

var _ Machine = (*PairWorker)(nil)

// A PairPlan has the settings that all workers of a pairwise run share.
type PairPlan struct {
	Workers int    // n ≥ 1
	Rounds  int    // steps per worker ≥ 0, on average
	Seed    uint64 // of the choice of neighbours
	// Serve lets a worker that has ended agree to questions as before: others may have steps left where members come and
	// go.
	Serve bool
}

// The messages of an exchange are told apart by Frame.Hop; Frame.Round is the number
// of the exchange. A Request or a Repair has the hop and the number of its message.
// Each end numbers the exchanges for which it asks: the lower rank 0, 2, 4, ..., the
// higher rank 1, 3, 5, ...
const (
	hopAsk      = iota // for an exchange
	hopAgree           // to an exchange: a reply follows
	hopDecline         // there is no such exchange
	hopQuery           // the sender lacks the answer, or the model, of this exchange
	hopFinished        // the census; no question or query follows
	hopOffer           // the model of the end that has asked, and the census
	hopReply           // the model of the other end, and the census
	pairHops
)

// NewPair returns the machine of worker self at the beginning of its first step. Its
// neighbours are row.Out; all of them can be reached until Link says otherwise.
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
	w := &PairWorker{self: self, alg: alg, plan: plan, steps: newCensus(plan.Workers, int(self))}
	w.point = make([]float32, len(alg.X))
	for _, rank := range row.Out {
		w.peers = append(w.peers, newPairPeer(self, rank, alg.Codec(rank)))
	}
	return w, nil
}

// Ready returns the work that has come up since the last call. It names each frame,
// each spent payload and each request for a gradient once.
func (w *PairWorker) Ready() Ready {
	w.ready[0], w.ready[1] = w.ready[1], w.ready[0]
	next, now := &w.ready[0], &w.ready[1]
	clear(next.send) // frames sent again have payloads of their own: let go of them
	next.send, next.spent = next.send[:0], next.spent[:0]
	r := Ready{Send: now.send, Spent: now.spent, Round: w.step}
	switch {
	case w.failed != nil:
	case w.gradient == wanted:
		w.gradient = asked
		r.Compute, r.At = true, w.point
	case w.gradient == applied:
		now.waiting = w.appendAwaited(now.waiting[:0])
		r.Waiting = now.waiting
		r.Done = w.end == told && len(r.Waiting) == 0
	}
	return r
}

// Gradient applies the update direction g to the present model. g must be finite and
// as long as the model; a refused gradient changes nothing. Loss and time are not used.
func (w *PairWorker) Gradient(g []float32, _ float32, _ time.Duration) error {
	switch {
	case w.failed != nil:
		return w.failed
	case w.gradient != asked:
		return fmt.Errorf("gossip: worker %d step %d: gradient: not asked for: call Ready first", w.self, w.step)
	case len(g) != len(w.alg.X):
		return fmt.Errorf("gossip: worker %d step %d: gradient: %d coordinates, want %d", w.self, w.step, len(g),
			len(w.alg.X))
	case !vec.Finite(g):
		return fmt.Errorf("gossip: worker %d step %d: gradient: holds NaN or Inf", w.self, w.step)
	}
	w.alg.Descend(w.clock, g)
	w.gradient = applied
	w.steps.count()
	return w.advance()
}

// Receive uses f at once, or holds a question until this worker is free.
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

// Link notes whether peer can be reached. An open exchange with peer is in doubt in both
// cases; on a new link the worker asks for what it lacks.
func (w *PairWorker) Link(peer topology.Rank, up bool) {
	p := w.peer(peer)
	if p == nil {
		return
	}
	p.relink(up)
	if w.partner == p {
		w.stop(seeking)
	}
	if w.serving == p {
		w.serving = nil
	}
	if up {
		w.inquire(p)
	}
	_ = w.advance() // the next call returns the error that stops the machine
}

// inquire asks on a new link for all that this worker lacks, and says again that it has finished.
func (w *PairWorker) inquire(p *pairPeer) {
	if p.asked {
		w.send(p, hopQuery, p.question(), nil)
	}
	for _, t := range []*trade{&p.mine, &p.theirs} {
		switch {
		case t.state != lacking:
		case t.received.state == mistaken:
			w.ask(p, &t.received)
		default:
			w.send(p, hopQuery, t.number, nil)
		}
	}
	if w.end == told {
		w.send(p, hopFinished, 0, w.steps.append(nil))
	}
}

// Params returns the present model. Exchanges may change it at any call.
func (w *PairWorker) Params() []float32 { return w.alg.X }

// Mixed returns the observations of the last exchange.
func (w *PairWorker) Mixed() algos.Mixed { return w.mixed }

// Codec returns the codec of one link, or nil if there is no neighbour.
func (w *PairWorker) Codec() algos.Codec {
	if len(w.peers) == 0 {
		return nil
	}
	return w.peers[0].codec
}

// ExtraMemory returns the bytes of the point of the gradient, of the models that were sent in open
// exchanges, of the payloads beyond the two of D-PSGD, and of verification.
func (w *PairWorker) ExtraMemory() int {
	vectors, payloads, largest, verification := len(w.point)+len(w.spare), 0, 0, 0
	for i := range w.peers {
		p := &w.peers[i]
		for _, t := range []*trade{&p.mine, &p.theirs} {
			vectors += len(t.at)
			payloads += cap(t.payload)
			largest = max(largest, cap(t.payload))
		}
		if p.verify != nil {
			verification += p.verify.ExtraMemory()
		}
	}
	return 4*vectors + max(0, payloads-2*largest) + verification
}

// appendAwaited appends the neighbours that this worker waits for.
func (w *PairWorker) appendAwaited(dst []topology.Rank) []topology.Rank {
	for i := range w.peers {
		p := &w.peers[i]
		var awaited bool
		switch {
		case w.end == told:
			awaited = p.state != gone && !p.finished && !p.off || p.unfinished()
		case !w.free():
			awaited = p == w.partner || p == w.serving
		default:
			awaited = p.unfinished() || p.state == unreachable
		}
		if awaited {
			dst = append(dst, p.rank)
		}
	}
	return dst
}
