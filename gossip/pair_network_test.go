package gossip_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A ledger is a codec of whole numbers whose exchanges are exact in float32.
// It holds both ends to the contract of a codec: they mix against the model that was
// encoded, under the same number. It remembers no more of the encoded messages than a
// codec must.
type ledger struct {
	t        fataler
	self     int
	exchange map[string]int                          // by exchange: the gain of this worker's model in coordinate 0
	wrong    func(sender, receiver, number int) bool // messages that need a repair; nil: none
	kept     map[[2]int]encoded                      // by neighbour and the rank that has offered
	mended   int64                                   // repaired messages used
}

type encoded struct {
	number  int
	payload []byte
}

func (l *ledger) to(peer topology.Rank) algos.Codec { return &entry{l, int(peer)} }

// An entry is the ledger of one link.
type entry struct {
	*ledger
	peer int
}

func (e *entry) Encode(dst []byte, number int, x []float32) ([]byte, error) {
	at := len(dst)
	dst = e.encode(dst, number, x)
	e.kept[[2]int{e.peer, number & 1}] = encoded{number, slices.Clone(dst[at:])}
	return dst, nil
}

func (e *entry) encode(dst []byte, number int, x []float32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(number))
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(v)))
	}
	return dst
}

func (e *entry) Verifies() bool   { return e.wrong != nil }
func (e *entry) ExtraMemory() int { return 7 }

// AppendRepair says the message backwards.
func (e *entry) AppendRepair(dst []byte, number, _ int, _ []byte) ([]byte, bool) {
	kept := e.kept[[2]int{e.peer, number & 1}]
	at := len(dst)
	dst = append(dst, kept.payload...)
	slices.Reverse(dst[at:])
	return dst, kept.number == number
}

// doubt judges a message and its repair.
func (e *entry) doubt(number int, m algos.Message) error {
	wrong := e.wrong != nil && e.wrong(e.peer, e.self, number)
	switch {
	case wrong && m.Repair == nil:
		return &algos.MismatchError{From: []topology.Rank{m.From}}
	case !wrong && m.Repair != nil:
		e.t.Fatalf("worker %d: exchange %d with %d: an unneeded repair", e.self, number, e.peer)
	case wrong:
		said := slices.Clone(m.Repair)
		slices.Reverse(said)
		if !bytes.Equal(said, m.Payload) {
			return &algos.MessageError{From: m.From, Err: errors.New("a repair of something else")}
		}
		e.mended++
	}
	return nil
}

func (e *entry) Mix(acc []float32, number int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	if len(in) != 1 || in[0].Weight != 0.5 || int(in[0].From) != e.peer {
		e.t.Fatalf("worker %d: exchange with %d gets %v", e.self, e.peer, in)
	}
	theirs := in[0].Payload
	if len(theirs) != 4+4*len(x) || binary.LittleEndian.Uint32(theirs) != uint32(number) {
		return algos.Mixed{}, &algos.MessageError{From: in[0].From, Err: errors.New("not of this exchange")}
	}
	if !bytes.Equal(e.encode(nil, number, x), mine) {
		e.t.Fatalf("worker %d: exchange %d with %d is mixed against another model than was sent", e.self, number, e.peer)
	}
	if err := e.doubt(number, in[0]); err != nil {
		return algos.Mixed{}, err
	}
	for c, v := range x {
		gain := float32((int32(binary.LittleEndian.Uint32(theirs[4+4*c:])) - int32(v)) / 2)
		acc[c] += gain
		if c > 0 {
			continue
		}
		key := fmt.Sprint(min(e.self, e.peer), max(e.self, e.peer), number)
		if _, twice := e.exchange[key]; twice {
			e.t.Fatalf("worker %d: exchange %d with %d is used twice", e.self, number, e.peer)
		}
		e.exchange[key] = int(gain)
	}
	return algos.Mixed{}, nil
}

// A crowd drives pairwise machines by actions in any order.
type crowd struct {
	t       fataler
	rows    []topology.Row
	plan    gossip.PairPlan
	algs    []*algos.ADPSGD
	ledgers []*ledger
	workers []*gossip.PairWorker
	asked   []bool
	done    []bool
	points  [][2][]float32 // where a gradient is being taken: the slice, and a copy of it
	flight  [][]gossip.Frame
	taken   []int // payloads that each machine owns
	pulled  int   // sum of the gradients applied, coordinate 0
	steps   []int
	down    map[[2]int]bool
}

const pairDim = 3

func newCrowd(t fataler, rows []topology.Row, rounds int) *crowd {
	return newDoubters(t, rows, rounds, nil)
}

// newDoubters returns workers that do not trust wrong messages.
func newDoubters(t fataler, rows []topology.Row, rounds int, wrong func(sender, receiver, number int) bool) *crowd {
	var ledgers []*ledger
	c := gather(t, rows, rounds, func(i int) func(topology.Rank) algos.Codec {
		l := &ledger{t: t, self: i, exchange: map[string]int{}, wrong: wrong, kept: map[[2]int]encoded{}}
		ledgers = append(ledgers, l)
		return l.to
	})
	c.ledgers = ledgers
	return c
}

// gather returns workers with any codecs.
func gather(t fataler, rows []topology.Row, rounds int, codec func(i int) func(topology.Rank) algos.Codec) *crowd {
	n := len(rows)
	c := &crowd{
		t: t, rows: rows, plan: gossip.PairPlan{Workers: n, Rounds: rounds, Seed: 5},
		asked: make([]bool, n), done: make([]bool, n), points: make([][2][]float32, n),
		flight: make([][]gossip.Frame, n), taken: make([]int, n), steps: make([]int, n), down: map[[2]int]bool{},
	}
	for i := range n {
		x := make([]float32, pairDim)
		for j := range x {
			x[j] = float32(100*i + j)
		}
		a := &algos.ADPSGD{X: x, Alpha: func(int) float32 { return 1 }, Codec: codec(i), Weight: 0.5}
		w, err := gossip.NewPair(topology.Rank(i), rows[i], a, c.plan)
		if err != nil {
			t.Fatal(err)
		}
		c.algs, c.workers = append(c.algs, a), append(c.workers, w)
	}
	return c
}

func (c *crowd) sum() int {
	sum := 0
	for _, a := range c.algs {
		sum += int(a.X[0])
	}
	return sum
}

func edgeOf(i, j int) [2]int { return [2]int{min(i, j), max(i, j)} }

func (c *crowd) poll(i int) {
	r := c.workers[i].Ready()
	for _, f := range r.Send {
		if !c.down[edgeOf(i, int(f.To))] {
			c.flight[f.To] = append(c.flight[f.To], f)
		}
	}
	if r.Compute {
		c.asked[i], c.points[i] = true, [2][]float32{r.At, slices.Clone(r.At)}
	}
	c.taken[i] -= len(r.Spent)
	c.done[i] = r.Done
}

func (c *crowd) compute(i int) {
	if !c.asked[i] {
		return
	}
	c.asked[i] = false
	if !slices.Equal(c.points[i][0], c.points[i][1]) {
		c.t.Fatalf("worker %d: the point changed while a gradient was taken there", i)
	}
	c.steps[i]++
	c.pulled += i + 1
	c.judge(i, c.workers[i].Gradient([]float32{float32(i + 1), 0, 0}, 0, 0))
}

func (c *crowd) deliver(i, p int, keep bool) {
	f := c.flight[i][p]
	f.Payload = bytes.Clone(f.Payload)
	if !keep {
		c.flight[i] = slices.Delete(c.flight[i], p, p+1)
	} else {
		c.flight[i][p].Payload = bytes.Clone(f.Payload)
	}
	c.receive(i, f)
}

func (c *crowd) receive(i int, f gossip.Frame) {
	err := c.workers[i].Receive(f)
	for _, refusal := range []error{gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrStranger,
		gossip.ErrNoSuchHop, gossip.ErrUnasked} {
		if errors.Is(err, refusal) {
			return
		}
	}
	c.taken[i]++
	c.judge(i, err)
}

// judge breaks the link on which an unusable message has come.
func (c *crowd) judge(i int, err error) {
	var bad *algos.MessageError
	switch {
	case errors.As(err, &bad):
		c.link(i, int(bad.From), false)
		c.link(i, int(bad.From), true)
	case err != nil:
		c.t.Fatal(err)
	}
}

// link ends or makes the link between two neighbours. Frames in flight are lost.
func (c *crowd) link(i, j int, up bool) {
	if !slices.Contains(c.rows[i].Out, topology.Rank(j)) {
		return
	}
	for _, e := range [][2]int{{i, j}, {j, i}} {
		c.flight[e[1]] = slices.DeleteFunc(c.flight[e[1]], func(f gossip.Frame) bool { return int(f.From) == e[0] })
	}
	c.down[edgeOf(i, j)] = !up
	c.workers[i].Link(topology.Rank(j), up)
	c.workers[j].Link(topology.Rank(i), up)
}

// spoil hands worker i a frame that no worker has sent, with a number that is not under way. A sender that can forge a
// number under way can forge a model as well.
func (c *crowd) spoil(i int, choose func(n int) int) {
	c.receive(i, gossip.Frame{
		From: topology.Rank(choose(len(c.rows)+1) - 1), To: topology.Rank(i + choose(2)),
		Round: 2_000_000*choose(2) - 3, Hop: choose(9) - 1, Kind: gossip.FrameKind(choose(4)),
		Payload: make([]byte, choose(8)),
	})
}

func (c *crowd) act(choose func(n int) int) {
	i := choose(len(c.rows))
	switch choose(10) {
	case 0, 1, 2:
		c.poll(i)
	case 3, 4:
		c.compute(i)
	case 5, 6, 7:
		if n := len(c.flight[i]); n > 0 {
			c.deliver(i, choose(n), choose(4) == 0)
		}
	case 8:
		if choose(2) == 0 {
			c.link(i, choose(len(c.rows)), choose(2) == 0)
		}
	case 9:
		if choose(4) == 0 {
			c.spoil(i, choose)
		}
	}
}

// settle delivers frames until none is left.
func (c *crowd) settle() {
	for busy := true; busy; {
		busy = false
		for i := range c.workers {
			c.poll(i)
		}
		for i := range c.workers {
			for ; len(c.flight[i]) > 0; busy = true {
				c.deliver(i, 0, false)
			}
		}
	}
}

// finish mends all links and drives all workers to the end.
func (c *crowd) finish() {
	for e, down := range c.down {
		if down {
			c.link(e[0], e[1], true)
		}
	}
	for range 100 + 40*c.plan.Rounds*len(c.rows) {
		for i := range c.workers {
			c.poll(i)
			c.compute(i)
			for len(c.flight[i]) > 0 {
				c.deliver(i, 0, false)
			}
			c.poll(i)
		}
		if !slices.Contains(c.done, false) {
			return
		}
	}
	for i, w := range c.workers {
		if !c.done[i] {
			c.t.Fatalf("worker %d is stuck at step %d: it waits for %v", i, c.steps[i], w.Ready().Waiting)
		}
	}
}

// check holds the end of a run to its invariants.
func (c *crowd) check(start int) {
	if got, want := c.sum(), start-c.pulled; got != want {
		c.t.Fatalf("the models add up to %d, want %d by the gradients alone", got, want)
	}
	both := map[string]int{}
	for i, l := range c.ledgers {
		if r := c.workers[i].Repairs(); r.Repaired != l.mended || r.Violations < l.mended ||
			r.Verified != (l.wrong != nil && len(c.rows[i].Out) > 0) {
			c.t.Fatalf("worker %d: %+v, but %d messages were used repaired", i, r, l.mended)
		}
		for key, gain := range l.exchange {
			if other, ok := both[key]; ok && other != -gain {
				c.t.Fatalf("exchange %s: one end gains %d, the other %d", key, gain, other)
			} else if ok {
				delete(both, key)
			} else {
				both[key] = gain
			}
		}
	}
	if len(both) > 0 {
		c.t.Fatalf("used at one end only: %v", slices.Sorted(maps.Keys(both)))
	}
	total := 0
	for i, n := range c.steps {
		total += n
		if c.taken[i] != 0 {
			c.t.Fatalf("worker %d kept %d payloads", i, c.taken[i])
		}
	}
	if budget := len(c.rows) * c.plan.Rounds; total < budget {
		c.t.Fatalf("%d steps of a budget of %d", total, budget)
	}
}
