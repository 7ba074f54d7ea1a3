package elastic_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/witness"
	"gossiptrainer/topology"
)

const grace = time.Second

// A world has elastic workers on a virtual clock, over links of random delay. Workers die in it.
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
	latest  time.Duration            // the last death may happen until then
	joining map[topology.Rank]uint64 // processes that have a sponsor
	process uint64                   // the last process that came back
	codec   algos.Full               // with messages of one piece or of two
}

// An event happens at a time, unless its link was lost since.
type event struct {
	at     time.Duration
	serial int
	do     func()
}

// A mortal is one worker in a world.
type mortal struct {
	*elastic.Elastic
	machine  *gossip.Worker
	rank     topology.Rank
	process  uint64
	row      topology.Row
	alg      *witness.Witness
	ready    gossip.Ready
	dead     bool
	guest    bool // has come back
	inviting bool // its state is being copied
	done     bool
	over     time.Duration // when it was done
	called   map[topology.Rank]bool
	left     map[topology.Rank]bool // processes that it refuses links of
	life     map[topology.Rank]int  // links so far, by neighbour
	last     map[topology.Rank]time.Duration
	cuts     map[topology.Rank]int
}

const worldDim = 3

func newWorld(t *rapid.T, g *topology.Graph, rounds int) *world {
	w := &world{
		t: t, graph: g, links: make(map[[2]topology.Rank]bool), died: make(map[topology.Rank]bool),
		joining: make(map[topology.Rank]uint64), process: 1, initial: make([]float64, worldDim),
		codec: algos.Full{Piece: rapid.SampledFrom([]int{0, 2}).Draw(t, "piece")},
	}
	for i, row := range g.Rows(0) {
		x := make([]float32, worldDim)
		for c := range x {
			x[c] = float32(math.Sin(float64(5*i + c)))
			w.initial[c] += float64(x[c])
		}
		alg := witness.New(x, w.codec)
		machine, err := gossip.New(topology.Rank(i), row, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		life := make(map[topology.Rank]int)
		m := newMortal(machine, &mortal{rank: topology.Rank(i), process: 1, row: row, alg: alg, life: life})
		w.embody(m, elastic.Start{Closing: g.Closing(m.rank), Rounds: rounds})
		w.workers = append(w.workers, m)
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

// newMortal completes a worker with a machine.
func newMortal(machine *gossip.Worker, m *mortal) *mortal {
	m.machine = machine
	m.called, m.left = make(map[topology.Rank]bool), make(map[topology.Rank]bool)
	m.last, m.cuts = make(map[topology.Rank]time.Duration), make(map[topology.Rank]int)
	return m
}

// embody puts the layer around the machine of a worker.
func (w *world) embody(m *mortal, s elastic.Start) {
	s.Self, s.Row = m.rank, m.row
	inside := gossip.NewLinked(m.machine, m.rank, s.Seat.From, gossip.Undurable)
	var err error
	if m.Elastic, err = elastic.New(inside, m.machine, s); err != nil {
		w.t.Fatal(err)
	}
	w.must(m.Tick(w.now))
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	w.events = append(w.events, event{w.now + d, w.serial, do})
}

// run processes events until none is left.
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
		case b.left[a.rank] && !a.guest:
			w.deny(a, b.rank)
		case a.left[b.rank] && !b.guest:
			w.deny(b, a.rank)
		default:
			w.links[key] = true
			for _, pair := range [][2]*mortal{{a, b}, {b, a}} {
				m, peer := pair[0], pair[1]
				m.life[peer.rank]++
				m.last[peer.rank] = w.now
				w.must(m.Tick(w.now))
				w.must(m.Met(peer.rank, gossip.Meeting{
					Theirs: peer.ready.Round, Ours: m.ready.Round, Durable: gossip.Undurable, Process: peer.process,
				}))
			}
			w.step(a)
			w.step(b)
		}
	})
}

// deny tells a worker that another one refuses links with it.
func (w *world) deny(m *mortal, by topology.Rank) {
	err := m.Parted(by, &gossip.RefusedError{Remote: true, Place: true, Err: errors.New("gone on without it")})
	if _, behind := errors.AsType[*elastic.LeftBehindError](err); behind { // its process ends
		w.kill(m.rank)
		return
	}
	w.must(err)
	w.step(m)
}

// lose breaks the link of two workers; each notices at a time of its own.
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
			w.must(m.Tick(w.now))
			w.must(m.Parted(peer, nil))
		}
	}
	if again {
		w.dial(w.workers[a], w.workers[b])
	}
}

func (w *world) kill(rank topology.Rank) {
	w.workers[rank].dead, w.died[rank] = true, true
	w.deaths++
	w.latest = w.now
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

// step carries out the requests of a worker.
func (w *world) step(m *mortal) {
	for more := !m.dead; more && !m.dead; more = m.ready.More {
		w.must(m.Tick(w.now))
		m.ready = m.Ready()
		var alone *elastic.AloneError
		if errors.As(m.ready.Failed, &alone) {
			w.kill(m.rank)
			return
		}
		w.must(m.ready.Failed)
		w.tell(m)
		for _, c := range m.ready.Control {
			w.obey(m, c)
		}
		if m.ready.Compute {
			w.compute(m)
		}
		if m.ready.Done && !m.done {
			m.done, m.over = true, w.now
			for peer := range w.workers {
				w.post(m, topology.Rank(peer), func(to *mortal) { w.must(to.Parted(m.rank, gossip.ErrBye)) })
			}
		}
	}
}

func (w *world) obey(m *mortal, c gossip.Control) {
	switch c.Kind {
	case gossip.CallPeer:
		m.called[c.Peer] = true
		w.dial(m, w.workers[c.Peer])
	case gossip.LeavePeer:
		m.left[c.Peer] = true
		if w.links[[2]topology.Rank{min(m.rank, c.Peer), max(m.rank, c.Peer)}] {
			w.lose(m.rank, c.Peer, false)
			if other := w.workers[c.Peer]; !other.dead {
				w.deny(other, m.rank)
			}
		}
	}
}

// tell notes the edges that are off, and sends the frames of a worker.
func (w *world) tell(m *mortal) {
	for _, n := range m.ready.Notes {
		if n.Kind == gossip.EdgeIsSet && n.Weight == 0 && n.Peer != m.rank {
			m.cuts[n.Peer] = n.Exchange
		}
	}
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
}

func (w *world) compute(m *mortal) {
	w.after(w.delay("gradient", 30*time.Millisecond), func() {
		if !m.dead {
			w.must(m.Tick(w.now))
			w.must(m.Gradient(make([]float32, worldDim), 0, 0))
			w.step(m)
		}
	})
}
