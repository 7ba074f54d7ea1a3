package views

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/rng"
)

// The times of a run with churn, on a virtual clock. Their values decide when members learn of each other, and so the
// first exchanges of views, but nothing else.
const (
	compute  = 20 * time.Millisecond // a gradient
	latency  = 2 * time.Millisecond  // a letter
	beat     = 50 * time.Millisecond
	patience = 250 * time.Millisecond
	grace    = time.Second
	stall    = time.Hour // without an end
)

// Limits of a run with churn.
const (
	fewest = 2
	margin = 2
)

// churnStream is the stream of the joins, leaves and deaths of a run.
const churnStream = 1<<31 - 8

// A Churn says how often members come and go.
type Churn struct {
	Rate float64 // the chance that a member dies, leaves or brings another one, in each exchange; in [0, 1]
	Most int     // members
}

// Draw computes a run in which members join, leave and die at random, in equal parts, and writes its log to a file.
// The members agree on their views as on a real network. The result is that of the log.
func Draw(run *experiment.Run, churn Churn, file string) (*Result, error) {
	if !(churn.Rate >= 0 && churn.Rate <= 1) {
		return nil, fmt.Errorf("views: churn %v: must be a chance per member and exchange, 0 to 1", churn.Rate)
	}
	m, err := newMembers(run)
	if err != nil {
		return nil, err
	}
	if experiment.Gathering(run) != nil {
		return nil, errors.New("views: churn: an all-reduce needs all members in every exchange: only a log replays it: " +
			"take another algorithm.name")
	}
	w := &world{members: m, churn: churn, seed: rng.Stream(run.Config().Seed, churnStream), actors: map[view.ID]*actor{}}
	log, err := w.run()
	if err != nil {
		return nil, err
	}
	if err := save(log, file); err != nil {
		return nil, err
	}
	again, err := newMembers(run) // with machines of its own
	if err != nil {
		return nil, err
	}
	result, err := again.replay(log, file)
	if err == nil {
		err = w.compare(again)
	}
	return result, err
}

// compare makes sure that members that were there at the end have the models of the replay.
func (w *world) compare(again *members) error {
	for _, id := range w.ids {
		if w.actors[id].m.Standing() != member.Finished {
			continue
		}
		if record.Digest(w.members.latest[id].Machine().Params()) != record.Digest(again.latest[id].Machine().Params()) {
			return fmt.Errorf("internal error: views: member %d ends with another model than in the replay of its log", id)
		}
	}
	return nil
}

// A world holds members on a virtual clock.
type world struct {
	members *members
	churn   Churn
	seed    uint64
	actors  map[view.ID]*actor
	ids     []view.ID // in the order of birth
	now     time.Duration
	queue   queue
	process uint64
}

// An actor is a member with its process.
type actor struct {
	id     view.ID
	m      *member.Member
	gone   bool
	busy   bool // takes a gradient
	leaves bool
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

func (w *world) after(delay time.Duration, do func() error) {
	w.queue.made++
	heap.Push(&w.queue, event{w.now + delay, w.queue.made, do})
}

func (w *world) options(id view.ID) member.Options {
	return member.Options{Maker: w.members, Plan: w.members.plan(), Fewest: 1, Council: council.Options{
		ID: id, Seed: w.members.run.Config().Seed, Base: w.members.base(), Beat: beat, Patience: patience, Grace: grace,
		Margin: margin, Most: w.churn.Most,
	}}
}

// run runs the members to the end, and returns their log.
func (w *world) run() (*view.Log, error) {
	founders := w.members.founders()
	for _, f := range founders.Members {
		log, err := view.New(w.members.base(), founders)
		if err != nil {
			return nil, err
		}
		m, err := member.Found(w.options(f.ID), log)
		if err != nil {
			return nil, err
		}
		if err := w.add(f.ID, m); err != nil {
			return nil, err
		}
	}
	for !w.over() {
		if w.now > stall {
			return nil, fmt.Errorf("views: churn: nothing moves: %w", errNoMajority)
		}
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		if err := e.do(); err != nil {
			return nil, err
		}
	}
	return w.longest(), nil
}

var errNoMajority = errors.New("too many voters died in the same moment: take a smaller rate")

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

func (w *world) add(id view.ID, m *member.Member) error {
	a := &actor{id: id, m: m}
	w.actors[id], w.ids = a, append(w.ids, id)
	return w.tick(a)
}

func (w *world) tick(a *actor) error {
	if a.gone {
		return nil
	}
	w.after(beat, func() error { return w.tick(a) })
	if err := a.m.Tick(w.now); err != nil {
		return err
	}
	return w.work(a)
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
		w.after(latency, func() error {
			to := w.actors[p.To]
			if to == nil || to.gone {
				return nil
			}
			if err := to.m.Receive(a.id, p.Letter); err != nil {
				return err
			}
			return w.work(to)
		})
	}
	a.gone = r.Standing == member.Left || r.Standing == member.Excluded
	if r.Compute && !a.busy && !a.gone {
		a.busy = true
		w.after(compute, func() error { return w.gradient(a) })
	}
	return nil
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
	if every := w.members.plan().Every; k >= 0 && k%every == 0 {
		w.happen(a, k/every)
	}
	return w.work(a)
}

// happen draws what happens to a member in an exchange.
func (w *world) happen(a *actor, x int) {
	key := rng.At(rng.Stream(w.seed, int(a.id)), x)
	if float64(key.Uniform(0)) >= w.churn.Rate {
		return
	}
	switch key.Below(1, 3) {
	case 0:
		w.process++
		w.ask(w.process)
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
	return others >= fewest
}

// ask lets a process ask the members until it is admitted.
func (w *world) ask(process uint64) {
	for _, id := range w.ids {
		a := w.actors[id]
		if a.gone || a.m.Council().Log() == nil || a.m.Late() {
			continue
		}
		if given, ok := a.m.Council().Admitted(process); ok {
			w.after(0, func() error {
				m, err := member.Join(w.options(given))
				if err != nil {
					return err
				}
				return w.add(given, m)
			})
			return
		}
		a.m.Council().Ask(council.Newcomer{Process: process,
			Member: view.Member{Name: fmt.Sprint("guest ", process), Key: fmt.Sprint("guest ", process)}})
	}
	w.after(patience, func() error {
		w.ask(process)
		return nil
	})
}
