package gossip_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Frames arrive in any order or twice, or are lost with their link; gradients come at any time; messages need repair.
// The sum of the models equals the sum of the gradients, and both ends use an exchange or neither does.
func TestEveryPairwiseScheduleKeepsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		c := newDoubters(t, newGraph(1+choose(6), choose).rows(), choose(5), wrongly(choose(4)))
		start := c.sum()
		for range 40 * choose(12) {
			c.act(choose)
		}
		c.finish()
		c.check(start)
	})
}

// wrongly returns which messages need their repair: none, some, or all.
func wrongly(share int) func(sender, receiver, number int) bool {
	if share == 0 {
		return nil
	}
	return func(sender, receiver, number int) bool { return (7*sender+3*receiver+number/2)%3 < share }
}

func FuzzPairSchedule(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 1, 1, 1, 1, 1, 1, 3, 0, 0, 1, 0, 2, 0, 0, 5, 0, 1, 1, 5, 0, 1, 0, 8, 0, 1, 1, 0, 8, 0, 1, 0, 2, 3})
	f.Fuzz(func(t *testing.T, choices []byte) {
		choose := func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		}
		c := newDoubters(t, newGraph(1+choose(6), choose).rows(), choose(5), wrongly(choose(4)))
		start := c.sum()
		for len(choices) > 0 {
			c.act(choose)
		}
		c.finish()
		c.check(start)
	})
}

// rowsOf returns the rows of a graph by name.
func rowsOf(t testing.TB, kind topology.Kind, n int) []topology.Row {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g.Rows(0)
}

func TestNoGraphDeadlocks(t *testing.T) {
	t.Run("all is well", func(t *testing.T) { letThemRun(t, wrongly(0)) })
	t.Run("some messages are wrong", func(t *testing.T) { letThemRun(t, wrongly(2)) })
	t.Run("all messages are wrong", func(t *testing.T) { letThemRun(t, wrongly(3)) })
}

func letThemRun(t *testing.T, wrong func(sender, receiver, number int) bool) {
	for _, c := range []struct {
		name string
		kind topology.Kind
		n    int
	}{
		{"one alone", topology.Ring, 1}, {"two", topology.Ring, 2}, {"odd ring", topology.Ring, 5},
		{"star", topology.Star, 6},
		{"path", topology.Path, 7}, {"complete", topology.Complete, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			crowd := newDoubters(t, rowsOf(t, c.kind, c.n), 30, wrong)
			start := crowd.sum()
			crowd.finish()
			crowd.check(start)
			used := 0
			for _, l := range crowd.ledgers {
				used += len(l.exchange)
			}
			if c.n > 1 && used < c.n*30/2 {
				t.Errorf("%d exchanges in %d steps", used/2, c.n*30)
			}
		})
	}
}

// pairOf returns two workers that have asked each other.
func pairOf(t *testing.T, rounds int) *crowd {
	t.Helper()
	c := newCrowd(t, rowsOf(t, topology.Ring, 2), rounds)
	c.poll(0)
	c.poll(1)
	return c
}

func TestQuestionsThatCrossBecomeOneExchange(t *testing.T) {
	c := pairOf(t, 5)
	c.deliver(1, 0, false) // the lower rank is declined
	c.deliver(0, 0, false) // the higher is held
	c.poll(0)
	c.poll(1)
	if len(c.flight[1]) != 0 {
		t.Fatal("a worker agreed while its own question was open")
	}
	c.deliver(0, 0, false) // declined: 0 agrees to the exchange of 1
	c.poll(0)
	c.deliver(1, 0, false)
	c.poll(1) // the offer and the reply are on their way at once
	if len(c.flight[0]) != 1 || len(c.flight[1]) != 1 || c.flight[0][0].Hop != 5 || c.flight[1][0].Hop != 6 {
		t.Fatalf("on their way: %s; %s", describe(c.flight[0]), describe(c.flight[1]))
	}
	c.deliver(0, 0, false)
	c.deliver(1, 0, false)
	if got := []float32{c.algs[0].X[0], c.algs[1].X[0]}; !slices.Equal(got, []float32{50, 50}) {
		t.Errorf("models %v, want both at 50", got)
	}
}

// A declined question costs no model.
func TestModelsTravelOnlyWhereBothEndsAgree(t *testing.T) {
	c := pairOf(t, 5)
	for i := range c.workers {
		if f := c.flight[i]; len(f) != 1 || f[0].Hop != 0 || len(f[0].Payload) != 0 {
			t.Errorf("worker %d is sent %s with %d bytes, want a question", i, describe(f), len(f[0].Payload))
		}
	}
	c.deliver(1, 0, false)
	c.poll(1)
	if f := c.flight[0][len(c.flight[0])-1]; f.Hop != 2 || len(f.Payload) != 0 {
		t.Errorf("worker 1 answers %s, want a decline", describe([]gossip.Frame{f}))
	}
}

// One of the two models is used, the other one is lost with the link: its sender sends it again on the next one.
func TestAModelThatIsLostIsSentAgain(t *testing.T) {
	for lost, name := range []string{"the offer", "the reply"} {
		c := pairOf(t, 5)
		c.deliver(1, 0, false)
		c.deliver(0, 0, false)
		c.poll(1)
		c.deliver(0, 0, false) // declined: 0 agrees to the exchange of 1
		c.poll(0)
		c.deliver(1, 0, false)
		c.poll(1)
		c.deliver(1-lost, 0, false)
		c.link(0, 1, false)
		want := []float32{0, 100}
		want[1-lost] = 50
		if got := []float32{c.algs[0].X[0], c.algs[1].X[0]}; !slices.Equal(got, want) {
			t.Fatalf("%s is lost: models %v, want %v", name, got, want)
		}
		c.link(0, 1, true)
		c.poll(lost) // the end that lacks a model asks for it
		for len(c.flight[1-lost]) > 0 {
			c.deliver(1-lost, 0, false)
		}
		c.poll(1 - lost)
		for range 3 { // no matter how often it comes
			c.deliver(lost, 0, true)
		}
		if got := []float32{c.algs[0].X[0], c.algs[1].X[0]}; !slices.Equal(got, []float32{50, 50}) {
			t.Errorf("%s: models %v, want both at 50", name, got)
		}
	}
}

// Questions are answered in the order in which they came: a fast neighbour does not keep the others waiting.
func TestQuestionsAreServedInTurn(t *testing.T) {
	c := newCrowd(t, rowsOf(t, topology.Star, 4), 5)
	for i := range c.workers {
		c.poll(i)
	}
	var order []topology.Rank
	for _, from := range []topology.Rank{3, 1, 2} {
		at := slices.IndexFunc(c.flight[0], func(f gossip.Frame) bool { return f.From == from })
		c.deliver(0, at, false) // held: the hub has asked one of them
	}
	for len(order) < 3 {
		for i := 1; i < 4; i++ {
			for len(c.flight[i]) > 0 {
				if f := c.flight[i][0]; f.Hop == 1 {
					order = append(order, f.To)
				}
				c.deliver(i, 0, false)
			}
			c.poll(i)
		}
		for len(c.flight[0]) > 0 {
			c.deliver(0, 0, false)
		}
		c.poll(0)
	}
	if want := []topology.Rank{3, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("served in the order %v, want %v", order, want)
	}
}

// A worker whom its neighbours ask all the time asks its own question in between.
func TestAHubThatServesIsNotStarved(t *testing.T) {
	c := newCrowd(t, rowsOf(t, topology.Star, 6), 40)
	start := c.sum()
	for slices.Contains(c.done, false) {
		c.settle()
		for i := range c.workers {
			c.compute(i)
		}
	}
	c.check(start)
	if c.steps[0] < 10 {
		t.Errorf("steps %v: the hub hardly takes part", c.steps)
	}
}

func TestALostNeighbourStopsNoWorker(t *testing.T) {
	c := newCrowd(t, rowsOf(t, topology.Ring, 3), 10)
	c.link(0, 1, false)
	c.link(1, 2, false) // worker 1 is gone
	for range 120 {
		for _, i := range []int{0, 2} {
			c.poll(i)
			c.compute(i)
			for len(c.flight[i]) > 0 {
				c.deliver(i, 0, false)
			}
		}
	}
	if c.steps[0]+c.steps[2] < 30-1 {
		t.Errorf("workers 0 and 2 have done %v steps, want all 30", c.steps)
	}
	if len(c.ledgers[0].exchange) < 10 {
		t.Errorf("%d exchanges", len(c.ledgers[0].exchange))
	}
	c.finish()
}

func TestAFastWorkerDoesMoreSteps(t *testing.T) {
	c := newCrowd(t, rowsOf(t, topology.Ring, 4), 40)
	start := c.sum()
	for turn := 0; slices.Contains(c.done, false); turn++ {
		for i := range c.workers {
			if i != 2 || turn%4 == 0 {
				c.compute(i)
				c.settle()
			}
		}
		if turn > 1000 {
			t.Fatal("no end")
		}
	}
	c.check(start)
	total := c.steps[0] + c.steps[1] + c.steps[2] + c.steps[3]
	if total > 160+8 || 3*c.steps[2] > c.steps[0] {
		t.Errorf("steps %v, want 160 and few more, worker 2 a quarter of the others", c.steps)
	}
}

func TestNeighboursAreChosenEvenly(t *testing.T) {
	c := newCrowd(t, rowsOf(t, topology.Complete, 5), 400)
	for slices.Contains(c.done, false) {
		for i := range c.workers {
			c.settle()
			c.compute(i)
		}
	}
	counts := map[string]int{}
	for _, l := range c.ledgers {
		for key := range l.exchange {
			counts[key[:3]]++
		}
	}
	mean := 0
	for _, n := range counts {
		mean += n / 10
	}
	for edge, n := range counts {
		if float64(n) < 0.6*float64(mean) || float64(n) > 1.4*float64(mean) {
			t.Errorf("%d exchanges on %s, %d on average", n, edge, mean)
		}
	}
	if len(counts) != 10 {
		t.Errorf("%d of 10 links are used", len(counts))
	}
}

// pairs returns workers with a codec of the product. Their models begin apart by spread.
func pairs(t testing.TB, rows []topology.Row, spread, dim, rounds int,
	codec func(i, j int) algos.Codec) []*gossip.PairWorker {
	t.Helper()
	all := make([]*gossip.PairWorker, len(rows))
	for i := range all {
		x := make([]float32, dim)
		for c := range x {
			x[c] = float32(math.Sin(float64(3*i*spread+c))) / 4
		}
		alg := &algos.ADPSGD{X: x, Alpha: func(int) float32 { return 1 }, Weight: 0.5}
		codecs := make([]algos.Codec, len(rows))
		for j := range codecs {
			codecs[j] = codec(i, j)
		}
		alg.Codec = func(peer topology.Rank) algos.Codec { return codecs[peer] }
		w, err := gossip.NewPair(topology.Rank(i), rows[i], alg, gossip.PairPlan{Workers: len(rows), Rounds: rounds, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = w
	}
	return all
}

func moniquaPair(i, j int) algos.Codec {
	return &moniqua.Codec{Levels: 64, Theta: constantly(1), Seed: rng.Edge(3, i, j), Rank: topology.Rank(i)}
}

func wary(t testing.TB) func(i, j int) algos.Codec {
	return func(i, j int) algos.Codec {
		return verifiedPair(t, moniqua.Codec{Levels: 64}, fixedControl(t, 1), i, j)
	}
}

func fullPair(int, int) algos.Codec { return algos.Full{} }

// pass gives every worker one turn and returns the step of the last one. Gradients are 0.
func pass(t testing.TB, all []*gossip.PairWorker, g [][]float32) (step int) {
	for i, w := range all {
		r := w.Ready()
		step = r.Round
		for _, f := range r.Send {
			if err := all[f.To].Receive(f); err != nil {
				t.Fatal(err)
			}
		}
		if r.Compute {
			clear(g[i])
			if err := w.Gradient(g[i], 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return step
}

func buffers(n, dim int) [][]float32 {
	g := make([][]float32, n)
	for i := range g {
		g[i] = make([]float32, dim)
	}
	return g
}

func TestPairwiseExchangesReachConsensus(t *testing.T) {
	for name, codec := range map[string]func(i, j int) algos.Codec{"full": fullPair, "moniqua": moniquaPair,
		"verified": wary(t)} {
		const n, dim = 5, 40
		all, g := pairs(t, rowsOf(t, topology.Ring, n), 1, dim, 300, codec), buffers(n, dim)
		mean := func(c int) (m float64) {
			for _, w := range all {
				m += float64(w.Params()[c]) / n
			}
			return m
		}
		start := mean(7)
		for range 400 {
			pass(t, all, g)
		}
		for i, w := range all {
			if far := math.Abs(float64(w.Params()[7]) - start); far > 0.05 {
				t.Errorf("%s: worker %d is %v from the mean", name, i, far)
			}
		}
		if drift := math.Abs(mean(7) - start); drift > 1e-5 {
			t.Errorf("%s: the mean has moved by %v", name, drift)
		}
	}
}

func TestPairwiseStepsAllocateNothing(t *testing.T) {
	for name, codec := range map[string]func(i, j int) algos.Codec{"full": fullPair, "moniqua": moniquaPair,
		"verified": wary(t)} {
		t.Run(name, func(t *testing.T) {
			const n, dim = 4, 3000
			all, g := pairs(t, rowsOf(t, topology.Ring, n), 1, dim, 1_000_000, codec), buffers(n, dim)
			for range 100 {
				pass(t, all, g)
			}
			before := pass(t, all, g)
			if got := testing.AllocsPerRun(200, func() { pass(t, all, g) }); got != 0 {
				t.Errorf("%v allocations per pass", got)
			}
			if steps := pass(t, all, g) - before; steps < 20 {
				t.Errorf("%d steps measured", steps)
			}
			if got, least := all[0].ExtraMemory(), 4*dim; got < least || got > 4*least {
				t.Errorf("extra memory %d bytes, a snapshot has %d", got, least)
			}
		})
	}
}

func TestPairwiseErrorsAreNamed(t *testing.T) {
	rows := rowsOf(t, topology.Ring, 2)
	alg := &algos.ADPSGD{X: []float32{1}, Alpha: func(int) float32 { return 1 },
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} }}
	if _, err := gossip.NewPair(2, rows[0], alg, gossip.PairPlan{Workers: 2}); err == nil {
		t.Error("rank 2 of 2 is accepted")
	}
	w, err := gossip.NewPair(0, rows[0], alg, gossip.PairPlan{Workers: 2, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Gradient([]float32{0}, 0, 0); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("%v", err)
	}
	w.Ready()
	if err := w.Gradient([]float32{float32(math.NaN())}, 0, 0); err == nil ||
		!strings.Contains(err.Error(), "worker 0 step 0: gradient: holds NaN") {
		t.Errorf("%v", err)
	}
	var bad *algos.MessageError
	err = w.Receive(gossip.Frame{From: 1, To: 0, Round: 0, Hop: 6, Payload: []byte{1, 2, 3}})
	if !errors.As(err, &bad) || bad.From != 1 || !strings.Contains(err.Error(), "exchange 0 with worker 1") {
		t.Errorf("%v", err)
	}
}
