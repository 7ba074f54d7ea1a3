package gossip

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// A phase is the activity of a worker in round k.
type phase uint8

const (
	computing  phase = iota // the gradient is outstanding
	exchanging              // the gradient is there, messages of the current hop may be missing
	holding                 // round k may not begin
	done                    // all rounds are over
)

// A Worker is the machine of a synchronous algorithm. A round ends when the worker has used the gradient and every
// neighbour's message of every hop. The last of every H rounds exchanges; the others take the gradient step alone.
// Slots number the messages of a run: slot ⌊round/H⌋·hops + hop belongs to exchange ⌊round/H⌋ of the graph.
type Worker struct {
	self     topology.Rank
	alg      rule
	plan     algos.Plan
	schedule Schedule
	progress

	mixing
	mixed    algos.Mixed
	repair   Repairs
	guard    guard
	failed   error // why the machine has stopped for good
	boundary boundary

	rows topology.Sequence
	box  *mail // nil before it is looked for: a Stack needs none
}

// mail is what a worker sends and receives.
type mail struct {
	inbox  inbox
	outbox outbox
	ready  [2]work // work[0] collects, the driver holds work[1]
}

// mail returns the mail. It is empty at first: all workers have mixed the messages of earlier rounds.
func (w *Worker) mail() *mail {
	if w.box == nil {
		w.box = &mail{inbox: newInbox(newEdges(w.rows, w.plan.Hops), w.plan.Lead+1, w.alg.pieces, w.alg.perHop)}
		w.box.outbox = newOutbox(w.self, &w.box.inbox.edges, w.plan.Lead+1, w.alg.pieces)
		if slot := w.slot(); slot > 0 {
			w.box.outbox.sent, w.box.outbox.first = slot, slot
			w.box.inbox.begin(slot)
		}
	}
	return w.box
}

// mixing is how a worker mixes the pieces that are ready.
type mixing struct {
	together Together // nil: one piece after the other
	turns    []turn   // these pieces
}

// progress is the place of a worker in the run.
type progress struct {
	k, hop int       // the exchange to mix next
	first  int       // the round in which this machine begins
	tried  int       // pieces of the current hop that were tried when they, or all messages of them, were there
	gate   int       // no such round and no later one may begin
	g      []float32 // of round k
	phase  phase
	whole  bool // an exchange is mixed when all its messages are there
	ended  bool // the run has fewer rounds than planned
	asked  bool // Ready has asked for the gradient of round k
}

// work is the part of a Ready that grows between two calls.
type work struct {
	send    []Frame
	spent   [][]byte
	waiting []topology.Rank
}

var (
	_ Machine  = (*Worker)(nil)
	_ Parallel = (*Worker)(nil)
	_ Borrower = (*Worker)(nil)
	_ Logged   = (*Worker)(nil)
)

// New returns the machine of worker self, whose rows of the mixing matrices are rows, at the beginning of round 0 of
// rounds ≥ 0. It fails if the plan of alg is out of range or its first message cannot be made.
func New(self topology.Rank, rows topology.Sequence, alg Algorithm, rounds int) (*Worker, error) {
	return NewScheduled(self, rows, alg, Schedule{Rounds: rounds, Every: 1})
}

// NewScheduled is New for a worker that does not exchange in every round, or whose bits change from round to round. It
// fails if Every is more than one and alg is not Local.
func NewScheduled(self topology.Rank, rows topology.Sequence, alg Algorithm, schedule Schedule) (*Worker, error) {
	w, err := newWorker(self, rows, alg, schedule)
	if err == nil && !schedule.Heir {
		err = w.begin()
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// newWorker returns a worker that has not begun its first round.
func newWorker(self topology.Rank, rows topology.Sequence, alg Algorithm, schedule Schedule) (*Worker, error) {
	r, err := newRule(self, alg, schedule)
	if err != nil {
		return nil, err
	}
	plan := alg.Plan()
	if ahead := rows.Ahead(); ahead > 1 {
		plan.Lead = max(plan.Lead, (ahead+1)*plan.Hops-1)
	}
	return &Worker{
		self: self, alg: r, plan: plan, schedule: schedule, progress: progress{gate: forever}, rows: rows,
	}, nil
}

// Ready returns the work that has come up since the last call. It names each frame, each spent payload and each request
// for a gradient once. It makes one piece of a message at a time, when the driver has the one before, and asks for More
// until all pieces exist.
func (w *Worker) Ready() Ready {
	var err error
	if w.failed == nil && late(w) {
		err = overlap(w)
	}
	if len(w.mail().ready[0].send) == 0 && err == nil {
		err = w.work()
	}
	w.mail().ready[0], w.mail().ready[1] = w.mail().ready[1], w.mail().ready[0]
	next, now := &w.mail().ready[0], &w.mail().ready[1]
	clear(next.send) // lets payloads of frames that are sent again be freed
	next.send, next.spent = next.send[:0], next.spent[:0]
	r := Ready{Send: now.send, Spent: now.spent, Round: w.k, Hop: w.hop, Done: w.phase == done, Failed: err}
	r.More = w.works()
	switch {
	case w.failed != nil:
	case w.phase == computing && !w.asked:
		w.asked = true
		r.Compute, r.At = true, w.alg.Params()
	case w.phase == exchanging && !r.More:
		now.waiting = w.mail().inbox.appendMissing(now.waiting[:0], w.slot())
		r.Waiting = now.waiting
	}
	return r
}

// Gradient takes the update direction of round k, which must be finite and as long as the model. The worker then goes
// on as far as the received messages allow. A refused gradient changes nothing.
func (w *Worker) Gradient(g []float32, loss float32, now time.Duration) error {
	switch {
	case w.failed != nil:
		return w.failed
	case w.phase != computing || !w.asked:
		return fmt.Errorf("gossip: worker %d round %d: gradient: not asked for: call Ready first", w.self, w.k)
	case len(g) != len(w.alg.Params()):
		return fmt.Errorf("gossip: worker %d round %d: gradient: %d coordinates, want %d",
			w.self, w.k, len(g), len(w.alg.Params()))
	case !vec.Finite(g):
		return fmt.Errorf("gossip: worker %d round %d: gradient: holds NaN or Inf", w.self, w.k)
	}
	w.phase, w.g = exchanging, g
	if w.schedule.Agreed != nil {
		w.schedule.Agreed.computed(w.k, g, loss, now)
	}
	if !w.exchanges() {
		return w.step()
	}
	if !w.plan.Overlap {
		if err := w.descend(); err != nil {
			return err
		}
	}
	return w.exchange(0, w.alg.pieces)
}

// Receive keeps f until its piece is mixed: at once if f is the last missing one, else at most Plan.Lead slots later.
// It answers a request. It verifies a piece when all neighbours' messages of it are there, even before the gradient is.
func (w *Worker) Receive(f Frame) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.admit(f); err != nil {
		return fmt.Errorf("%w: worker %d at round %d hop %d: round %d hop %d from worker %d to %d",
			err, w.self, w.k, w.hop, f.Round, f.Hop, f.From, f.To)
	}
	if f.Kind == Request || w.slotOf(f) != w.slot() {
		return nil
	}
	w.release()
	return w.exchange(f.Piece, f.Piece+1)
}

// Link sends the frames again that peer may still need if up, unless a log does, and asks again for a repair that has
// not come. A link that went down changes nothing.
func (w *Worker) Link(peer topology.Rank, up bool) {
	if !up {
		return
	}
	send, logged := &w.mail().ready[0].send, w.mail().outbox.logged
	*send = slices.DeleteFunc(*send, func(f Frame) bool { return f.To == peer && !(logged && f.Kind == Data) })
	if !logged {
		*send = w.mail().outbox.appendAgain(*send, peer)
	}
	w.mail().outbox.relink(peer)
	for piece := range w.alg.pieces {
		if w.mail().inbox.lacks(w.slot(), piece, peer) {
			w.ask(peer, piece, nil)
		}
	}
}

// Use mixes the pieces of a message by t, where several are ready. That is so after a gradient that took longer than
// the messages.
func (w *Worker) Use(t Together) { w.together = t }

// Borrow takes the buffers of messages from l, if all messages are confirmed by the next one.
func (w *Worker) Borrow(l Lender) {
	if w.plan.Lead == 1 && !w.mail().outbox.edges.change {
		w.mail().outbox.lender = l
	}
}

// Log leaves it to a log to send messages again.
func (w *Worker) Log() { w.mail().outbox.logged = true }

// Params returns the current model.
func (w *Worker) Params() []float32 { return w.alg.Params() }

// Mixed returns the observations of the last finished mixing.
func (w *Worker) Mixed() algos.Mixed { return w.mixed }

// Codec returns the codec of a lane, nil where there is none.
func (w *Worker) Codec(lane int) algos.Codec { return w.alg.lanes.at(lane).codec }

// CodecOf returns the codec that made a frame of a message, nil where there is none, and the number of the frame's
// piece in its lane.
func (w *Worker) CodecOf(f Frame) (algos.Codec, int) {
	lane, piece := w.alg.lane(f.Hop, f.Piece)
	return lane.codec, piece
}

// ExtraMemory returns the bytes of the algorithm and of verification.
func (w *Worker) ExtraMemory() int {
	bytes := w.alg.ExtraMemory()
	for _, l := range w.alg.lanes {
		if l.verify != nil {
			bytes += l.verify.ExtraMemory()
		}
	}
	return bytes
}

// slot returns the number of the exchange to mix next.
func (w *Worker) slot() int { return w.k/w.schedule.Every*w.plan.Hops + w.hop }

// exchanges reports whether the workers exchange in round k.
func (w *Worker) exchanges() bool { return (w.k+1)%w.schedule.Every == 0 }

// admit keeps f or says why not.
func (w *Worker) admit(f Frame) error {
	switch {
	case f.To != w.self:
		return ErrStranger
	case f.Hop < 0 || f.Hop >= w.plan.Hops || f.Round >= 0 && f.Round%w.schedule.Every != w.schedule.Every-1 ||
		f.Piece < 0 || f.Piece >= w.alg.pieces:
		return ErrNoSuchHop
	case f.Round < 0:
		return ErrStale
	case f.Kind == Request:
		return w.answer(f)
	case f.Round < w.k || f.Round == w.k && f.Hop < w.hop:
		return ErrStale
	case f.Round >= w.schedule.Rounds && w.ended:
		return ErrStale // of a round after the end of the run
	case f.Round >= w.schedule.Rounds:
		return ErrEarly // before slots are counted, so that no round overflows
	}
	slot := w.slotOf(f)
	switch {
	case slot-w.slot() > w.plan.Lead:
		return w.mail().inbox.stash(slot, f)
	case f.Kind == Repair:
		return w.mail().inbox.mend(slot, f)
	case f.Kind != Data:
		return ErrUnasked
	}
	return w.mail().inbox.put(slot, f)
}

// slotOf returns the number of the exchange that f belongs to.
func (w *Worker) slotOf(f Frame) int { return f.Round/w.schedule.Every*w.plan.Hops + f.Hop }

// fail stops the machine for good.
func (w *Worker) fail(err error) error {
	w.failed = err
	return err
}

// located adds the worker, round and hop to err.
func (w *Worker) located(err error) error {
	return fmt.Errorf("gossip: worker %d round %d hop %d: %w", w.self, w.k, w.hop, err)
}
