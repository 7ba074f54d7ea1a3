package member

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

const (
	dim    = 3
	alpha  = 0.125
	beat   = 20 * time.Millisecond
	wait   = 120 * time.Millisecond
	grace  = 400 * time.Millisecond
	limit  = 120 * time.Second // of virtual time
	rounds = 24
)

// A setting is what a schedule is drawn for.
type setting struct {
	kind   topology.Kind
	rule   string
	n      int
	margin int
	every  int
	faults int
	seed   uint64
}

func (s setting) String() string {
	return fmt.Sprintf("%s %s n %d H %d margin %d faults %d seed %d", s.rule, s.kind, s.n, s.every, s.margin, s.faults,
		s.seed)
}

func (s setting) base() topology.Spec {
	if s.together() != nil {
		return topology.Spec{Kind: topology.Complete, Slack: 1}
	}
	return topology.Spec{Kind: s.kind, Slack: 0.75, Seed: 5}
}

func (s setting) plan() retrace.Plan {
	return retrace.Plan{Rounds: rounds * s.every, Every: s.every, Together: s.together()}
}

// together returns the rows of n workers of an all-reduce, nil for other rules.
func (s setting) together() func(n int) ([]topology.Sequence, error) {
	kind := map[string]topology.Kind{
		"allreduce": topology.Ring, "allgather": topology.Complete, "server": topology.Star,
	}[s.rule]
	if kind == "" {
		return nil
	}
	return func(n int) (rows []topology.Sequence, err error) {
		if kind == topology.Ring {
			for _, row := range topology.Cycle(n) {
				rows = append(rows, row)
			}
			return rows, nil
		}
		g, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1})
		for i := range n {
			rows = append(rows, g.Row(topology.Rank(i), 0))
		}
		return rows, err
	}
}

// A builder makes members, and keeps the models at which they take gradients.
type builder struct {
	setting
	models map[int]map[ID][]float32
	broken func(p *retrace.Place)
	noise  func(p retrace.Place) ID                // its address, where that is not the id
	begin  func(p retrace.Place, m *gossip.Worker) // changes a member that has entered
	agreed *gossip.Agreement                       // of the member that enters
	alone  bool                                    // a mistake: the log says nothing about θ and bits
}

func newBuilder(s setting) *builder { return &builder{setting: s, models: map[int]map[ID][]float32{}} }

type maker struct {
	b       *builder
	place   retrace.Place
	machine *gossip.Worker
}

func (m *maker) Machine() *gossip.Worker { return m.machine }
func (m *maker) Save(*state.Snapshot)    {}

// Gradient depends on the id and on the rank, which is the number of the shard.
func (m *maker) Gradient(k int, x []float32) ([]float32, float32, error) {
	m.b.note(k, m.place.ID, x)
	g := make([]float32, len(x))
	for i := range g {
		a := 0.25 + float32((int(m.place.ID)*7+i*3)%5)/4
		g[i] = a*x[i] - float32((int(m.place.ID)*5+m.place.Rank+i+k)%7) + 3
	}
	return g, x[0] + float32(m.place.ID), nil
}

func (b *builder) note(k int, id ID, x []float32) {
	if b.models[k] == nil {
		b.models[k] = map[ID][]float32{}
	}
	b.models[k][id] = slices.Clone(x)
}

// Boundary keeps the model of a round.
func (b *builder) Boundary(k int, id ID, x []float32) { b.note(k, id, x) }

// Restarted does nothing.
func (b *builder) Restarted(int, int, ID, []float32) {}

func topK(topology.Rank) quant.Compressor {
	c, err := quant.NewTopK(1)
	if err != nil {
		panic(err)
	}
	return c
}

// tops are the compressors of a member and its neighbours.
func tops(p retrace.Place) algos.Compression {
	c := algos.Compression{Own: topK(0)}
	for range p.Rows.At(0).In {
		c.In = append(c.In, topK(0))
	}
	return c
}

func (b *builder) algorithm(p retrace.Place, x []float32) gossip.Algorithm {
	step := func(int) float32 { return alpha }
	full := algos.Full{Piece: 1 << 20}
	switch b.rule {
	case "atc":
		return &algos.DPSGD{X: x, Alpha: step, Codec: full, Order: algos.ATC}
	case "pieces":
		return &algos.DPSGD{X: x, Alpha: step, Codec: algos.Full{Piece: 1}}
	case "moniqua":
		codec, err := moniqua.New(256, moniqua.Stochastic, func(int) float64 { return 64 }, 7, b.address(p))
		if err != nil {
			panic(err)
		}
		return &algos.DPSGD{X: x, Alpha: step, Codec: codec}
	case "adaptive", "measured":
		return &algos.DPSGD{X: x, Alpha: step, Codec: b.controlled(p, 0)}
	case "gt adaptive":
		return &algos.GT{X: x, Alpha: step, Lanes: []algos.Codec{b.controlled(p, 0), b.controlled(p, 1)}, Eta: 1}
	case "bits":
		b.agreed = b.agreement(p)
		codec, err := moniqua.New(256, moniqua.Dither, func(int) float64 { return 64 }, 7, b.address(p))
		if err != nil {
			panic(err)
		}
		codec.Bits = b.agreed.Bits
		return &algos.DPSGD{X: x, Alpha: step, Codec: codec}
	case "allreduce":
		return &algos.AllReduce{X: x, Alpha: step, Rank: p.Seat, Workers: p.Workers}
	case "allgather":
		return &algos.AllGather{X: x, Alpha: step, Rank: p.Seat, Feedback: true, Compression: tops(p)}
	case "server":
		return &algos.Server{X: x, Alpha: step, Rank: p.Seat, Feedback: true, Compression: tops(p), Mean: topK(0)}
	case "d2":
		return &algos.D2{X: x, Alpha: step, Codec: full, Every: b.every}
	case "gt":
		return &algos.GT{X: x, Alpha: step, Lanes: []algos.Codec{full, full}, Eta: 1}
	case "choco":
		return &algos.Choco{X: x, Alpha: step, Gamma: 0.25, Compression: algos.Compression{Own: topK(0), Of: topK}}
	}
	return &algos.DPSGD{X: x, Alpha: step, Codec: full}
}

// scale returns that of a lane.
func scale(v view.Value, lane int) float64 { return [...]float64{v.Scale, v.Second}[lane] }

// controlled returns a codec that verifies. Its θ begins so small that the first messages need repairs.
func (b *builder) controlled(p retrace.Place, lane int) *moniqua.Codec {
	rule, g := moniqua.Adaptive, p.Log.Graph(p.View)
	if b.rule == "measured" {
		rule = moniqua.Measured
	}
	plan := moniqua.ControlPlan{Diameter: max(g.Reach(), g.Period()), Every: b.every, Start: 1. / 16,
		Unit: func(int) float64 { return 1 }, Step: 1. / 64, First: p.Log.At(p.View).First, Warm: p.View > 0}
	if begin := scale(p.Log.Begin(p.View), lane); begin > 0 {
		plan.Start = begin
	}
	plan.Agreed = func(x int) (float64, bool) {
		v, ok := p.Log.Value(p.View, x)
		return scale(v, lane), ok && !b.alone
	}
	control, err := rule(plan)
	if err != nil {
		panic(err)
	}
	codec, err := moniqua.NewControlled(64, moniqua.Dither, control, uint64(7+lane), b.address(p))
	if err != nil {
		panic(err)
	}
	codec.Verify = true
	codec.Behind(p.Rows.Behind())
	return codec
}

// An anyBits chooses bits by the losses.
type anyBits struct{}

func (anyBits) State(*state.Visit) {}
func (anyBits) Window() int        { return 1 }
func (anyBits) Choose(losses []float64, _ float64, _ time.Duration) int {
	return 4 + int(math.Float64bits(losses[0])>>40%5)
}

// agreement returns the part of a member in the choice of bits.
func (b *builder) agreement(p retrace.Place) *gossip.Agreement {
	var choose gossip.Chooser
	if p.Rank == 0 {
		choose = anyBits{}
	}
	plan := gossip.AgreementPlan{Diameter: p.Log.Graph(p.View).Reach(), Every: b.every, Window: 1, Low: 4, High: 8,
		Start: 8, First: p.Log.At(p.View).First}
	if begin := p.Log.Begin(p.View).Bits; begin > 0 {
		plan.Start = begin
	}
	plan.Agreed = func(x int) (int, bool) {
		v, ok := p.Log.Value(p.View, x)
		return v.Bits, ok && !b.alone
	}
	agreed, err := gossip.NewAgreement(plan, choose)
	if err != nil {
		panic(err)
	}
	return agreed
}

// address returns that of the noise of a member.
func (b *builder) address(p retrace.Place) ID {
	if b.noise != nil {
		return b.noise(p)
	}
	return p.ID
}

// Enter makes a member.
func (b *builder) Enter(p retrace.Place) (retrace.Member, error) {
	if b.broken != nil {
		b.broken(&p)
	}
	x := make([]float32, dim)
	for i := range x {
		x[i] = float32(int(p.ID)+i) / 4
		if b.together() != nil { // replicas are equal
			x[i] = float32(i) / 4
		}
	}
	m := &maker{b: b, place: p}
	b.agreed = nil
	rule := b.algorithm(p, x)
	schedule := gossip.Schedule{Rounds: p.Rounds, Every: b.every, Agreed: b.agreed}
	var err error
	if p.State == nil {
		m.machine, err = gossip.NewScheduled(p.ID, p.Rows, rule, schedule)
	} else {
		m.machine, err = gossip.Enter(p.ID, p.Rows, rule, schedule, p.Entrance)
	}
	if b.begin != nil && err == nil {
		b.begin(p, m.machine)
	}
	return m, err
}

// An actor is a member with its process.
type actor struct {
	id      ID
	m       *Member
	dead    bool
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
	build   *builder
	process uint64
	joining int // processes that want to join
	failed  error
	counts  map[string]int
	decide  council.Decide // plants a mistake; nil: none
	taken   bool           // a mistake: frames of the fence are taken
	early   bool           // a mistake: leavers do not serve
	fewest  int            // members below which all wait

	forgets bool // a mistake: a member answers no request of a view that it has finished
	torn    bool // a mistake: no member says that it cannot recover a message of the dead
}

func newWorld(s setting) *world {
	return &world{setting: s, draw: rand.New(rand.NewPCG(s.seed, 1)), links: map[[2]ID]time.Duration{},
		build: newBuilder(s), counts: map[string]int{}, fewest: 1}
}

func (w *world) options(id ID) Options {
	return Options{Council: council.Options{ID: id, Seed: w.seed, Base: w.base(), Beat: beat, Patience: wait, Grace: grace,
		Margin: w.margin, Most: 10, Decide: w.decide}, Maker: w.build, Plan: w.plan(), Fewest: w.fewest}
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

// add lets a member live.
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
	if w.forgets {
		a.m.retired = nil
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
		k, x, maker := r.Round, r.At, a.m.place.member
		w.at(w.between(time.Millisecond, 30*time.Millisecond), a, func() {
			a.working = false
			if again, err := a.m.Ready(); err != nil || !again.Compute || again.Round != k {
				w.fail(err)
				w.post(a, again)
				return
			} else {
				w.post(a, again)
			}
			g, loss, err := maker.Gradient(k, x)
			w.fail(err)
			w.fail(a.m.Gradient(g, loss))
		})
	}
	if w.early && r.Standing == Leaving {
		a.m.Council().Finish()
	}
	switch r.Standing {
	case Left:
		a.dead = true
		w.counts["left"]++
	case Excluded:
		a.dead = true
		w.counts["excluded"]++
		w.join()
	}
}

func (w *world) post(a *actor, r Ready) {
	for _, p := range r.Send {
		w.send(a, p)
	}
}

// send delivers a letter in the order of its link, after a random delay.
func (w *world) send(a *actor, p Post) {
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
	if c := p.Letter.Council; w.torn && c != nil && c.Word != nil {
		c.Word.Report.Torn = nil
	}
	w.order++
	heap.Push(&w.queue, event{at: when, order: w.order, from: a.id, to: to, sent: true, life: func() {
		if w.apart == nil || !w.apart(a.id, p.To) {
			fence := to.m.place.fence
			if w.taken {
				to.m.place.fence = nil
			}
			w.fail(to.m.Receive(a.id, p.Letter))
			if w.taken && to.m.place.fence == nil && to.m.Council().Open() != nil {
				to.m.place.fence = fence
			}
		}
	}})
}

// kill ends a process. Of the letters on their way some are lost, the later ones of each link.
func (w *world) kill(a *actor) {
	a.dead = true
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

// alive returns those that live and are members, or want to be.
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
		stateful = stateful || a.m.Standing() != Joining && !a.leaving
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
	w.joining++
	process := w.process
	var ask func()
	ask = func() {
		all := w.alive()
		if len(all) == 0 {
			return
		}
		door := all[w.draw.IntN(len(all))]
		for _, a := range all {
			if id, ok := a.m.Council().Admitted(process); ok {
				m, err := Join(w.options(id))
				w.fail(err)
				w.joining--
				w.add(m, id)
				return
			}
		}
		if door.m.Council().Log() != nil {
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
	switch kind := w.draw.IntN(12); kind {
	case 0, 1, 2:
		if len(all) < 8 {
			w.counts["join"]++
			w.join()
		}
	case 3, 4:
		if !one.leaving && one.m.Standing() == Working && w.spare(one) {
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
		log, err := view.New(w.base(), view.Record{Members: all})
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

// over reports whether all that live have done all rounds.
func (w *world) over() bool {
	some := false
	for _, a := range w.alive() {
		switch a.m.Standing() {
		case Finished:
			some = true
		case Leaving:
		case Joining: // comes too late
			if _, at := a.m.Next(); at < rounds && a.m.log != nil && a.m.log.Len() > 0 {
				if _, member := a.m.log.Last().Rank(a.id); member {
					return false
				}
			}
		default:
			return false
		}
	}
	return some || len(w.alive()) == 0
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
		next, at := a.m.Next()
		views := 0
		if a.m.log != nil {
			views = a.m.log.Len()
		}
		lead, _ := a.m.Council().Leader()
		text += fmt.Sprintf("\n  %d dead %v standing %v next %d at %d promise %d fence %v views %d lead %d", a.id, a.dead,
			a.m.Standing(), next, at, a.m.place.promise, a.m.place.fence, views, lead)
	}
	return fmt.Errorf("%w:%s", errStall, text)
}
