package gossip_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A setup describes a run. Each run of it has fresh algorithms.
type setup struct {
	rows   []topology.Row
	dim    int
	rounds int
	alg    func(i int, x []float32) gossip.Algorithm

	every int                                       // rounds per exchange, 0 means 1
	exact func(i int, x []float32) gossip.Algorithm // the algorithm of lock-step in place of alg, if not nil
	grows int                                       // coordinates that the vector gets when it changes, 0: it does not
	learn int                                       // round in which all workers learn of that
}

// grown returns the vector of worker i after the change.
func (s setup) grown(i int, x []float32) []float32 {
	y := slices.Clone(x)
	for c := range s.grows {
		y = append(y, float32(math.Sin(float64(5*i+c))))
	}
	return y
}

// grow replaces the algorithms if the vector changes before round k.
func (s setup) grow(all []gossip.Algorithm, k int) {
	for i := range all {
		if s.grows > 0 && k == s.succession() {
			all[i] = s.reference().alg(i, s.grown(i, all[i].Params()))
		}
	}
}

// reference returns the setup that lock-step can run.
func (s setup) reference() setup {
	if s.exact != nil {
		s.alg = s.exact
	}
	return s
}

func (s setup) algorithms() []gossip.Algorithm {
	all := make([]gossip.Algorithm, len(s.rows))
	for i := range all {
		x := make([]float32, s.dim)
		for c := range x {
			x[c] = float32(math.Sin(float64(3*i + c)))
		}
		all[i] = s.alg(i, x)
	}
	return all
}

// A fataler is a test or a rapid property.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// slope is the gradient of worker i's objective. It pulls each worker to a point of its own, with noise that differs by
// round.
func slope(g []float32, i, k int, x []float32) {
	for c := range g {
		g[c] = x[c] - float32(math.Cos(float64(7*i+c))) + float32(math.Sin(float64(11*i+5*k+c)))/4
	}
}

// lockstep runs s without the package under test: all workers take each step
// of the plan together. It returns the final models.
func lockstep(t fataler, s setup) [][]float32 {
	all := s.reference().algorithms()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sent, grads, models := make([][]byte, len(all)), make([][]float32, len(all)), make([][]float32, len(all))
	for k := range s.rounds {
		s.grow(all, k)
		if every := max(1, s.every); (k+1)%every != 0 {
			for i, a := range all {
				grads[i] = make([]float32, len(a.Params()))
				slope(grads[i], i, k, a.Params())
				must(a.(gossip.Local).Local(k, grads[i]))
			}
			continue
		}
		for i, a := range all {
			grads[i] = make([]float32, len(a.Params()))
			slope(grads[i], i, k, a.Params())
			if !a.Plan().Overlap {
				must(a.Descend(k, grads[i]))
			}
		}
		for hop := range all[0].Plan().Hops {
			for i, a := range all {
				payload, err := a.Send(k, hop, nil)
				must(err)
				sent[i] = payload
			}
			for i, a := range all {
				var in []algos.Message
				for _, e := range s.rows[i].In {
					in = append(in, algos.Message{From: e.Peer, Weight: float32(e.Weight), Payload: sent[e.Peer]})
				}
				_, err := a.Mix(k, hop, in)
				must(err)
			}
		}
		for i, a := range all {
			if a.Plan().Overlap {
				must(a.Descend(k, grads[i]))
			}
		}
	}
	s.grow(all, s.rounds)
	for i, a := range all {
		models[i] = a.Params()
	}
	return models
}

// A network drives the machines of a setup by actions in any order. Frames in flight share their payloads with the
// sender's machine, as in a driver that does not copy. The network checks that these payloads stay unchanged.
type network struct {
	t        fataler
	setup    setup
	machines []*gossip.Worker
	grads    [][]float32
	asked    []bool         // whether each worker waits for a gradient
	points   []gossip.Ready // place and round of each gradient
	done     []bool
	flight   [][]packet // by receiver, in no order
	taken    []int      // payloads that each machine owns
}

// A packet is a frame in flight.
type packet struct {
	frame gossip.Frame
	want  []byte // its payload at the time of sending
}

// A spoiler lends buffers, and spoils those that come back.
type spoiler struct{ free [][]byte }

func (s *spoiler) Get(n int) []byte {
	last := len(s.free) - 1
	if last < 0 || cap(s.free[last]) < n {
		return make([]byte, n)
	}
	b := s.free[last][:n]
	s.free = s.free[:last]
	return b
}

func (s *spoiler) Put(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
	s.free = append(s.free, b)
}

// Workers of odd rank mix their pieces at the same time.
func newNetwork(t fataler, s setup) *network {
	n := len(s.rows)
	d := &network{
		t: t, setup: s,
		grads: make([][]float32, n), asked: make([]bool, n), points: make([]gossip.Ready, n), done: make([]bool, n),
		flight: make([][]packet, n), taken: make([]int, n),
	}
	for i, a := range s.algorithms() {
		w, err := s.machine(i, a)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			w.Borrow(new(spoiler))
		} else {
			w.Use(atOnce)
		}
		d.machines, d.grads[i] = append(d.machines, w), make([]float32, s.dim)
	}
	return d
}

// atOnce does all parts at the same time.
func atOnce(parts int, work func(part int)) {
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() { work(part) })
	}
	all.Wait()
}

// poll does the work that machine i has become ready for.
func (d *network) poll(i int) {
	r := d.machines[i].Ready()
	for _, f := range r.Send {
		d.flight[f.To] = append(d.flight[f.To], packet{f, bytes.Clone(f.Payload)})
	}
	if r.Compute {
		d.asked[i], d.points[i] = true, r
	}
	d.taken[i] -= len(r.Spent)
	d.done[i] = r.Done
	d.settle(i, r.Failed)
}

// compute answers the request for a gradient of worker i, if there is one.
func (d *network) compute(i int) {
	if d.asked[i] {
		d.asked[i] = false
		if s := d.setup; s.grows > 0 && d.points[i].Round == s.learn {
			d.settle(i, gossip.Succeed(d.machines[i], s.succession(), func(x []float32) (*gossip.Worker, error) {
				return s.heir(i, s.alg(i, s.grown(i, x)))
			}))
		}
		d.grads[i] = make([]float32, len(d.points[i].At))
		slope(d.grads[i], i, d.points[i].Round, d.points[i].At)
		d.settle(i, d.machines[i].Gradient(d.grads[i], lossOf(i, d.points[i].Round), timeOf(i, d.points[i].Round)))
	}
}

// deliver hands packet p of those in flight to worker i.
func (d *network) deliver(i, p int, keep bool) {
	pack := d.flight[i][p]
	if !bytes.Equal(pack.frame.Payload, pack.want) {
		d.t.Fatalf("payload of round %d hop %d from %d to %d was rewritten in flight",
			pack.frame.Round, pack.frame.Hop, pack.frame.From, i)
	}
	if keep { // the second copy of a frame is one that the network made
		d.flight[i][p].frame.Payload = bytes.Clone(pack.want)
	} else {
		d.flight[i] = slices.Delete(d.flight[i], p, p+1)
	}
	d.receive(i, pack.frame)
}

func (d *network) receive(i int, f gossip.Frame) {
	err := d.machines[i].Receive(f)
	if refusal(err) {
		return
	}
	d.taken[i]++
	d.settle(i, err)
}

// refusal reports whether a machine has refused a frame and left its payload.
func refusal(err error) bool {
	for _, reason := range []error{gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrStranger,
		gossip.ErrNoSuchHop, gossip.ErrUnasked} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// settle handles the result of a call that may mix: it fetches an unusable message again over a new link.
func (d *network) settle(i int, err error) {
	var bad *algos.MessageError
	switch {
	case errors.As(err, &bad):
		d.reset(int(bad.From), i)
	case err != nil:
		d.t.Fatal(err)
	}
}

// reset breaks the link between i and j and makes a new one. Frames in flight between them are lost, and the machines
// learn of it.
func (d *network) reset(i, j int) {
	for _, ends := range [][2]int{{i, j}, {j, i}} {
		from, to := ends[0], ends[1]
		d.flight[to] = slices.DeleteFunc(d.flight[to], func(p packet) bool { return int(p.frame.From) == from })
		d.machines[from].Link(topology.Rank(to), false)
		d.machines[from].Link(topology.Rank(to), true)
	}
}

// spoil sends worker i a frame that it must survive: with a wrong length, from a stranger, or of another time.
func (d *network) spoil(i int, choose func(n int) int) {
	n := len(d.machines)
	f := gossip.Frame{
		From: topology.Rank(choose(n+1) - 1), To: topology.Rank(i), Kind: gossip.FrameKind(choose(4)),
		Round: choose(d.setup.rounds+3) - 1, Hop: choose(4) - 1, Piece: choose(4) - 1,
		Payload: make([]byte, 4*d.setup.dim+11), // longer than any message
	}
	d.receive(i, f)
	if f.Kind == gossip.Request && f.From >= 0 && int(f.From) < n {
		d.reset(int(f.From), i) // a worker that asks for nothing has its answer on this link
	}
}

// act takes one action, chosen by choose, which returns a number in 0..n−1.
func (d *network) act(choose func(n int) int) {
	i := choose(len(d.machines))
	switch choose(8) {
	case 0, 1:
		d.poll(i)
	case 2, 3:
		d.compute(i)
	case 4, 5, 6:
		if n := len(d.flight[i]); n > 0 {
			d.deliver(i, choose(n), choose(4) == 0)
		}
	case 7:
		switch choose(4) {
		case 0:
			d.reset(i, choose(len(d.machines)))
		case 1:
			d.spoil(i, choose)
		}
	}
}

// finish drives all machines to their end.
func (d *network) finish() {
	for range 10 + 12*d.setup.rounds*(1+2*len(d.machines)) {
		for i := range d.machines {
			d.poll(i)
			d.compute(i)
			d.poll(i)
			for len(d.flight[i]) > 0 {
				d.deliver(i, 0, false)
			}
			d.poll(i)
		}
		if !slices.Contains(d.done, false) {
			return
		}
	}
	d.t.Fatalf("workers are stuck: done %v", d.done)
}

// check compares what the machines arrived at with want, bit for bit.
func (d *network) check(want [][]float32) {
	for i, w := range d.machines {
		for c, v := range w.Params() {
			if math.Float32bits(v) != math.Float32bits(want[i][c]) {
				d.t.Fatalf("worker %d coordinate %d: %v, in lock-step %v", i, c, v, want[i][c])
			}
		}
		if d.taken[i] != 0 {
			d.t.Fatalf("worker %d kept %d payloads", i, d.taken[i])
		}
	}
}

// A family makes runs of one kind.
type family struct {
	name string
	make func(g graph, dim, rounds int) setup
}

// families are codecs and algorithms that the schedules are tried on.
var families = []family{
	{"dpsgd cta", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.CTA, func(int) algos.Codec { return algos.Full{} })
	}},
	{"dpsgd atc", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.ATC, func(int) algos.Codec { return algos.Full{} })
	}},
	{"moniqua of 3 bits on cta", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.CTA, func(i int) algos.Codec {
			return &moniqua.Codec{Levels: 8, Rounding: moniqua.Dither, Theta: constantly(4), Seed: 1, Rank: topology.Rank(i)}
		})
	}},
	{"moniqua of 5 levels on atc", func(g graph, dim, rounds int) setup {
		return g.dpsgd(dim, rounds, algos.ATC, func(i int) algos.Codec {
			return &moniqua.Codec{Levels: 5, Rounding: moniqua.Stochastic, Theta: constantly(4), Seed: 1, Rank: topology.Rank(i)}
		})
	}},
	{"allreduce", func(g graph, dim, rounds int) setup {
		n := len(g)
		return setup{rows: topology.Cycle(n), dim: dim, rounds: rounds, alg: func(i int, x []float32) gossip.Algorithm {
			return &algos.AllReduce{X: x, Alpha: decreasing, Rank: i, Workers: n}
		}}
	}},
	{"local steps", func(g graph, dim, rounds int) setup {
		s := g.dpsgd(dim, 2*rounds, algos.CTA, func(int) algos.Codec { return algos.Full{} })
		s.every = 2
		return s
	}},
	{"moniqua of 4 bits with a theta far too small", func(g graph, dim, rounds int) setup {
		return g.verified(dim, rounds, algos.CTA, moniqua.Codec{Levels: 16, Theta: constantly(0.2), Seed: 1})
	}},
	{"moniqua of 1 bit with a theta far too small, local steps", func(g graph, dim, rounds int) setup {
		s := g.verified(dim, 3*rounds, algos.ATC, moniqua.Codec{Levels: 2, Theta: constantly(0.1), Seed: 1})
		s.every = 3
		return s
	}},
	{"moniqua of 9 levels with a theta somewhat too small", func(g graph, dim, rounds int) setup {
		return g.verified(dim, rounds, algos.ATC, moniqua.Codec{Levels: 9, Rounding: moniqua.Nearest, Theta: constantly(1),
			Seed: 1})
	}},
}

func constantly(theta float64) func(int) float64 { return func(int) float64 { return theta } }

func decreasing(k int) float32 { return 0.3 / float32(k+1) }

// A graph says which workers are neighbours.
type graph [][]bool

// newGraph returns a connected graph: a tree, and further edges.
func newGraph(n int, choose func(n int) int) graph {
	g := make(graph, n)
	for i := range g {
		g[i] = make([]bool, n)
		if i > 0 {
			j := choose(i)
			g[i][j], g[j][i] = true, true
		}
	}
	for range choose(n + 1) {
		if i, j := choose(n), choose(n); i != j {
			g[i][j], g[j][i] = true, true
		}
	}
	return g
}

func (g graph) degree(i int) (n int) {
	for _, edge := range g[i] {
		if edge {
			n++
		}
	}
	return n
}

// rows returns the graph with Metropolis weights.
func (g graph) rows() []topology.Row {
	rows := make([]topology.Row, len(g))
	for i := range rows {
		rows[i].Self = 1
		for j, edge := range g[i] {
			if edge {
				weight := 1 / float64(1+max(g.degree(i), g.degree(j)))
				rows[i].In = append(rows[i].In, topology.Edge{Peer: topology.Rank(j), Weight: weight})
				rows[i].Out = append(rows[i].Out, topology.Rank(j))
				rows[i].Self -= weight
			}
		}
	}
	return rows
}

func (g graph) dpsgd(dim, rounds int, order algos.Order, codec func(i int) algos.Codec) setup {
	return setup{rows: g.rows(), dim: dim, rounds: rounds, alg: func(i int, x []float32) gossip.Algorithm {
		return &algos.DPSGD{X: x, Alpha: decreasing, Codec: codec(i), Order: order}
	}}
}
