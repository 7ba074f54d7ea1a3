// Package world runs the members of a run on a virtual clock. Letters take random times, and members join, leave, die,
// pause and lose each other. A seed draws all of it, so that what fails once fails again.
package world

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// The times of a council in a world, and how long a world may last.
const (
	Beat  = 20 * time.Millisecond
	Wait  = 120 * time.Millisecond
	Grace = 400 * time.Millisecond
	limit = 120 * time.Second
)

// A Member is a member of either kind.
type Member interface {
	Tick(now time.Duration) error
	Leave()
	Council() *council.Council
}

// An Actor is a member with its process.
type Actor[M Member] struct {
	ID      view.ID
	M       M
	Dead    bool
	Working bool          // takes a gradient
	Leaving bool          // was told to leave
	asleep  time.Duration // until then
}

// Hooks are how members of one kind differ from those of another.
type Hooks[M Member] struct {
	Found func(id view.ID, log *view.Log) (M, error)
	Join  func(id view.ID) (M, error)
	Log   func(m M) *view.Log // the records that a member goes by
	Drain func(a *Actor[M])   // does what a member asks for
	Ended func(a *Actor[M], died bool)
	Over  func() bool // the run has ended
	// Stateful and Working report whether a member has a state, and whether it trains.
	Stateful, Working func(m M) bool
	Tell              func(a *Actor[M]) string // how a member stands when nothing moves
}

// A World has all members of a run.
type World[M Member] struct {
	N      int     // founders
	First  view.ID // their first id: of one founder that resumes a run it may be above 0
	Faults int
	Base   topology.Spec
	Hooks  Hooks[M]
	Draw   *rand.Rand
	Actors []*Actor[M]             // all that ever lived
	Apart  func(a, b view.ID) bool // a partition; nil: none
	Counts map[string]int          // events by kind

	now     time.Duration
	queue   queue[M]
	order   int
	links   map[[2]view.ID]time.Duration
	process uint64
	failed  error
}

// New returns a world without members.
func New[M Member](n, faults int, seed uint64, base topology.Spec) *World[M] {
	return &World[M]{N: n, Faults: faults, Base: base, Draw: rand.New(rand.NewPCG(seed, 1)),
		links: map[[2]view.ID]time.Duration{}, Counts: map[string]int{}}
}

type event[M Member] struct {
	at    time.Duration
	order int
	from  view.ID // of a letter
	to    *Actor[M]
	life  func()
	sent  bool // is a letter
}

type queue[M Member] []event[M]

func (q queue[M]) Len() int { return len(q) }
func (q queue[M]) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue[M]) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue[M]) Push(e any)   { *q = append(*q, e.(event[M])) }
func (q *queue[M]) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func (w *World[M]) push(e event[M]) {
	w.order++
	e.order = w.order
	heap.Push(&w.queue, e)
}

// At lets something happen after a delay, to a member or, with nil, to all.
func (w *World[M]) At(delay time.Duration, to *Actor[M], life func()) {
	w.push(event[M]{at: w.now + delay, to: to, life: life})
}

// Between draws a time.
func (w *World[M]) Between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.Draw.Int64N(int64(high-low)+1))
}

// Fail ends the run with its first error.
func (w *World[M]) Fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

// Actor returns the member with an id, nil if there was none.
func (w *World[M]) Actor(id view.ID) *Actor[M] {
	for _, a := range w.Actors {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// add lets a member live.
func (w *World[M]) add(m M, id view.ID) {
	a := &Actor[M]{ID: id, M: m}
	w.Actors = append(w.Actors, a)
	w.tick(a)
	w.drain(a)
}

func (w *World[M]) tick(a *Actor[M]) {
	w.At(w.Between(Beat/2, Beat), a, func() {
		w.Fail(a.M.Tick(w.now))
		w.tick(a)
	})
}

func (w *World[M]) drain(a *Actor[M]) {
	if !a.Dead && w.failed == nil {
		w.Hooks.Drain(a)
	}
}

// Compute lets a gradient end after a random time.
func (w *World[M]) Compute(a *Actor[M], end func()) {
	a.Working = true
	w.At(w.Between(time.Millisecond, 30*time.Millisecond), a, func() {
		a.Working = false
		end()
	})
}

// Send delivers a letter in the order of its link, after a random delay.
func (w *World[M]) Send(a *Actor[M], id view.ID, deliver func(to *Actor[M]) error) {
	to := w.Actor(id)
	if to == nil || to.Dead || w.Apart != nil && w.Apart(a.ID, id) {
		return
	}
	link := [2]view.ID{a.ID, id}
	when := max(w.now+w.Between(time.Millisecond, 25*time.Millisecond), w.links[link])
	if w.Draw.IntN(40) == 0 {
		when += w.Between(0, 150*time.Millisecond)
	}
	w.links[link] = when
	w.push(event[M]{at: when, from: a.ID, to: to, sent: true, life: func() {
		if w.Apart == nil || !w.Apart(a.ID, id) {
			w.Fail(deliver(to))
		}
	}})
}

// Left ends the process of a member that has left.
func (w *World[M]) Left(a *Actor[M]) {
	w.Counts["left"]++
	w.end(a, false)
}

// Excluded ends the process of a member that the others took for dead, and lets it come back.
func (w *World[M]) Excluded(a *Actor[M]) {
	w.Counts["excluded"]++
	w.end(a, true)
	w.Join()
}

func (w *World[M]) end(a *Actor[M], died bool) {
	a.Dead = true
	if w.Hooks.Ended != nil {
		w.Hooks.Ended(a, died)
	}
}

// Kill ends a process. Of the letters on their way some are lost, the later ones of each link.
func (w *World[M]) Kill(a *Actor[M]) {
	w.end(a, true)
	from := map[*Actor[M]]time.Duration{}
	w.queue = slices.DeleteFunc(w.queue, func(e event[M]) bool {
		if !e.sent || e.from != a.ID {
			return false
		}
		if from[e.to] == 0 {
			from[e.to] = w.now + w.Between(0, 25*time.Millisecond)
		}
		return e.at > from[e.to]
	})
	heap.Init(&w.queue)
}

// Alive returns the members whose processes live, and those that want to be members.
func (w *World[M]) Alive() (all []*Actor[M]) {
	for _, a := range w.Actors {
		if !a.Dead {
			all = append(all, a)
		}
	}
	return all
}

// lives reports whether a member has a process that is not among some.
func (w *World[M]) lives(gone ...*Actor[M]) func(id view.ID) bool {
	return func(id view.ID) bool {
		a := w.Actor(id)
		return a != nil && !a.Dead && !slices.Contains(gone, a)
	}
}

// spare reports whether the others can decide without some, and have a state.
func (w *World[M]) spare(gone ...*Actor[M]) bool {
	stateful := false
	for _, a := range w.Alive() {
		if slices.Contains(gone, a) {
			continue
		}
		stateful = stateful || w.Hooks.Stateful(a.M) && !a.Leaving
		if a.M.Council().Log() != nil && !a.M.Council().Majority(w.lives(gone...)) {
			return false
		}
	}
	return stateful
}

// Join lets another process ask until it is admitted.
func (w *World[M]) Join() {
	w.process++
	process := w.process
	var ask func()
	ask = func() {
		all := w.Alive()
		if len(all) == 0 {
			return
		}
		door := all[w.Draw.IntN(len(all))].M.Council()
		for _, a := range all {
			if id, ok := a.M.Council().Admitted(process); ok {
				m, err := w.Hooks.Join(id)
				w.Fail(err)
				w.add(m, id)
				return
			}
		}
		if door.Log() != nil {
			door.Ask(council.Newcomer{Member: view.Member{Name: fmt.Sprint("p", process)}, Process: process})
		}
		w.At(150*time.Millisecond, nil, ask)
	}
	ask()
}

// strike makes a fault.
func (w *World[M]) strike() {
	all := w.Alive()
	if len(all) == 0 {
		return
	}
	one := all[w.Draw.IntN(len(all))]
	switch w.Draw.IntN(12) {
	case 0, 1, 2:
		if len(all) < 8 {
			w.Counts["join"]++
			w.Join()
		}
	case 3, 4:
		if !one.Leaving && w.Hooks.Working(one.M) && w.spare(one) {
			w.Counts["leave"]++
			one.Leaving = true
			one.M.Leave()
		}
	case 5, 6:
		w.die(one)
	case 7:
		two := all[w.Draw.IntN(len(all))]
		if one != two && w.spare(one, two) {
			w.Counts["two"]++
			w.Kill(one)
			w.Kill(two)
		}
	case 8:
		for _, a := range all {
			if a.M.Council().Leads() {
				w.die(a)
				break
			}
		}
	case 9, 10:
		if one.asleep <= w.now && w.spare(one) {
			w.Counts["pause"]++
			one.asleep = w.now + w.Between(50*time.Millisecond, 3*Grace)
		}
	case 11:
		w.part(all)
	}
}

func (w *World[M]) die(a *Actor[M]) {
	if w.spare(a) {
		w.Counts["die"]++
		w.Kill(a)
	}
}

// part draws members that do not hear the others for a while.
func (w *World[M]) part(all []*Actor[M]) {
	part := map[view.ID]bool{}
	var gone []*Actor[M]
	for _, a := range all {
		if w.Draw.IntN(3) == 0 {
			part[a.ID] = true
			gone = append(gone, a)
		}
	}
	if w.Apart == nil && len(part) > 0 && w.spare(gone...) {
		w.Counts["partition"]++
		w.Apart = func(a, b view.ID) bool { return part[a] != part[b] }
		w.At(w.Between(50*time.Millisecond, 4*Grace), nil, func() { w.Apart = nil })
	}
}

// Run founds the run, and lets it run to its end.
func (w *World[M]) Run() error {
	var all []view.Member
	for i := range w.N {
		all = append(all, view.Member{ID: view.ID(i)})
	}
	for _, founder := range all {
		log, err := view.New(w.Base, view.Record{Members: all})
		if err != nil {
			return err
		}
		m, err := w.Hooks.Found(w.First+founder.ID, log)
		if err != nil {
			return err
		}
		w.add(m, w.First+founder.ID)
	}
	for range w.Faults {
		w.At(w.Between(0, 1500*time.Millisecond), nil, w.strike)
	}
	for w.failed == nil && !w.Hooks.Over() {
		if w.now > limit {
			return w.stalled()
		}
		w.step(heap.Pop(&w.queue).(event[M]))
	}
	return w.failed
}

func (w *World[M]) step(e event[M]) {
	w.now = e.at
	switch {
	case e.to == nil:
		e.life()
		for _, a := range w.Actors {
			w.drain(a)
		}
	case e.to.Dead:
	case e.to.asleep > w.now: // a process that does not run: all waits
		e.at = e.to.asleep
		heap.Push(&w.queue, e)
	default:
		e.life()
		w.drain(e.to)
	}
}

var errStall = errors.New("nothing moves")

// stalled returns why nothing moves; nil if the members that live cannot decide, and say so. The voters that are dead
// were too many for a change that was under way, or all members with a state are.
func (w *World[M]) stalled() error {
	for _, a := range w.Alive() {
		if w.Hooks.Log(a.M) != nil && !a.M.Council().Majority(w.lives()) {
			w.Counts["no majority"]++
			return nil
		}
	}
	if w.bereft() {
		w.Counts["no state"]++
		return nil
	}
	text := ""
	for _, a := range w.Actors {
		lead, _ := a.M.Council().Leader()
		text += fmt.Sprintf("\n  %d dead %v views %d lead %d waits %v %s", a.ID, a.Dead, viewsOf(w.Hooks.Log(a.M)), lead,
			a.M.Council().Waits(), w.Hooks.Tell(a))
	}
	return fmt.Errorf("%w:%s", errStall, text)
}

// bereft reports whether no member of the last view that lives has a state, and all that are watched say so.
func (w *World[M]) bereft() bool {
	says := 0
	for _, a := range w.Alive() {
		log := w.Hooks.Log(a.M)
		if log == nil {
			continue
		}
		if _, member := log.Last().Rank(a.ID); member && w.Hooks.Stateful(a.M) || !council.Bereft(a.M.Council()) {
			return false
		}
		says++
	}
	return says > 0
}

// Longest returns the longest log of all that ever lived, and an error if another one differs from it.
func (w *World[M]) Longest() (longest *view.Log, err error) {
	for _, a := range w.Actors {
		if log := w.Hooks.Log(a.M); viewsOf(log) > viewsOf(longest) {
			longest = log
		}
	}
	for _, a := range w.Actors {
		log := w.Hooks.Log(a.M)
		for v := range viewsOf(log) {
			if fmt.Sprint(*log.At(v)) != fmt.Sprint(*longest.At(v)) {
				return nil, fmt.Errorf("view %d: member %d has %+v, another %+v", v, a.ID, *log.At(v), *longest.At(v))
			}
		}
	}
	for v := range viewsOf(longest) {
		if why := longest.At(v).Why; strings.Contains(why, "cannot be true") {
			return nil, fmt.Errorf("view %d: %s, but none lies", v, why)
		}
	}
	return longest, nil
}

func viewsOf(log *view.Log) int {
	if log == nil {
		return 0
	}
	return log.Len()
}

// Describe tells what happened, and the records of the first member that lives.
func (w *World[M]) Describe() string {
	text := fmt.Sprint(w.Counts)
	if alive := w.Alive(); len(alive) > 0 {
		log := w.Hooks.Log(alive[0].M)
		for v := range viewsOf(log) {
			r := log.At(v)
			text += fmt.Sprintf("\n  view %d first %d members %v sponsors %v left %v dead %v lost %v values %v: %s", v, r.First,
				r.IDs(), r.Sponsors, r.Left, r.Dead, r.Lost, r.Values, r.Why)
		}
	}
	return text
}
