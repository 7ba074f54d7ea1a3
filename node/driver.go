package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

const (
	patience = 10 * time.Second // without progress before the missing are named, and between two such notes
	grace    = 10 * time.Second // a neighbour may be gone under Fail
	farewell = 5 * time.Second  // a neighbour may be gone after the last round
	cutoff   = 500 * time.Millisecond
)

// A driver is the one goroutine that owns a machine: it feeds it frames and
// gradients and does what Ready asks for.
type driver struct {
	w       Worker
	t       Transport
	meter   meter
	refused *refusals
	log     *slog.Logger
	observe func(record.Event)
	stopped <-chan error // a worker has stopped the run
	vitals  *vitals

	cancelled <-chan struct{} // the context of the run, until that is known
	ending    ending
	verdict   verdict

	keeper *keeper      // nil without checkpoints
	core   gossip.Layer // the machine, and what keeps its messages
	over   func() bool  // nobody can come back to the journal
	owed   []topology.Rank
	slots  gossip.Slots
	first  int                      // round in which this worker began
	ended  func(topology.Rank) bool // a worker is known to be through

	jobs     chan job
	outcomes chan outcome

	peers     []standing   // in increasing rank, but for those who came later
	guests    <-chan guest // who come back; nil: nobody can
	mending   *mending     // nil: lost neighbours are not done without
	computing bool
	done      bool            // all rounds are over
	waiting   []topology.Rank // whom the machine waits for
	round     int             // rounds finished
	state     record.State

	began    time.Time // of the first round
	progress time.Time // last one
	noted    time.Time // last time the missing were named
	took     time.Duration
	spent    spent
	loss     float32
}

// A standing is how a neighbour is doing.
type standing struct {
	rank    topology.Rank
	up      bool
	met     bool      // has been up
	since   time.Time // of up
	told    bool      // Bye was sent on this link
	left    bool
	refused error
	cut     bool // off, until it comes back as another process
	ledger  ledger
}

func newDriver(w Worker, t reporter) *driver {
	d := &driver{
		w: w, t: t, meter: t, refused: new(refusals), log: slog.New(slog.DiscardHandler), observe: func(record.Event) {},
		ending: ending{announce: func(*StoppedError) {}}, vitals: new(vitals), jobs: make(chan job, 1),
		outcomes: make(chan outcome, 1), verdict: newVerdict(w.Arbiter), keeper: newKeeper(&w), slots: gossip.SlotsOf(w.Machine), ended: func(topology.Rank) bool { return false },
	}
	if w.Checkpoints != nil {
		d.first = w.Checkpoints.Round
	}
	if d.round = d.first; w.Guest != nil {
		d.round = w.Guest.Round
	}
	d.core, d.over = w.layers(func(rank topology.Rank) bool { return d.ended(rank) })
	for _, rank := range link.Neighbours(w.Row) {
		d.peers = append(d.peers, standing{rank: rank})
	}
	return d
}

// layers returns the machine with what the worker wants around it, and what says that
// nobody can come back to its journal. through reports whether another worker is known to
// have ended well.
func (w *Worker) layers(through func(topology.Rank) bool) (core gossip.Layer, over func() bool) {
	core = gossip.NewLinked(w.Machine, w.Rank, w.place(), w.durable())
	if w.journal() == nil {
		return core, func() bool { return false }
	}
	repairs, ok := w.Machine.(gossip.Repairer)
	r := replay.New(core, replay.Start{
		Self: w.Rank, Row: w.Row, Slots: gossip.SlotsOf(w.Machine), Log: w.journal(), Most: w.Checkpoints.room(),
		Repairs: ok && repairs.Repairs().Verified, Through: through,
	})
	return r, r.Over
}

// place returns how many exchanges the worker has finished before it begins.
func (w *Worker) place() int {
	if w.Guest != nil {
		return w.Guest.Exchange
	}
	if w.Asynchronous {
		return 0
	}
	return max(0, w.durable())
}

// durable returns how many of them its checkpoint knows of, gossip.Undurable without one.
func (w *Worker) durable() int {
	if w.Checkpoints == nil {
		return gossip.Undurable
	}
	return gossip.SlotsOf(w.Machine).Of(w.Checkpoints.Round, 0)
}

// journal returns the journal of the worker, nil if no message is sent twice.
func (w *Worker) journal() *journal.Journal {
	if w.Checkpoints == nil {
		return nil
	}
	return w.Checkpoints.Journal
}

// run drives the machine until it is done and nobody needs it.
func (d *driver) run(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		compute(d.jobs, d.outcomes, &d.w)
	}()
	defer func() {
		close(d.jobs)
		select {
		case <-idle:
		case <-time.After(cutoff):
		}
	}()
	d.cancelled = ctx.Done()
	tick := time.NewTicker(d.pulse())
	defer tick.Stop()

	now := time.Now()
	d.began, d.progress, d.noted = now, now, now
	for i := range d.peers {
		d.peers[i].since = now
	}
	d.status(record.Training, "", nil)
	d.begin()
	if len(d.peers) == 0 {
		d.keeper.begin()
	}
	if err := d.listen(); err != nil {
		return err
	}
	for {
		if err := d.advance(); err != nil {
			return err
		}
		if d.leaves() {
			return d.leave()
		}
		if acted, err := d.mend(); err != nil {
			return err
		} else if acted {
			continue
		}
		if d.done && !slices.ContainsFunc(d.peers, func(s standing) bool { return !s.left && d.needs(s.rank) }) {
			d.keeper.close(d.over(), d.log)
			return nil
		}
		if err := d.next(ctx, tick.C); err != nil {
			return err
		}
	}
}

// advance does what the machine asks for.
func (d *driver) advance() error {
	for more := true; more; {
		began := time.Now()
		r := d.core.Ready()
		if d.spent.codec += time.Since(began); r.Failed != nil {
			return d.judge(r.Failed)
		}
		for _, c := range r.Control {
			d.t.Control(c)
		}
		d.t.Send(r.Send)
		for _, payload := range r.Spent {
			d.t.Recycle(payload)
		}
		d.note(r.Notes)
		d.owed, more = append(d.owed[:0], r.Owed...), r.More
		d.waiting = append(d.waiting[:0], r.Waiting...)
		d.vitals.wait(d.waiting)
		if r.Round > d.round {
			d.finish(r.Round)
		}
		if r.Compute {
			d.computing = true
			d.jobs <- job{k: r.Round, x: r.At}
		}
		d.done = d.done || r.Done
	}
	if d.done && d.keeper.finish(d.round) {
		d.part()
	}
	d.keeper.write()
	return nil
}

// note logs what people should know.
func (d *driver) note(notes []gossip.Note) {
	for _, n := range notes {
		d.log.Warn(n.Text, "neighbour", int(n.Peer), "exchange", n.Exchange, "why", n.Why)
	}
}

// tell tells a neighbour something about this worker, after what was sent before.
func (d *driver) tell(f gossip.Frame) {
	f.From = d.w.Rank
	d.t.Send([]gossip.Frame{f})
}

// part says bye on every link that has not heard it, after its last frame.
func (d *driver) part() {
	for i := range d.peers {
		if s := &d.peers[i]; s.up && !s.told && !slices.Contains(d.owed, s.rank) {
			s.told = true
			d.tell(gossip.Frame{To: s.rank, Kind: gossip.Bye})
		}
	}
}

// next waits for one thing to happen and deals with it.
func (d *driver) next(ctx context.Context, tick <-chan time.Time) error {
	began := time.Now()
	var err error
	idle := !d.computing
	select {
	case e := <-d.t.Events():
		d.rested(began, idle)
		err = d.handle(e)
	case o := <-d.outcomes:
		d.rested(began, idle)
		err = d.computed(o)
	case g := <-d.guests:
		d.rested(began, idle)
		err = d.host(g)
	case n := <-d.keeper.news():
		d.rested(began, idle)
		err = d.kept(n)
	case <-tick:
		d.rested(began, idle)
		err = d.look(time.Now())
	case <-d.verdict.hold:
		d.holdStill()
	case <-d.verdict.ended:
		err = d.conclude()
	case err = <-d.stopped:
		err = d.stop(err)
	case <-d.cancelled:
		err = d.interrupted(ctx)
	case <-d.ending.deadline:
		err = d.leave()
	}
	return err
}

func (d *driver) rested(began time.Time, idle bool) {
	if idle {
		d.spent.wait += time.Since(began)
	}
}

func (d *driver) computed(o outcome) error {
	d.computing = false
	d.spent.compute = o.took
	if o.err != nil {
		return &TrainingError{Rank: d.w.Rank, Round: o.k, Err: o.err}
	}
	d.loss, d.progress = o.loss, time.Now()
	err := d.core.Gradient(o.g, o.loss, d.progress.Sub(d.began))
	d.spent.codec += time.Since(d.progress)
	return d.judge(err)
}

func (d *driver) handle(e Event) error {
	s := d.standing(e.Peer)
	now := time.Now()
	switch e.Kind {
	case LinkUp:
		return d.linked(s, e.Met, now)
	case LinkDown:
		s.up, s.since = false, now
		if err := d.judge(d.core.Parted(e.Peer, e.Err)); err != nil {
			return err
		}
		if err := d.parted(e.Peer); err != nil || !link.Forged(e.Err) {
			return err
		}
		return d.blame(s, e.Err)
	case PeerDone:
		s.up, s.left, s.since = false, true, now
		if err := d.judge(d.core.Parted(e.Peer, gossip.ErrBye)); err != nil {
			return err
		}
		if d.mending != nil {
			d.mending.members.Finished(e.Peer)
		}
	case Stopped:
		s.up, s.since = false, now
		return d.halted(e)
	case Refused:
		if mutual, err := d.denied(s, e.Err); mutual || err != nil {
			return err
		}
		s.refused = e.Err
		return d.outcast()
	case FrameIn:
		if e.Frame.Kind >= gossip.Place {
			d.heard(e.Peer, e.Frame)
			return d.judge(d.core.Receive(e.Frame))
		}
		if s.cut { // came before the link ended
			d.t.Recycle(e.Frame.Payload)
			return nil
		}
		err := d.core.Receive(e.Frame)
		d.spent.codec += time.Since(now)
		if err == nil {
			d.progress = now
			s.ledger.use()
			return nil
		}
		if unused(err) {
			d.refused.frame(err)
			d.log.Debug("frame not used", "why", err)
			d.t.Recycle(e.Frame.Payload)
			return d.blame(s, err)
		}
		return d.judge(err)
	}
	return nil
}

// linked notes that there is a new link.
func (d *driver) linked(s *standing, m gossip.Meeting, now time.Time) error {
	if d.outrun(s, m) {
		return leftBehind(fmt.Errorf("worker %d has finished %d exchanges", s.rank, m.Theirs))
	}
	s.up, s.met, s.told, s.left, s.refused, s.since = true, true, false, false, nil, now
	s.cut, s.ledger.leftOver = false, 0
	if err := d.met(s.rank, m.Process); err != nil {
		return err
	}
	d.keeper.begin()
	return d.judge(d.core.Met(s.rank, m))
}

// unused reports whether a machine has refused a frame and left its payload.
func unused(err error) bool {
	return mistimed(err) || isOne(err, gossip.ErrStranger, gossip.ErrNoSuchHop)
}

// judge tells a neighbour's bad message, which it may send again on a new
// link, from an error of this worker, which ends the run.
func (d *driver) judge(err error) error {
	var bad *algos.MessageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		d.refused.frame(err)
		d.log.Warn("message could not be used", "why", err)
		d.t.Control(gossip.Control{Kind: gossip.DropLink, Peer: bad.From, Why: err})
		return d.blame(d.standing(bad.From), err)
	case isLog(err):
		return fmt.Errorf("node: worker %d: round %d: %w", d.w.Rank, d.round, err)
	default:
		return &TrainingError{Rank: d.w.Rank, Round: d.round, Err: err}
	}
}

// isLog reports whether the journal has failed the worker.
func isLog(err error) bool {
	_, ok := errors.AsType[*replay.LogError](err)
	return ok
}

func lostState(err error) bool {
	no, ok := errors.AsType[*RefusedError](err)
	return ok && no.Reason == LostState
}

// look checks once a second whether something has been missing for too long.
func (d *driver) look(now time.Time) error {
	for i := range d.peers {
		s := &d.peers[i]
		gone := now.Sub(s.since)
		switch {
		case s.up || s.left:
		case d.w.Asynchronous && !d.done && gone >= farewell && d.ended(s.rank):
			if err := d.miss(s); err != nil {
				return err
			}
		case d.done && gone >= farewell && (d.keeper == nil || d.ended(s.rank)):
			d.log.Warn("leaving without a neighbour's bye", "neighbour", int(s.rank), "why", d.meter.Trouble(s.rank))
			s.left = true
		case d.w.Lost == Fail && s.met && gone >= grace:
			return &NetworkError{Op: "link", Err: fmt.Errorf("worker %d lost worker %d: %s", d.w.Rank, s.rank, d.meter.Trouble(s.rank))}
		}
	}
	if !d.computing && now.Sub(d.progress) >= patience && now.Sub(d.noted) >= patience {
		d.noted = now
		d.tellMissing(now.Sub(d.progress))
	}
	return nil
}

// tellMissing names whom this worker waits for, and why.
func (d *driver) tellMissing(idle time.Duration) {
	var missing []int
	var why []string
	for _, s := range d.peers {
		if s.left || !d.done && !slices.Contains(d.waiting, s.rank) {
			continue
		}
		missing = append(missing, int(s.rank))
		text := d.meter.Trouble(s.rank)
		if s.refused != nil {
			text = s.refused.Error()
		}
		why = append(why, fmt.Sprintf("worker %d: %s", s.rank, text))
	}
	if len(why) == 0 && d.verdict.holding {
		why = append(why, "the run is to end, and not all have said how many rounds they have begun")
	}
	d.status(record.Waiting, fmt.Sprintf("round %d, for %v: %s", d.round, idle.Round(time.Second), strings.Join(why, "; ")), missing)
}
