package elastic_test

import (
	"bytes"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"
)

const grace = time.Second

// A world is machines with their memberships on a virtual clock, over links of
// random delay, in which workers die.
type world struct {
	t       *rapid.T
	graph   *topology.Graph
	now     time.Duration
	events  []event
	workers []*mortal
	links   map[[2]topology.Rank]bool
	serial  int
	initial []float64
	died    map[topology.Rank]bool
	deaths  int
	joining map[topology.Rank]uint64 // processes that have a sponsor
	process uint64                   // the last that came back
}

// An event is what happens at a time; those of a link that was lost since never do.
type event struct {
	at     time.Duration
	serial int
	do     func()
}

// A mortal is one worker in a world.
type mortal struct {
	*gossip.Worker
	rank     topology.Rank
	process  uint64
	member   *elastic.Membership
	row      topology.Row
	alg      *witness
	ready    gossip.Ready
	dead     bool
	guest    bool // has come back
	inviting bool // its state is being copied
	done     bool
	over     time.Duration // when it was done
	called   map[topology.Rank]bool
	life     map[topology.Rank]int // links so far, by neighbour
	last     map[topology.Rank]time.Duration
	cuts     map[topology.Rank]int
}

// A witness is an algorithm that notes with whom it has mixed, and from what.
type witness struct {
	*algos.DPSGD
	mixed map[int]map[topology.Rank]float32 // weights, by round
	at    map[int][]float32                 // the model that was sent, by round
}

func (a *witness) Send(k, hop int, dst []byte) ([]byte, error) {
	a.at[k] = slices.Clone(a.X)
	return a.DPSGD.Send(k, hop, dst)
}

func (a *witness) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	mixed, err := a.DPSGD.Mix(k, hop, in)
	if err == nil {
		a.mixed[k] = make(map[topology.Rank]float32)
		for _, m := range in {
			a.mixed[k][m.From] = m.Weight
		}
	}
	return mixed, err
}

const worldDim = 3

func newWorld(t *rapid.T, g *topology.Graph, rounds int) *world {
	w := &world{t: t, graph: g, links: make(map[[2]topology.Rank]bool), died: make(map[topology.Rank]bool), joining: make(map[topology.Rank]uint64), process: 1, initial: make([]float64, worldDim)}
	for i, row := range g.Rows() {
		x := make([]float32, worldDim)
		for c := range x {
			x[c] = float32(math.Sin(float64(5*i + c)))
			w.initial[c] += float64(x[c])
		}
		alg := &witness{
			DPSGD: &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0 }, Codec: algos.Full{}},
			mixed: make(map[int]map[topology.Rank]float32), at: make(map[int][]float32),
		}
		machine, err := gossip.New(topology.Rank(i), row, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		w.workers = append(w.workers, &mortal{
			Worker: machine, rank: topology.Rank(i), process: 1, row: row, alg: alg,
			member: elastic.NewMembership(topology.Rank(i), row, g.Closing(topology.Rank(i))),
			called: make(map[topology.Rank]bool), life: make(map[topology.Rank]int), last: make(map[topology.Rank]time.Duration),
			cuts: make(map[topology.Rank]int),
		})
	}
	for _, m := range w.workers {
		for _, peer := range m.row.Out {
			m.called[peer] = true
		}
	}
	for _, e := range g.Edges() {
		w.dial(w.workers[e[0]], w.workers[e[1]])
	}
	for _, m := range w.workers {
		w.tick(m)
	}
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	w.events = append(w.events, event{w.now + d, w.serial, do})
}

// run lets things happen until nothing does.
func (w *world) run(until time.Duration) {
	for len(w.events) > 0 && w.now < until {
		next := slices.MinFunc(w.events, func(a, b event) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return a.serial - b.serial
		})
		w.events = slices.DeleteFunc(w.events, func(e event) bool { return e.serial == next.serial })
		w.now = next.at
		next.do()
	}
}

func (w *world) delay(name string, most time.Duration) time.Duration {
	return time.Duration(rapid.IntRange(1, int(most/time.Millisecond)).Draw(w.t, name)) * time.Millisecond
}

// dial makes a link if both ends live and know of it.
func (w *world) dial(a, b *mortal) {
	w.after(w.delay("dial", 50*time.Millisecond), func() {
		key := [2]topology.Rank{min(a.rank, b.rank), max(a.rank, b.rank)}
		switch {
		case a.dead || b.dead || w.links[key]:
		case w.workers[a.rank] != a || w.workers[b.rank] != b:
		case b.member.Gone(a.rank) && !a.guest:
			a.member.Denied(b.rank)
			w.step(a)
		case a.member.Gone(b.rank) && !b.guest:
			b.member.Denied(a.rank)
			w.step(b)
		default:
			w.links[key] = true
			for _, pair := range [][2]*mortal{{a, b}, {b, a}} {
				m, peer := pair[0], pair[1]
				m.life[peer.rank]++
				m.last[peer.rank] = w.now
				m.member.Up(peer.rank, peer.process, w.now)
			}
			for _, pair := range [][2]*mortal{{a, b}, {b, a}} {
				if pair[0].member.Gone(pair[1].rank) {
					w.lose(a.rank, b.rank, false)
					pair[1].member.Denied(pair[0].rank)
					return
				}
			}
			for _, m := range []*mortal{a, b} {
				w.step(m)
				m.Link(b.rank, true)
				if m == b {
					m.Link(a.rank, true)
				}
				w.step(m)
			}
		}
	})
}

// lose breaks the link of two workers; each notices in its time.
func (w *world) lose(a, b topology.Rank, again bool) {
	key := [2]topology.Rank{min(a, b), max(a, b)}
	if !w.links[key] {
		return
	}
	delete(w.links, key)
	for _, rank := range key {
		m, peer := w.workers[rank], key[0]+key[1]-rank
		m.life[peer]++
		if !m.dead {
			m.member.Down(peer, w.now)
			m.Link(peer, false)
		}
	}
	if again {
		w.dial(w.workers[a], w.workers[b])
	}
}

func (w *world) kill(rank topology.Rank) {
	w.workers[rank].dead, w.died[rank] = true, true
	w.deaths++
	delete(w.joining, rank)
	for peer := range w.workers {
		w.lose(rank, topology.Rank(peer), false)
	}
}

func (w *world) tick(m *mortal) {
	if m.dead || m.done {
		return
	}
	w.step(m)
	w.after(grace/10, func() { w.tick(m) })
}

// post sends f, with do at the other end, in order and unless the link is lost.
func (w *world) post(from *mortal, to topology.Rank, do func(m *mortal)) {
	key := [2]topology.Rank{min(from.rank, to), max(from.rank, to)}
	if !w.links[key] || from.dead {
		return
	}
	m, life := w.workers[to], w.workers[to].life[from.rank]
	at := max(m.last[from.rank], w.now+w.delay("delay", 20*time.Millisecond))
	m.last[from.rank] = at
	w.after(at-w.now, func() {
		if !m.dead && m.life[from.rank] == life {
			do(m)
			w.step(m)
		}
	})
}

// step does what machine and membership of a worker ask for.
func (w *world) step(m *mortal) {
	if m.dead {
		return
	}
	w.poll(m)
	acts := m.member.Step(elastic.Moment{Now: w.now, Grace: grace, Next: m.Next(), Waiting: m.ready.Waiting})
	for _, act := range acts {
		w.act(m, act)
	}
	w.poll(m)
}

func (w *world) act(m *mortal, act elastic.Act) {
	switch act.Kind {
	case elastic.Call:
		m.called[act.Peer] = true
		w.dial(m, w.workers[act.Peer])
	case elastic.Cut:
		at, err := m.Cut(act.Peer)
		if err != nil {
			w.t.Fatal(err)
		}
		m.cuts[act.Peer] = at
	case elastic.Close:
		if err := m.Close(act.Peer, act.Exchange); err != nil {
			w.t.Fatal(err)
		}
		m.cuts[act.Peer] = act.Exchange
	case elastic.Open:
		if err := m.Open(act.Edge, act.Exchange); err != nil {
			w.t.Fatal(err)
		}
	case elastic.Tell:
		w.post(m, act.Peer, func(to *mortal) { to.member.Heard(m.rank, act.Verb, act.Exchange) })
	}
}

func (w *world) poll(m *mortal) {
	m.ready = m.Ready()
	for _, f := range m.ready.Send {
		want := bytes.Clone(f.Payload)
		w.post(m, f.To, func(to *mortal) {
			if !bytes.Equal(f.Payload, want) {
				w.t.Fatalf("payload of round %d from %d to %d was rewritten in flight", f.Round, f.From, f.To)
			}
			if err := to.Receive(f); err != nil && !gossip.Refusal(err) {
				w.t.Fatal(err)
			}
		})
	}
	if m.ready.Compute {
		w.after(w.delay("gradient", 30*time.Millisecond), func() {
			if m.dead {
				return
			}
			if err := m.Gradient(make([]float32, worldDim), 0, 0); err != nil {
				w.t.Fatal(err)
			}
			w.step(m)
		})
	}
	if m.ready.Done && !m.done {
		m.done, m.over = true, w.now
		for peer := range w.workers {
			w.post(m, topology.Rank(peer), func(to *mortal) { to.member.Finished(m.rank) })
		}
	}
}
