package views

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/participant"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
)

// The times of a run whose members come and go, on a virtual clock. They decide when members learn of each other, and
// so the first exchanges of views, but nothing else.
const (
	Gradient = 20 * time.Millisecond // unless Happening says it
	beat     = 50 * time.Millisecond
	patience = 250 * time.Millisecond
	stall    = time.Minute // without a gradient: nothing moves any more
)

// margin is the number of exchanges that members may still begin after they have heard of a change without a death.
const margin = 2

// churnStream is the stream of the joins, leaves and deaths of a run.
const churnStream = 1<<31 - 8

// Happening is what happens to the members of a run, beside its script of faults.
type Happening struct {
	Churn   float64             // the chance that a member dies, leaves or brings another one, in each exchange; in [0, 1]
	Compute time.Duration       // virtual time of a gradient; 0: Gradient
	Observe func(record.Event)  // hears of rounds and scores; may be nil
	Began   func(f fault.Fault) // hears of a fault that begins; may be nil
	// Waits hears that a member waits for a majority of voters, or does not wait any more; may be nil.
	Waits func(id view.ID, waits bool)
}

// Simulate computes a run in which members join, leave and die: as its script of faults says, and at random. The
// members agree on their views as on a real network. Errors name what members wait for when nothing moves any more.
func Simulate(ctx context.Context, run *experiment.Run, h Happening) (*Outcome, error) {
	if !(h.Churn >= 0 && h.Churn <= 1) {
		return nil, fmt.Errorf("views: churn %v: must be a chance per member and exchange, 0 to 1", h.Churn)
	}
	m, err := membership.NewMaker(run)
	if err != nil {
		return nil, err
	}
	if h.Compute == 0 {
		h.Compute = Gradient
	}
	w := &world{members: m, happening: h, play: fault.NewPlay(experiment.Script(run.Config())), begun: -1,
		seed: rng.Stream(run.Config().Seed, churnStream), actors: map[view.ID]*actor{}}
	if w.encoder, err = entropy.NewEncoder(m.Coding(nil).Entropy, entropy.Typical()); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	o, err := w.outcome()
	if err != nil {
		return nil, err
	}
	o.Time, o.Pending, o.Absent, o.actors = w.now, w.play.Pending(), w.absent, w.actors
	o.compute = h.Compute
	for _, a := range w.actors {
		o.Sent.Add(a.sent)
	}
	return o, nil
}

// outcome returns the models at the end. A member that died after the last view is in the log to the end: then the log
// says its model.
func (w *world) outcome() (*Outcome, error) {
	log := w.longest()
	o := newOutcome(w.members, log, func(id view.ID) bool {
		a := w.actors[id]
		return a != nil && !a.gone && a.m.Standing() == member.Finished
	})
	last := log.Force(w.members.Plan().Rounds / w.members.Plan().Every)
	if len(o.IDs) == len(log.At(last).Members) || len(o.IDs) > 0 && w.members.Run().Method().Asynchronous() {
		return o, nil
	}
	again, err := membership.NewMaker(w.members.Run()) // with machines of its own
	if err != nil {
		return nil, err
	}
	return replay(again, log)
}

// A world holds members on a virtual clock.
type world struct {
	members   *membership.Maker
	happening Happening
	play      *fault.Play
	begun     int // the largest round that a member has begun
	seed      uint64
	actors    map[view.ID]*actor
	ids       []view.ID // in the order of birth
	now       time.Duration
	moved     time.Duration // when a gradient was last taken
	flight    time.Duration // the longest of a letter
	queue     queue
	process   uint64
	due       time.Duration // when the script goes on
	absent    []fault.Fault
	encoder   *entropy.Encoder
	coded     []byte // scratch
}

// An actor is a member with its process.
type actor struct {
	id       view.ID
	m        participant.Participant
	uplink   *shape.Sender
	gone     bool
	waits    bool           // for a majority
	held     []func() error // what would have happened to a process that stands still
	busy     bool           // takes a gradient
	leaves   bool
	took     time.Duration // when its last gradient was ready
	rounds   int           // it has computed
	told     int           // views that it has put on record
	sent     record.Bytes
	messages record.Messages
}

// An event happens at a time, in the order in which it was made.
type event struct {
	at    time.Duration
	order int
	do    func() error
}

type queue struct {
	events []event
	made   int
}

func (q *queue) Len() int { return len(q.events) }
func (q *queue) Less(i, j int) bool {
	a, b := q.events[i], q.events[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
func (q *queue) Swap(i, j int) { q.events[i], q.events[j] = q.events[j], q.events[i] }
func (q *queue) Push(e any)    { q.events = append(q.events, e.(event)) }
func (q *queue) Pop() any {
	last := q.events[len(q.events)-1]
	q.events = q.events[:len(q.events)-1]
	return last
}

func (w *world) at(when time.Duration, do func() error) {
	w.queue.made++
	heap.Push(&w.queue, event{when, w.queue.made, do})
}

func (w *world) config() configs.Membership { return w.members.Run().Config().Membership }

func (w *world) options(id view.ID) council.Options {
	m := w.config()
	return council.Options{
		ID: id, Seed: w.members.Run().Config().Seed, Base: w.members.Base(), Beat: beat, Patience: patience,
		Grace: time.Duration(m.Grace), Margin: margin, Most: m.Max, Certain: w.members.Certain(),
	}
}

// make returns the machine of a founder, or of a newcomer, which has no log.
func (w *world) make(id view.ID, log *view.Log) (participant.Participant, error) {
	o := member.Options{Maker: w.members, Plan: w.members.Plan(), Fewest: w.config().Min, Council: w.options(id)}
	if w.members.Run().Method().Asynchronous() {
		return participant.New(o, w.members.Pairs(), log)
	}
	return participant.New(o, nil, log)
}

// run runs the members to the end.
func (w *world) run(ctx context.Context) error {
	founders := founders(w.members.Run())
	for _, f := range founders.Members {
		log, err := view.New(w.members.Base(), founders)
		if err != nil {
			return err
		}
		m, err := w.make(f.ID, log)
		if err != nil {
			return err
		}
		w.add(f.ID, m)
	}
	w.wait()
	for turn := 0; !w.over(); turn++ {
		if turn&0xff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		longest := time.Duration(w.config().Grace) + w.happening.Compute + w.flight
		if _, changes := w.play.Next(); !changes && w.now-w.moved > stall+10*longest {
			return w.stuck()
		}
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		if err := e.do(); err != nil {
			return err
		}
	}
	return nil
}

// stuck says what the members wait for.
func (w *world) stuck() error {
	last := w.longest().Last()
	if n := len(last.Members); n < w.config().Min {
		return fmt.Errorf("views: nothing moves since exchange %d: view %d has fewer members, %d, than membership.min, %d: "+
			"let others join, or take a smaller minimum", last.First, last.View, n, w.config().Min)
	}
	return fmt.Errorf("views: nothing moves since view %d: too many voters, or all who have a message, died in the same "+
		"moment: take fewer deaths", last.View)
}

// longest returns the log of a member with the most views.
func (w *world) longest() (log *view.Log) {
	for _, id := range w.ids {
		if l := w.actors[id].m.Council().Log(); l != nil && (log == nil || l.Len() > log.Len()) {
			log = l
		}
	}
	return log
}

// over reports whether all that live have done all rounds.
func (w *world) over() bool {
	for _, id := range w.ids {
		switch a := w.actors[id]; {
		case a.gone, a.m.Standing() == member.Finished, a.m.Standing() == member.Leaving:
		case a.m.Standing() == member.Joining && a.m.Late():
		default:
			return false
		}
	}
	return true
}

func (w *world) add(id view.ID, m participant.Participant) {
	a := &actor{id: id, m: m, uplink: w.members.Run().Network().NewSender(id)}
	w.actors[id], w.ids = a, append(w.ids, id)
	w.at(w.now, func() error { return w.tick(a) }) // once all founders are there, who hear each other
}

func (w *world) tick(a *actor) error {
	if a.gone {
		return nil
	}
	w.at(w.now+beat, w.unless(a, func() error { return w.tick(a) }))
	if err := a.m.Tick(w.now); err != nil {
		return err
	}
	waits := a.m.Standing() != member.Joining && a.m.Council().Waits()
	if waits != a.waits {
		if a.waits = waits; w.happening.Waits != nil {
			w.happening.Waits(a.id, waits)
		}
	}
	return w.work(a)
}

// unless returns what happens to a member, or to its process once it does not stand still any more.
func (w *world) unless(a *actor, do func() error) func() error {
	return func() error {
		if w.play.Hangs(a.id) {
			a.held = append(a.held, do)
			return nil
		}
		return do()
	}
}

// work does what a member asks for.
func (w *world) work(a *actor) error {
	if a.gone {
		return nil
	}
	r, err := a.m.Ready()
	if err != nil {
		return err
	}
	for _, p := range r.Send {
		w.send(a, p)
	}
	a.gone = r.Standing == member.Left || r.Standing == member.Excluded
	if r.Standing == member.Excluded && !a.leaves { // it comes back as a newcomer
		w.process++
		w.ask(w.process, fmt.Sprint(named(a.m.Council().Log(), a.id), " again"))
	}
	if r.Compute && !a.busy && !a.gone {
		a.busy = true
		if err := w.begins(a, r.Round); err != nil || a.gone {
			return err
		}
		took := time.Duration(float64(w.happening.Compute) * w.play.Slowdown(a.id))
		w.at(w.now+took, w.unless(a, func() error { return w.gradient(a) }))
	}
	return nil
}

// send puts a letter on its way. It leaves after those before.
func (w *world) send(a *actor, p member.Post) {
	stream := w.weight(a, p)
	bytes := sim.WireBytes(stream, a.uplink.Link(p.To))
	if f := p.Frame; f != nil {
		sent := record.Bytes{Payload: int64(f.MessageBytes()), Stream: int64(stream), Wire: int64(bytes)}
		if sent.Payload > 0 {
			a.messages.Stream += int64(stream)
			if f.Piece == 0 {
				a.messages.Count++
			}
		}
		a.sent.Add(sent)
	}
	_, arrives := a.uplink.Book(p.To, w.now, bytes)
	w.flight = max(w.flight, arrives-w.now)
	to := w.actors[p.To]
	if to == nil || w.play.Apart(a.id, p.To) {
		return
	}
	w.at(arrives, w.unless(to, func() error {
		if to.gone || w.play.Apart(a.id, p.To) {
			return nil
		}
		if err := to.m.Receive(a.id, p.Letter); err != nil {
			return err
		}
		return w.work(to)
	}))
}

// named returns the name of a member.
func named(log *view.Log, id view.ID) string {
	for v := range log.Len() {
		if rank, ok := log.At(v).Rank(id); ok {
			return log.At(v).Members[rank].Name
		}
	}
	return fmt.Sprint("member ", id)
}

// small is about how long the other letters are, in bytes.
const small = 96

// weight returns the bytes of a letter on its stream.
func (w *world) weight(a *actor, l member.Post) int {
	switch {
	case l.Frame != nil:
		return wire.LetterLen(w.size(a, l))
	case l.Council != nil:
		return small + len(l.Council.Raft)
	case l.State != nil:
		return small + int(l.State.Snapshot.Bytes())
	}
	return small
}

// size returns the bytes of a payload on its way, which are fewer with an entropy coder. One that cannot be coded
// travels as it is.
func (w *world) size(a *actor, l member.Post) int {
	f, made := l.Frame, w.members.Latest(a.id)
	if f.MessageBytes() == 0 || made == nil {
		return len(f.Payload)
	}
	cost := entropy.LinkCostOf(a.uplink.Link(l.To).Rate)
	coded, by, err := w.encoder.Encode(w.coded[:0], f.Payload, made.Layout(*f), cost)
	if w.coded = coded; err != nil || by == entropy.Plain {
		return len(f.Payload)
	}
	return len(coded)
}

// begins notes that a member begins a round: faults are due, and the round before goes on record.
func (w *world) begins(a *actor, k int) error {
	made := w.members.Latest(a.id)
	w.tell(a)
	if err := w.note(a, made, k); err != nil {
		return err
	}
	if k <= w.begun {
		return nil
	}
	w.begun = k
	for _, c := range w.play.Begun(k, w.now) {
		w.strike(c.Fault)
	}
	w.wait()
	return nil
}

// tell puts the views that a member knows on record, as each member on a network does.
func (w *world) tell(a *actor) {
	log := a.m.Council().Log()
	if w.happening.Observe == nil || log == nil {
		return
	}
	for ; a.told < log.Len(); a.told++ {
		noted := membership.Noted(*log.At(a.told))
		w.happening.Observe(record.Event{Status: &record.Status{Rank: int(a.id), State: record.Training,
			Here: len(noted.Members), View: &noted}})
	}
}

// note puts the rounds that a member has finished on record.
func (w *world) note(a *actor, made *build.Member, k int) error {
	every, observe := w.members.Run().Config().Output.Every, w.happening.Observe
	if observe == nil || k == 0 {
		return nil
	}
	if k%every == 0 || k == w.members.Plan().Rounds {
		observe(record.Event{Step: new(made.Step(record.Step{
			Round: k, Time: w.now, Sent: a.sent, Messages: a.messages, Compute: w.happening.Compute, Wait: w.now - a.took}))})
	}
	s, due, err := made.Score(k, made.Model().X)
	if due && err == nil {
		observe(record.Event{Score: &s})
	}
	return err
}

// gradient takes a gradient. Once per exchange something may happen to the member.
func (w *world) gradient(a *actor) error {
	if a.busy = false; a.gone {
		return nil
	}
	k, err := a.m.Compute()
	if err != nil {
		return err
	}
	if k >= 0 {
		w.moved, a.took, a.rounds = w.now, w.now, k+1
	}
	if every := w.members.Plan().Every; k >= 0 && k%every == 0 && w.happening.Churn > 0 {
		w.happen(a, k/every)
	}
	return w.work(a)
}

// wait lets the faults that have a time happen then, and those that last end.
func (w *world) wait() {
	at, ok := w.play.Next()
	if !ok || w.due > w.now && w.due <= at {
		return
	}
	w.due = at
	w.at(at, func() error {
		for _, c := range w.play.Until(w.now) {
			if !c.Over {
				w.strike(c.Fault)
			} else if err := w.wake(c.Fault); err != nil {
				return err
			}
		}
		w.wait()
		return nil
	})
}

// wake lets happen what a process that stood still has missed.
func (w *world) wake(f fault.Fault) error {
	if f.Kind != fault.Hang {
		return nil
	}
	a := w.actors[f.First()]
	held := a.held
	a.held = nil
	for _, do := range held {
		if err := w.unless(a, do)(); err != nil {
			return err
		}
	}
	return nil
}

// strike lets a fault of the script happen.
func (w *world) strike(f fault.Fault) {
	switch f.Kind {
	case fault.Join:
		for range f.Count {
			w.guest()
		}
	case fault.Leave, fault.Die:
		a := w.actors[f.First()]
		if a == nil || a.gone || a.leaves {
			w.absent = append(w.absent, f)
			return
		}
		if f.Kind == fault.Die {
			a.gone = true
		} else {
			a.leaves = true
			a.m.Leave()
		}
	}
	if w.happening.Began != nil {
		w.happening.Began(f)
	}
}

// guest lets another process ask.
func (w *world) guest() {
	w.process++
	w.ask(w.process, fmt.Sprint("guest ", w.process))
}

// happen draws what happens to a member in an exchange.
func (w *world) happen(a *actor, x int) {
	key := rng.At(rng.Stream(w.seed, int(a.id)), x)
	if float64(key.Uniform(0)) >= w.happening.Churn {
		return
	}
	switch key.Below(1, 3) {
	case 0:
		w.guest()
	case 1:
		if w.spares(a) {
			a.leaves = true
			a.m.Leave()
		}
	case 2:
		if w.spares(a) {
			a.gone = true
		}
	}
}

// spares reports whether enough others are there, and can decide.
func (w *world) spares(gone *actor) bool {
	others := 0
	for _, id := range w.ids {
		a := w.actors[id]
		if a == gone || a.gone || a.leaves {
			continue
		}
		if a.m.Standing() != member.Joining {
			others++
		}
		alive := func(id view.ID) bool { b := w.actors[id]; return b != nil && !b.gone && b != gone }
		if a.m.Council().Log() != nil && !a.m.Council().Majority(alive) {
			return false
		}
	}
	return others >= w.config().Min
}

// ask lets a process ask the members until it is admitted.
func (w *world) ask(process uint64, name string) {
	for _, id := range w.ids {
		a := w.actors[id]
		if a.gone || a.m.Council().Log() == nil || a.m.Late() {
			continue
		}
		if given, ok := a.m.Council().Admitted(process); ok {
			w.at(w.now, func() error {
				m, err := w.make(given, nil)
				if err != nil {
					return err
				}
				w.add(given, m)
				return nil
			})
			return
		}
		a.m.Council().Ask(council.Newcomer{Process: process,
			Member: view.Member{Name: name, Key: name}})
	}
	w.at(w.now+patience, func() error {
		w.ask(process, name)
		return nil
	})
}
