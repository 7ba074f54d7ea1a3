package pairs

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	testworld "gossiptrainer/internal/proptest/world"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

var schedules = flag.Int("schedules", 300, "`N` random schedules of joins, leaves, deaths, pauses and partitions")
var firstSeed = flag.Uint64("first", 1, "`SEED` of the first random schedule")

const (
	dim    = 3
	alpha  = 0.125
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

// A world runs members with random delays and faults on a virtual clock.
type world struct {
	*testworld.World[*Member]
	setting
	book book
	ends map[ID]*ending // of members that have left or died
}

type actor = testworld.Actor[*Member]

// An ending is how a member went.
type ending struct {
	killed bool
	last   [dim]float64 // its model
	doubt  bool         // an exchange with it was open
}

func newWorld(s setting) *world {
	w := &world{World: testworld.New[*Member](s.n, s.faults, s.seed, topology.Spec{Kind: s.kind, Slack: 1, Seed: 5}),
		setting: s, ends: map[ID]*ending{}}
	w.Hooks = testworld.Hooks[*Member]{
		Found:    func(id ID, log *view.Log) (*Member, error) { return Found(w.options(id), log) },
		Join:     func(id ID) (*Member, error) { return Join(w.options(id)) },
		Log:      func(m *Member) *view.Log { return m.log },
		Stateful: func(m *Member) bool { return m.Standing() != member.Joining },
		Working:  func(m *Member) bool { return m.Standing() == member.Working },
		Drain:    w.drain, Ended: w.end, Over: w.over, Tell: tell,
	}
	return w
}

func (w *world) options(id ID) Options {
	return Options{Council: council.Options{ID: id, Seed: w.seed, Base: w.Base, Beat: testworld.Beat,
		Patience: testworld.Wait, Grace: testworld.Grace, Most: most}, Maker: w, Fewest: 1}
}

// drain does what a member asks for.
func (w *world) drain(a *actor) {
	r, err := a.M.Ready()
	if err != nil {
		w.Fail(err)
		return
	}
	for _, p := range r.Send {
		if p.Frame == nil || w.Draw.IntN(50) > 0 { // a stream may break
			w.Send(a, p.To, func(to *actor) error { return to.M.Receive(a.ID, p.Letter) })
		}
	}
	if r.Compute && !a.Working {
		w.Compute(a, func() {
			g, _, _ := a.M.Worker().Gradient(r.Round, r.At)
			add(&w.book.gradients, g, -alpha)
			w.Fail(a.M.Gradient(g, 0))
		})
	}
	switch r.Standing {
	case member.Leaving: // it forwards those that ask to join
		if _, ended := view.End(a.M.log); a.M.Late() && !ended {
			w.Fail(fmt.Errorf("member %d takes its own end for that of the run", a.ID))
		}
	case member.Left:
		w.Left(a)
	case member.Excluded:
		w.Excluded(a)
	}
}

// end keeps how a member went.
func (w *world) end(a *actor, died bool) {
	e := &ending{killed: died}
	w.ends[a.ID] = e
	if a.M.worker == nil {
		return
	}
	add(&e.last, a.M.worker.Pair().Params(), 1)
	for _, b := range w.Actors {
		if b != a && b.M.worker != nil {
			e.doubt = e.doubt || gossip.InDoubt(a.M.worker.Pair(), b.ID) || gossip.InDoubt(b.M.worker.Pair(), a.ID)
		}
	}
}

// over reports whether all that live have ended.
func (w *world) over() bool {
	for _, a := range w.Alive() {
		switch {
		case a.M.Standing() == member.Finished, a.M.Standing() == member.Leaving:
		case a.M.Standing() == member.Joining && (a.M.log == nil || a.M.Late()): // it comes too late
		default:
			return false
		}
	}
	return true
}

func tell(a *actor) string {
	text := fmt.Sprintf("standing %v fence %v step %+v", a.M.Standing(), a.M.fence, a.M.step)
	for _, id := range known(a.M.links) {
		text += fmt.Sprintf("\n    link %d: %+v", id, *a.M.links[id])
	}
	return text
}

// check compares logs, and the sum of the models with all that has moved it.
func (w *world) check() error {
	log, err := w.Longest()
	if err != nil {
		return err
	}
	left, doubt := [dim]float64{}, false
	for v := range log.Len() {
		doubt = doubt || strings.Contains(log.At(v).Why, "was open")
	}
	for _, a := range w.Actors {
		if _, dead := log.Dead(a.ID); dead && !a.Dead { // it does not know yet
			a.Dead = true
			w.end(a, true)
		} else if dead {
			w.ends[a.ID].killed = true
		}
		switch e := w.ends[a.ID]; {
		case e != nil:
			doubt = doubt || e.killed && e.doubt
			for i := range left {
				left[i] += e.last[i]
			}
		case a.M.worker != nil:
			add(&left, a.M.worker.Pair().Params(), 1)
		}
	}
	if doubt {
		w.Counts["doubt"]++
		return nil
	}
	w.Counts["exact"]++
	for i := range left {
		want := w.book.founders[i] + w.book.gradients[i] + w.book.clones[i]
		if math.Abs(left[i]-want) > 1e-3 {
			return fmt.Errorf("coordinate %d: the sum of the models is %v, gradients and clones make %v", i, left[i], want)
		}
	}
	return nil
}

// Random schedules end, and all logs are equal. The sum of the models moves by gradients alone, but for clones and for
// members that go. Where an exchange was open as one end died, the record says so, and the sum is not compared.
func TestRandomSchedules(t *testing.T) {
	total, bad := map[string]int{}, 0
	for i := range *schedules {
		w := newWorld(settingOf(*firstSeed + uint64(i)))
		err := w.Run()
		if err == nil {
			err = w.check()
		}
		if err != nil {
			t.Errorf("%v\n%v %s", err, w.setting, w.Describe())
			if bad++; bad > 4 {
				break
			}
		}
		for what, n := range w.Counts {
			total[what] += n
		}
	}
	t.Log(total)
}
