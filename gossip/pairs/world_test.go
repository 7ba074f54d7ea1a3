package pairs

import (
	"container/heap"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

var schedules = flag.Int("schedules", 300, "`N` random schedules of joins, leaves, deaths, pauses and partitions")
var firstSeed = flag.Uint64("first", 1, "`SEED` of the first random schedule")

const (
	dim    = 3
	alpha  = 0.125
	beat   = 20 * time.Millisecond
	wait   = 120 * time.Millisecond
	grace  = 400 * time.Millisecond
	limit  = 120 * time.Second // of virtual time
	rounds = 24
	most   = 10
)

// A setting is what a schedule is drawn for.
type setting struct {
	kind    topology.Kind
	moniqua bool
	n       int
	faults  int
	seed    uint64
	kinds   int // of faults that may happen; 0: all
}

var graphs = []topology.Kind{topology.Ring, topology.Complete, topology.Star, topology.Torus}

func settingOf(seed uint64) setting {
	return setting{kind: graphs[seed%uint64(len(graphs))], moniqua: seed/5%2 == 1, n: 1 + int(seed/3%8),
		faults: int(seed % 17), seed: seed}
}

// A book notes what moves the sum of the models.
type book struct {
	founders, gradients, clones [dim]float64
}

func add(to *[dim]float64, x []float32, factor float64) {
	for i := range to {
		to[i] += factor * float64(x[i])
	}
}

type worker struct {
	w    *world
	pair *gossip.PairWorker
	at   Place
}

func (k *worker) Pair() *gossip.PairWorker { return k.pair }
func (k *worker) Save(*state.Snapshot)     {}

// Gradient depends on the id and on the rank, which is the number of the shard.
func (k *worker) Gradient(n int, x []float32) ([]float32, float32, error) {
	g := make([]float32, len(x))
	for i := range g {
		a := 0.25 + float32((int(k.at.ID)*7+i*3)%5)/4
		g[i] = a*x[i] - float32((int(k.at.ID)*5+k.at.Rank+i+n)%7) + 3
	}
	return g, x[0], nil
}

// Enter makes a worker, or gives one another shard.
func (w *world) Enter(p Place) (Worker, error) {
	if p.Before != nil {
		return &worker{w, p.Before.Pair(), p}, nil
	}
	x := make([]float32, dim)
	for i := range x {
		x[i] = float32(int(p.ID)+i) / 4
	}
	links := map[topology.Rank]algos.Codec{}
	alg := &algos.ADPSGD{X: x, Alpha: func(int) float32 { return alpha }, Weight: 0.5}
	alg.Codec = func(peer topology.Rank) algos.Codec {
		if !w.moniqua {
			return algos.Full{}
		}
		if links[peer] == nil {
			control, err := moniqua.NewPairFixed(64)
			if err != nil {
				panic(err)
			}
			links[peer], err = moniqua.NewPair(moniqua.Codec{Levels: 256, Rounding: moniqua.Dither,
				Seed: rng.Edge(7, int(p.ID), int(peer)), Rank: p.ID}, peer, control)
			if err != nil {
				panic(err)
			}
		}
		return links[peer]
	}
	plan := gossip.PairPlan{Workers: most, Rounds: rounds, Seed: w.seed, Serve: true}
	pair, err := gossip.EnterPair(p.ID, alg, plan, p.Census, p.State)
	if err == nil && p.State == nil {
		add(&w.book.founders, x, 1)
	} else {
		add(&w.book.clones, x, 1)
	}
	return &worker{w, pair, p}, err
}

// An actor is a member with its process.
type actor struct {
	id      ID
	m       *Member
	dead    bool
	killed  bool
	last    [dim]float64  // the model with which it left or died
	doubt   bool          // it died, and an exchange with it was open
	asleep  time.Duration // until then
	working bool          // takes a gradient
	leaving bool
}

type event struct {
	at    time.Duration
	order int
	from  ID // of a letter
	to    *actor
	life  func()
	sent  bool // is a letter
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(event)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// A world runs members with random delays and faults on a virtual clock.
type world struct {
	setting
	draw    *rand.Rand
	now     time.Duration
	queue   queue
	order   int
	actors  []*actor // all that ever lived
	links   map[[2]ID]time.Duration
	apart   func(a, b ID) bool // a partition; nil: none
	book    book
	process uint64
	failed  error
	counts  map[string]int
	trace   func(a *actor)
}

func newWorld(s setting) *world {
	return &world{setting: s, draw: rand.New(rand.NewPCG(s.seed, 1)), links: map[[2]ID]time.Duration{},
		counts: map[string]int{}}
}

func (w *world) options(id ID) Options {
	return Options{Council: council.Options{ID: id, Seed: w.seed, Base: topology.Spec{Kind: w.kind, Slack: 1, Seed: 5},
		Beat: beat, Patience: wait, Grace: grace, Most: most}, Maker: w, Fewest: 1}
}

func (w *world) at(delay time.Duration, to *actor, life func()) {
	w.order++
	heap.Push(&w.queue, event{at: w.now + delay, order: w.order, to: to, life: life})
}

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.draw.Int64N(int64(high-low)+1))
}

func (w *world) fail(err error) {
	if w.failed == nil && err != nil {
		w.failed = err
	}
}

func (w *world) actor(id ID) *actor {
	for _, a := range w.actors {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (w *world) add(m *Member, id ID) {
	a := &actor{id: id, m: m}
	w.actors = append(w.actors, a)
	w.tick(a)
	w.drain(a)
}

func (w *world) tick(a *actor) {
	w.at(w.between(beat/2, beat), a, func() {
		w.fail(a.m.Tick(w.now))
		w.tick(a)
	})
}

// drain does what a member asks for.
func (w *world) drain(a *actor) {
	if a.dead || w.failed != nil {
		return
	}
	r, err := a.m.Ready()
	if err != nil {
		w.fail(err)
		return
	}
	for _, p := range r.Send {
		w.send(a, p)
	}
	if r.Compute && !a.working {
		a.working = true
		w.at(w.between(time.Millisecond, 30*time.Millisecond), a, func() {
			a.working = false
			k, x := r.Round, r.At
			g, _, _ := a.m.Worker().Gradient(k, x)
			add(&w.book.gradients, g, -alpha)
			w.fail(a.m.Gradient(g, 0))
		})
	}
	if w.trace != nil {
		w.trace(a)
	}
	switch r.Standing {
	case member.Leaving: // it forwards those that ask to join
		if _, ended := view.End(a.m.log); a.m.Late() && !ended {
			w.fail(fmt.Errorf("member %d takes its own end for that of the run", a.id))
		}
	case member.Left:
		w.end(a, false)
		w.counts["left"]++
	case member.Excluded:
		w.end(a, true)
		w.counts["excluded"]++
		w.join()
	}
}

// end ends a process.
func (w *world) end(a *actor, died bool) {
	a.dead, a.killed = true, died
	if a.m.worker == nil {
		return
	}
	add(&a.last, a.m.worker.Pair().Params(), 1)
	for _, b := range w.actors {
		if b != a && b.m.worker != nil {
			a.doubt = a.doubt || gossip.InDoubt(a.m.worker.Pair(), b.id) || gossip.InDoubt(b.m.worker.Pair(), a.id)
		}
	}
}

// send delivers a letter after a random delay, in the order of its link but now and then.
func (w *world) send(a *actor, p member.Post) {
	to := w.actor(p.To)
	if to == nil || to.dead || w.apart != nil && w.apart(a.id, p.To) {
		return
	}
	link := [2]ID{a.id, p.To}
	when := max(w.now+w.between(time.Millisecond, 25*time.Millisecond), w.links[link])
	if w.draw.IntN(40) == 0 {
		when += w.between(0, 150*time.Millisecond)
	}
	w.links[link] = when
	if p.Frame != nil && w.draw.IntN(50) == 0 { // a stream that breaks
		return
	}
	w.order++
	heap.Push(&w.queue, event{at: when, order: w.order, from: a.id, to: to, sent: true, life: func() {
		if w.apart == nil || !w.apart(a.id, p.To) {
			w.fail(to.m.Receive(a.id, p.Letter))
		}
	}})
}

// kill ends a process. Of the letters on their way some are lost, the later ones of each link.
func (w *world) kill(a *actor) {
	w.end(a, true)
	from := map[*actor]time.Duration{}
	w.queue = slices.DeleteFunc(w.queue, func(e event) bool {
		if !e.sent || e.from != a.id {
			return false
		}
		if from[e.to] == 0 {
			from[e.to] = w.now + w.between(0, 25*time.Millisecond)
		}
		return e.at > from[e.to]
	})
	heap.Init(&w.queue)
}

func (w *world) alive() (all []*actor) {
	for _, a := range w.actors {
		if !a.dead {
			all = append(all, a)
		}
	}
	return all
}

// spare reports whether those that remain without some can decide and have a state.
func (w *world) spare(gone ...*actor) bool {
	stateful := false
	for _, a := range w.alive() {
		if slices.Contains(gone, a) {
			continue
		}
		stateful = stateful || a.m.Standing() != member.Joining && !a.leaving
		if a.m.Council().Log() != nil && !a.m.Council().Majority(func(id ID) bool {
			b := w.actor(id)
			return b != nil && !b.dead && !slices.Contains(gone, b)
		}) {
			return false
		}
	}
	return stateful
}

// join lets another process ask until it is admitted.
func (w *world) join() {
	w.process++
	process := w.process
	var ask func()
	ask = func() {
		all := w.alive()
		if len(all) == 0 {
			return
		}
		for _, a := range all {
			if id, ok := a.m.Council().Admitted(process); ok {
				m, err := Join(w.options(id))
				w.fail(err)
				w.add(m, id)
				return
			}
		}
		if door := all[w.draw.IntN(len(all))]; door.m.Council().Log() != nil {
			door.m.Council().Ask(council.Newcomer{Member: view.Member{Name: fmt.Sprint("p", process)}, Process: process})
		}
		w.at(150*time.Millisecond, nil, ask)
	}
	ask()
}

// strike makes a fault.
func (w *world) strike() {
	all := w.alive()
	if len(all) == 0 {
		return
	}
	one := all[w.draw.IntN(len(all))]
	kinds := 12
	if w.kinds > 0 {
		kinds = w.kinds
	}
	switch kind := w.draw.IntN(kinds); kind {
	case 0, 1, 2:
		if len(all) < 8 {
			w.counts["join"]++
			w.join()
		}
	case 3, 4:
		if !one.leaving && one.m.Standing() == member.Working && w.spare(one) {
			w.counts["leave"]++
			one.leaving = true
			one.m.Leave()
		}
	case 5, 6:
		w.die(one)
	case 7:
		two := all[w.draw.IntN(len(all))]
		if one != two && w.spare(one, two) {
			w.counts["two"]++
			w.kill(one)
			w.kill(two)
		}
	case 8:
		for _, a := range all {
			if a.m.Council().Leads() {
				w.die(a)
				break
			}
		}
	case 9, 10:
		if one.asleep <= w.now && w.spare(one) {
			w.counts["pause"]++
			one.asleep = w.now + w.between(50*time.Millisecond, 3*grace)
		}
	case 11:
		part := map[ID]bool{}
		var gone []*actor
		for _, a := range all {
			if w.draw.IntN(3) == 0 {
				part[a.id] = true
				gone = append(gone, a)
			}
		}
		if w.apart == nil && len(part) > 0 && w.spare(gone...) {
			w.counts["partition"]++
			w.apart = func(a, b ID) bool { return part[a] != part[b] }
			w.at(w.between(50*time.Millisecond, 4*grace), nil, func() { w.apart = nil })
		}
	}
}

func (w *world) die(a *actor) {
	if w.spare(a) {
		w.counts["die"]++
		w.kill(a)
	}
}

var errStall = errors.New("nothing moves")

// run runs the schedule to the end.
func (w *world) run() error {
	var all []view.Member
	for i := range w.n {
		all = append(all, view.Member{ID: ID(i)})
	}
	for i := range w.n {
		log, err := view.New(topology.Spec{Kind: w.kind, Slack: 1, Seed: 5}, view.Record{Members: all})
		if err != nil {
			return err
		}
		m, err := Found(w.options(ID(i)), log)
		if err != nil {
			return err
		}
		w.add(m, ID(i))
	}
	for range w.faults {
		w.at(w.between(0, 1500*time.Millisecond), nil, w.strike)
	}
	for w.failed == nil && !w.over() {
		if w.now > limit {
			return w.stalled()
		}
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		if e.to == nil {
			e.life()
			for _, a := range w.actors {
				w.drain(a)
			}
			continue
		}
		switch {
		case e.to.dead:
		case e.to.asleep > w.now: // a process that does not run: all waits
			e.at = e.to.asleep
			heap.Push(&w.queue, e)
		default:
			e.life()
			w.drain(e.to)
		}
	}
	return w.failed
}

// over reports whether all that live have ended.
func (w *world) over() bool {
	for _, a := range w.alive() {
		switch {
		case a.m.Standing() == member.Finished, a.m.Standing() == member.Leaving:
		case a.m.Standing() == member.Joining && (a.m.log == nil || a.m.Late()): // it comes too late
		default:
			return false
		}
	}
	return true
}

// stalled returns why nothing moves; nil if those that live cannot decide: the voters that are dead were too many for a
// change that was under way.
func (w *world) stalled() error {
	for _, a := range w.alive() {
		if a.m.log != nil && !a.m.Council().Majority(func(id ID) bool { b := w.actor(id); return b != nil && !b.dead }) {
			w.counts["no majority"]++
			return nil
		}
	}
	text := ""
	for _, a := range w.actors {
		views := 0
		if a.m.log != nil {
			views = a.m.log.Len()
		}
		lead, _ := a.m.Council().Leader()
		text += fmt.Sprintf("\n  %d dead %v standing %v fence %v views %d lead %d waits %v step %+v", a.id, a.dead,
			a.m.Standing(), a.m.fence, views, lead, a.m.Council().Waits(), a.m.step)
		for _, id := range known(a.m.links) {
			text += fmt.Sprintf("\n    link %d: %+v", id, *a.m.links[id])
		}
	}
	return fmt.Errorf("%w:%s", errStall, text)
}

// check compares logs, and the sum of the models with all that has moved it.
func (w *world) check() error {
	var log *view.Log
	for _, a := range w.actors {
		if a.m.log != nil && (log == nil || a.m.log.Len() > log.Len()) {
			log = a.m.log
		}
	}
	left, doubt := [dim]float64{}, false
	for v := range viewsOf(log) {
		doubt = doubt || strings.Contains(log.At(v).Why, "was open")
		if why := log.At(v).Why; strings.Contains(why, "cannot be true") {
			return fmt.Errorf("view %d: %s, but none lies", v, why)
		}
	}
	for _, a := range w.actors {
		for v := range max(0, viewsOf(a.m.log)) {
			if fmt.Sprint(*a.m.log.At(v)) != fmt.Sprint(*log.At(v)) {
				return fmt.Errorf("view %d: member %d has %+v, another %+v", v, a.id, *a.m.log.At(v), *log.At(v))
			}
		}
		if _, dead := log.Dead(a.id); dead && !a.dead { // it does not know yet
			w.end(a, true)
		} else if dead {
			a.killed = true
		}
		doubt = doubt || a.killed && a.doubt
		switch {
		case a.dead:
			for i := range left {
				left[i] += a.last[i]
			}
		case a.m.worker != nil:
			add(&left, a.m.worker.Pair().Params(), 1)
		}
	}
	if doubt {
		w.counts["doubt"]++
		return nil
	}
	w.counts["exact"]++
	for i := range left {
		want := w.book.founders[i] + w.book.gradients[i] + w.book.clones[i]
		if math.Abs(left[i]-want) > 1e-3 {
			return fmt.Errorf("coordinate %d: the sum of the models is %v, gradients and clones make %v", i, left[i], want)
		}
	}
	return nil
}

func viewsOf(log *view.Log) int {
	if log == nil {
		return 0
	}
	return log.Len()
}

func describe(w *world) string {
	text, alive := fmt.Sprint(w.setting, " ", w.counts), w.alive()
	if len(alive) == 0 {
		return text
	}
	log := alive[0].m.log
	for v := range viewsOf(log) {
		r := log.At(v)
		text += fmt.Sprintf("\n  view %d members %v sponsors %v left %v dead %v: %s", v, r.IDs(), r.Sponsors, r.Left, r.Dead,
			r.Why)
	}
	return text
}

// Random schedules end, and all logs are equal. The sum of the models moves by gradients alone, but for clones and for
// members that go. Where an exchange was open as one end died, the record says so, and the sum is not compared.
func TestRandomSchedules(t *testing.T) {
	total, bad := map[string]int{}, 0
	for i := range *schedules {
		w := newWorld(settingOf(*firstSeed + uint64(i)))
		err := w.run()
		if err == nil {
			err = w.check()
		}
		if err != nil {
			t.Errorf("%v\n%s", err, describe(w))
			if bad++; bad > 4 {
				break
			}
		}
		for what, n := range w.counts {
			total[what] += n
		}
	}
	t.Log(total)
}
