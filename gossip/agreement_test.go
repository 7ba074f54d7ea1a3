package gossip_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// lossOf and timeOf are the loss and the time that worker i reports with its gradient of round k.
func lossOf(i, k int) float32 { return float32(i+2) / float32(k+1) }

func timeOf(i, k int) time.Duration { return time.Duration(k*k+i) * time.Millisecond }

// agreeing is dpsgd whose codec takes its bits from an agreement.
type agreeing struct {
	*algos.DPSGD
	agreed *gossip.Agreement
}

// machine returns worker i of s.
func (s setup) machine(i int, alg gossip.Algorithm) (*gossip.Worker, error) {
	var agreed *gossip.Agreement
	if a, ok := alg.(agreeing); ok {
		agreed = a.agreed
	}
	return gossip.NewScheduled(topology.Rank(i), s.rows[i], alg,
		gossip.Schedule{Rounds: s.rounds, Every: max(1, s.every), Agreed: agreed})
}

// A listener is a chooser that remembers the arguments of its calls.
type listener struct {
	window int
	rule   func(call int, losses []float64) int
	losses [][]float64
	rms    []float64
	took   []time.Duration
}

func (c *listener) Window() int { return c.window }

func (c *listener) Choose(losses []float64, rms float64, took time.Duration) int {
	c.losses, c.rms, c.took = append(c.losses, slices.Clone(losses)), append(c.rms, rms), append(c.took, took)
	return c.rule(len(c.losses)-1, losses)
}

const window = 2

// inTurn are the bits of a chooser that ignores the losses.
func inTurn(call int, _ []float64) int { return 2 + call*3%7 }

// byLoss are the bits of a chooser that uses the losses.
func byLoss(_ int, losses []float64) int { return 2 + int(1000*losses[0]+500*losses[1])%7 }

// diameter returns the number of hops between the workers farthest apart.
func (g graph) diameter() int {
	most := 0
	for i := range g {
		hops, reached := map[int]int{i: 0}, []int{i}
		for at := 0; at < len(reached); at++ {
			for j, edge := range g[reached[at]] {
				if _, known := hops[j]; edge && !known {
					hops[j] = hops[reached[at]] + 1
					reached = append(reached, j)
				}
			}
		}
		most = max(most, hops[reached[len(reached)-1]])
	}
	return most
}

// agreeing is Moniqua on dpsgd with bits that worker 0 chooses by a rule.
func (g graph) agreeing(dim, rounds, every int, order algos.Order, rule func(int, []float64) int) setup {
	codec := func(i int, bits func(k int) int) *moniqua.Codec {
		return &moniqua.Codec{Levels: 256, Bits: bits, Theta: constantly(0.5), Seed: 1, Rank: topology.Rank(i), Verify: true}
	}
	s := g.dpsgd(dim, rounds, order, func(i int) algos.Codec { return exact{codec(i, g.predicted(every))} })
	s.every, s.exact = every, s.alg
	s.alg = func(i int, x []float32) gossip.Algorithm {
		var choose gossip.Chooser
		if i == 0 {
			choose = &listener{window: window, rule: rule}
		}
		agreed, err := gossip.NewAgreement(gossip.AgreementPlan{Diameter: g.diameter(), Every: every, Window: window, Low: 2,
			High: 8, Start: 5}, choose)
		if err != nil {
			panic(err)
		}
		return agreeing{&algos.DPSGD{X: x, Alpha: decreasing, Codec: codec(i, agreed.Bits), Order: order}, agreed}
	}
	return s
}

// predicted returns the bits of inTurn by round: choice m is made after epoch m
// and holds when it has crossed the graph.
func (g graph) predicted(every int) func(k int) int {
	far := g.diameter()
	return func(k int) int {
		epoch := (k/every - far + far + 1 + window) / (far + 1 + window)
		if epoch < 2 {
			return 5
		}
		return inTurn(epoch-2, nil)
	}
}

// switching are runs whose bits change, compared with lock-step runs with the same bits.
var switching = []family{
	{"moniqua on cta, bits in turn", func(g graph, dim, rounds int) setup {
		return g.agreeing(dim, 6*rounds, 1, algos.CTA, inTurn)
	}},
	{"moniqua on atc, bits in turn, local steps", func(g graph, dim, rounds int) setup {
		return g.agreeing(dim, 12*rounds, 2, algos.ATC, inTurn)
	}},
}

// Messages may arrive in any order: from the same losses worker 0 makes the same choices.
func TestChoicesDoNotDependOnTheSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		s := newGraph(1+choose(5), choose).agreeing(1+choose(4), 30, 1, algos.Order(choose(2)), byLoss)
		calm, wild := newNetwork(t, s), newNetwork(t, s)
		for range 20 * choose(12) {
			wild.act(choose)
		}
		calm.finish()
		wild.finish()
		var want [][]float32
		for _, w := range calm.machines {
			want = append(want, w.Params())
		}
		wild.check(want)
	})
}

// converse runs full-precision workers that share an agreement and returns the arguments of worker 0's chooser.
func converse(t *testing.T, g graph, rounds int, loss func(i, k int) float32) *listener {
	t.Helper()
	c := &listener{window: window, rule: inTurn}
	s := g.dpsgd(3, rounds, algos.ATC, func(int) algos.Codec { return algos.Full{} })
	workers := make([]*gossip.Worker, len(g))
	for i, alg := range s.algorithms() {
		var choose gossip.Chooser
		if i == 0 {
			choose = c
		}
		agreed, err := gossip.NewAgreement(gossip.AgreementPlan{Diameter: g.diameter(), Every: 1, Window: window, Low: 1,
			High: 9, Start: 1}, choose)
		if err != nil {
			t.Fatal(err)
		}
		if workers[i], err = s.machine(i, agreeing{alg.(*algos.DPSGD), agreed}); err != nil {
			t.Fatal(err)
		}
	}
	for done := 0; done < len(workers); {
		done = 0
		for i, w := range workers {
			r := w.Ready()
			for _, f := range r.Send {
				if err := workers[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if r.Compute {
				if err := w.Gradient([]float32{float32(r.Round), 0, 0}, loss(i, r.Round), timeOf(i, r.Round)); err != nil {
					t.Fatal(err)
				}
			}
			if r.Done {
				done++
			}
		}
	}
	return c
}

// edges returns the graph of n workers with an edge wherever joined returns true.
func edges(n int, joined func(i, j int) bool) graph {
	g := make(graph, n)
	for i := range g {
		g[i] = make([]bool, n)
		for j := range g[i] {
			g[i][j] = i != j && (joined(i, j) || joined(j, i))
		}
	}
	return g
}

func TestChooserHearsTheMeanLoss(t *testing.T) {
	const n = 6
	mean := func(k int) (sum float64) {
		for i := range n {
			sum += float64(lossOf(i, k)) / n
		}
		return sum
	}
	for name, g := range map[string]graph{
		"complete": edges(n, func(i, j int) bool { return true }),
		"star":     edges(n, func(i, j int) bool { return i == 0 }),
	} {
		far := g.diameter()
		length := far + 1 + window
		c := converse(t, g, 5*length, lossOf)
		if len(c.losses) != 5 {
			t.Fatalf("%s: asked %d times, want 5", name, len(c.losses))
		}
		for e, losses := range c.losses {
			for i, got := range losses {
				k := e*length + far + 1 + i
				if want := mean(k); math.Abs(got-want) > 1e-3*want {
					t.Errorf("%s: epoch %d: loss of round %d: %v, want %v", name, e, k, got, want)
				}
			}
			first, last := e*length+far, (e+1)*length-1
			if want := timeOf(0, last) - timeOf(0, first); c.took[e] != want {
				t.Errorf("%s: epoch %d took %v, want %v", name, e, c.took[e], want)
			}
			if want := float64(last) / math.Sqrt(3); math.Abs(c.rms[e]-want) > 1e-6*want {
				t.Errorf("%s: epoch %d: rms %v, want %v", name, e, c.rms[e], want)
			}
		}
	}
	ring := edges(n, func(i, j int) bool { return j == (i+1)%n })
	c := converse(t, ring, 120, func(i, _ int) float32 { return lossOf(i, 0) })
	if got := c.losses[len(c.losses)-1]; math.Abs(got[0]-mean(0)) > 1e-3*mean(0) {
		t.Errorf("ring: loss %v in the end, want %v", got, mean(0))
	}
}

// A neighbour sends any note, to worker 0 and to another worker.
func FuzzNotes(f *testing.F) {
	for _, note := range []uint64{math.MaxUint64, 1<<63 - 1, uint64(math.Float32bits(float32(math.Inf(-1)))) << 24,
		0xFF7F8000 << 32, 0xFFC00000 << 24} {
		f.Add(note, note, float32(math.NaN()))
		f.Add(note, uint64(0), float32(math.Inf(1)))
	}
	f.Fuzz(func(t *testing.T, odd, even uint64, loss float32) {
		for self := range 2 {
			hear(t, self, [2]uint64{even, odd}, loss)
		}
	})
}

// hear runs worker self of two. Its own losses are all loss; its neighbour sends the notes in turn.
func hear(t *testing.T, self int, notes [2]uint64, loss float32) {
	c := &listener{window: window, rule: func(call int, _ []float64) int { return []int{-5, 1 << 40}[call%2] }}
	var choose gossip.Chooser
	if self == 0 {
		choose = c
	}
	agreed, err := gossip.NewAgreement(gossip.AgreementPlan{Diameter: 1, Every: 1, Window: window, Low: 2, High: 8,
		Start: 3}, choose)
	if err != nil {
		t.Fatal(err)
	}
	s := edges(2, func(i, j int) bool { return true }).dpsgd(1, 40, algos.ATC,
		func(int) algos.Codec { return algos.Full{} })
	w, err := s.machine(self, agreeing{s.alg(self, []float32{1}).(*algos.DPSGD), agreed})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 40 {
		w.Ready()
		if err := w.Gradient([]float32{0}, loss, 0); err != nil {
			t.Fatal(err)
		}
		f := gossip.Frame{From: topology.Rank(1 - self), To: topology.Rank(self), Round: k, Note: notes[k%2],
			Payload: []byte{0, 0, 128, 63}}
		if err := w.Receive(f); err != nil {
			t.Fatal(err)
		}
		if bits := agreed.Bits(k + 1); bits < 2 || bits > 8 {
			t.Fatalf("worker %d, notes %#x: %d bits in round %d", self, notes, bits, k+1)
		}
	}
	for _, losses := range c.losses {
		for _, loss := range losses {
			if !(math.Abs(loss) < 1<<30) {
				t.Fatalf("notes %#x: a loss of %v", notes, loss)
			}
		}
	}
	if mean := agreed.Mean(); mean < 2 || mean > 8 {
		t.Errorf("mean of %v bits", mean)
	}
}

func TestAgreementsThatCannotBe(t *testing.T) {
	good := gossip.AgreementPlan{Diameter: 1, Every: 1, Window: window, Low: 2, High: 8, Start: 2}
	for want, change := range map[string]func(*gossip.AgreementPlan){
		"diameter -1": func(p *gossip.AgreementPlan) { p.Diameter = -1 },
		"every 0":     func(p *gossip.AgreementPlan) { p.Every = 0 },
		"window 0":    func(p *gossip.AgreementPlan) { p.Window = 0 },
		"window 3":    func(p *gossip.AgreementPlan) { p.Window = 3 },
		"0 to 8":      func(p *gossip.AgreementPlan) { p.Low = 0 },
		"2 to 256":    func(p *gossip.AgreementPlan) { p.High = 256 },
		"with 9":      func(p *gossip.AgreementPlan) { p.Start = 9 },
		"with 1":      func(p *gossip.AgreementPlan) { p.Start = 1 },
	} {
		plan := good
		change(&plan)
		if _, err := gossip.NewAgreement(plan, &listener{window: window}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// A counter chooses bits in turn and remembers nothing.
type counter struct{ calls int }

func (*counter) Window() int { return window }

func (c *counter) Choose([]float64, float64, time.Duration) int {
	c.calls++
	return inTurn(c.calls, nil)
}

func TestAgreeingAllocatesNothing(t *testing.T) {
	const dim = 2000
	choose := &counter{}
	row := edges(2, func(i, j int) bool { return true }).rows()[0]
	agreed, err := gossip.NewAgreement(gossip.AgreementPlan{Every: 1, Window: window, Low: 2, High: 8, Start: 8}, choose)
	if err != nil {
		t.Fatal(err)
	}
	codec := &moniqua.Codec{Levels: 256, Bits: agreed.Bits, Theta: constantly(1)}
	alg := &algos.DPSGD{X: make([]float32, dim), Alpha: decreasing, Codec: codec, Order: algos.ATC}
	w, err := gossip.NewScheduled(0, row, alg, gossip.Schedule{Rounds: 1_000_000, Every: 1, Agreed: agreed})
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float32, dim)
	echo := func() {
		w.Ready()
		clear(g)
		if err := w.Gradient(g, 1, 0); err != nil {
			t.Fatal(err)
		}
		f := w.Ready().Send[0]
		f.From, f.To = f.To, f.From
		if err := w.Receive(f); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		echo()
	}
	if got := testing.AllocsPerRun(100, echo); got != 0 {
		t.Errorf("%v allocations per round", got)
	}
	if choose.calls < 30 {
		t.Errorf("%d choices measured, want at least 30", choose.calls)
	}
}
