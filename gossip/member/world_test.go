package member

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	testworld "gossiptrainer/internal/proptest/world"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

const (
	dim    = 3
	alpha  = 0.125
	grace  = testworld.Grace
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

// A world runs members with random delays and faults on a virtual clock.
type world struct {
	*testworld.World[*Member]
	setting
	build  *builder
	decide council.Decide // plants a mistake; nil: none
	taken  bool           // a mistake: frames of the fence are taken
	early  bool           // a mistake: leavers do not serve
	fewest int            // members below which all wait

	forgets bool // a mistake: a member answers no request of a view that it has finished
	torn    bool // a mistake: no member says that it cannot recover a message of the dead

	payload int                                 // bytes of a message; 0: any
	lies    func(from, to *actor) (of []Letter) // what a member sends beside each letter; nil: nothing
}

type actor = testworld.Actor[*Member]

func newWorld(s setting) *world {
	w := &world{World: testworld.New[*Member](s.n, s.faults, s.seed, s.base()), setting: s, build: newBuilder(s),
		fewest: 1}
	w.Hooks = testworld.Hooks[*Member]{
		Found:    func(id ID, log *view.Log) (*Member, error) { return Found(w.options(id), log) },
		Join:     func(id ID) (*Member, error) { return Join(w.options(id)) },
		Log:      func(m *Member) *view.Log { return m.log },
		Stateful: func(m *Member) bool { return m.Standing() != Joining },
		Working:  func(m *Member) bool { return m.Standing() == Working },
		Drain:    w.drain, Over: w.over, Tell: tell,
	}
	return w
}

func (w *world) options(id ID) Options {
	return Options{Council: council.Options{ID: id, Seed: w.seed, Base: w.base(), Beat: testworld.Beat,
		Patience: testworld.Wait, Grace: grace, Margin: w.margin, Most: 10, Decide: w.decide}, Maker: w.build, Plan: w.plan(),
		Fewest: w.fewest, Payload: w.payload}
}

// founders returns the log of a run that begins.
func (w *world) founders(t testing.TB) *view.Log {
	t.Helper()
	var all []view.Member
	for i := range w.n {
		all = append(all, view.Member{ID: ID(i)})
	}
	log, err := view.New(w.base(), view.Record{Members: all})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// drain does what a member asks for.
func (w *world) drain(a *actor) {
	if w.forgets {
		a.M.retired = nil
	}
	r, err := a.M.Ready()
	if err != nil {
		w.Fail(err)
		return
	}
	w.post(a, r)
	if r.Compute && !a.Working {
		k, x, maker := r.Round, r.At, a.M.place.member
		w.Compute(a, func() {
			again, err := a.M.Ready()
			w.post(a, again)
			if err != nil || !again.Compute || again.Round != k {
				w.Fail(err)
				return
			}
			g, loss, err := maker.Gradient(k, x)
			w.Fail(err)
			w.Fail(a.M.Gradient(g, loss))
		})
	}
	if w.early && r.Standing == Leaving {
		a.M.Council().Finish()
	}
	switch r.Standing {
	case Left:
		w.Left(a)
	case Excluded:
		w.Excluded(a)
	}
}

// post sends what a member asks for.
func (w *world) post(a *actor, r Ready) {
	for _, p := range r.Send {
		if c := p.Letter.Council; w.torn && c != nil && c.Word != nil {
			c.Word.Report.Torn = nil
		}
		w.Send(a, p.To, func(to *actor) error {
			if w.lies != nil {
				for _, l := range w.lies(a, to) {
					if err := to.M.Receive(a.ID, l); err != nil {
						return err
					}
				}
			}
			return w.receive(a, to.M, p.Letter)
		})
	}
}

func (w *world) receive(from *actor, m *Member, l Letter) error {
	fence := m.place.fence
	if w.taken {
		m.place.fence = nil
	}
	err := m.Receive(from.ID, l)
	if w.taken && m.place.fence == nil && m.Council().Open() != nil {
		m.place.fence = fence
	}
	return err
}

// over reports whether all that live have done all rounds.
func (w *world) over() bool {
	some := false
	for _, a := range w.Alive() {
		switch a.M.Standing() {
		case Finished:
			some = true
		case Leaving:
		case Joining: // comes too late
			if _, at := a.M.Next(); at < rounds && a.M.log != nil && a.M.log.Len() > 0 {
				if _, member := a.M.log.Last().Rank(a.ID); member {
					return false
				}
			}
		default:
			return false
		}
	}
	return some || len(w.Alive()) == 0
}

func tell(a *actor) string {
	next, at := a.M.Next()
	return fmt.Sprintf("standing %v next %d at %d promise %d fence %v", a.M.Standing(), next, at, a.M.place.promise,
		a.M.place.fence)
}
