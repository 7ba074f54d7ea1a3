package gossip_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"

	"pgregory.net/rapid"
)

var (
	_ gossip.Verifier = (*moniqua.PairCodec)(nil)
	_ gossip.Proposer = (*moniqua.PairCodec)(nil)
)

// verifiedPair returns the codec of one end of a link, with θ from control.
func verifiedPair(t fataler, template moniqua.Codec, control *moniqua.PairControl, i, j int) *moniqua.PairCodec {
	template.Seed, template.Rank, template.Verify = rng.Edge(3, i, j), topology.Rank(i), true
	codec, err := moniqua.NewPair(template, topology.Rank(j), control)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func fixedControl(t fataler, theta float64) *moniqua.PairControl {
	control, err := moniqua.NewPairFixed(theta)
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// A turner delivers each message before it does anything else. So a run with repairs has the same order of events as
// one without.
type turner struct {
	t       *testing.T
	all     []*gossip.PairWorker
	at      [][]float32 // points of the outstanding gradients
	steps   []int
	repairs int
}

// take takes the work of worker i and delivers its frames.
func (s *turner) take(i int) {
	r := s.all[i].Ready()
	if r.Compute {
		s.at[i] = r.At
	}
	for _, f := range slices.Clone(r.Send) {
		if f.Kind == gossip.Repair {
			s.repairs++
		}
		if err := s.all[f.To].Receive(f); err != nil {
			s.t.Fatal(err)
		}
		s.take(int(f.To))
	}
}

// turn lets worker i take a gradient, which pulls it to a point of its own.
func (s *turner) turn(i int) {
	s.take(i)
	if x := s.at[i]; x != nil {
		g := make([]float32, len(x))
		slope(g, i, s.steps[i], x)
		s.at[i] = nil
		s.steps[i]++
		if err := s.all[i].Gradient(g, 0, 0); err != nil {
			s.t.Fatal(err)
		}
		s.take(i)
	}
}

// run gives turns in an order of its own and returns the models. They begin equal: only the very first offers of a run
// meet each other.
func run(t *testing.T, rows []topology.Row, codec func(i, j int) algos.Codec) ([][]float32, *turner) {
	t.Helper()
	n := len(rows)
	s := &turner{t: t, all: pairs(t, rows, 0, 700, 1000, codec), at: make([][]float32, n), steps: make([]int, n)}
	for i := range n {
		s.take(i)
	}
	for k := range 60 * n {
		s.turn(int(rng.At(9, k).Raw(0) % uint32(n)))
	}
	models := make([][]float32, n)
	for i, w := range s.all {
		models[i] = w.Params()
	}
	return models, s
}

// θ is ten times too small: the parameters equal those of the run in which the same indices were never recovered
// wrongly.
func TestAPairwiseThetaTooSmallIsRepaired(t *testing.T) {
	for _, c := range []struct {
		name string
		kind topology.Kind
		n    int
		like moniqua.Codec
	}{
		{"two", topology.Ring, 2, moniqua.Codec{Levels: 256}},
		{"odd ring", topology.Ring, 5, moniqua.Codec{Levels: 16}},
		{"star, nearest", topology.Star, 5, moniqua.Codec{Levels: 5, Rounding: moniqua.Nearest}},
		{"path, one bit", topology.Path, 4, moniqua.Codec{Levels: 2}},
		{"stochastic", topology.Complete, 4, moniqua.Codec{Levels: 8, Rounding: moniqua.Stochastic}},
	} {
		t.Run(c.name, func(t *testing.T) {
			theta, rows := fixedControl(t, 0.1).Theta(), rowsOf(t, c.kind, c.n)
			got, s := run(t, rows, func(i, j int) algos.Codec { return verifiedPair(t, c.like, fixedControl(t, 0.1), i, j) })
			want, plain := run(t, rows, func(i, j int) algos.Codec {
				return exact{&moniqua.Codec{Levels: c.like.Levels, Rounding: c.like.Rounding, Theta: constantly(theta),
					Seed: rng.Edge(3, i, j), Rank: topology.Rank(i)}}
			})
			for i := range got {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("worker %d: other parameters than without errors", i)
				}
			}
			counts := gossip.Repairs{}
			for _, w := range s.all {
				r := w.Repairs()
				counts.Violations, counts.Repaired = counts.Violations+r.Violations, counts.Repaired+r.Repaired
			}
			if plain.repairs != 0 || counts.Violations < 20 || counts.Repaired < 20 || s.all[0].ExtraMemory() < 4*700+100 {
				t.Errorf("%+v in %d frames, %d bytes of extra memory", counts, s.repairs, s.all[0].ExtraMemory())
			}
		})
	}
}

// Frames arrive in any order or twice, or are lost with their link; θ is chosen while the run goes on. The mean of the
// models moves by the gradients alone.
func TestEveryPairwiseScheduleWithMoniquaKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		rows := newGraph(1+choose(5), choose).rows()
		levels, rule, start := []int{2, 3, 16, 256}[choose(4)], choose(3), math.Exp2(float64(choose(16)-8))
		c := gather(t, rows, choose(8), func(i int) func(topology.Rank) algos.Codec {
			control := anyControl(t, rule, start)
			codecs := make([]algos.Codec, len(rows))
			for j := range codecs {
				codecs[j] = verifiedPair(t, moniqua.Codec{Levels: levels}, control, i, j)
			}
			return func(peer topology.Rank) algos.Codec { return codecs[peer] }
		})
		start0 := 0.0
		for _, a := range c.algs {
			start0 += float64(a.X[0])
		}
		for range 40 * choose(8) {
			c.act(choose)
		}
		c.finish()
		c.check(c.sum() + c.pulled) // payloads and steps
		sum := 0.0
		for _, a := range c.algs {
			sum += float64(a.X[0])
		}
		if want := start0 - float64(c.pulled); math.Abs(sum-want) > 0.01 {
			t.Fatalf("the models add up to %v, want %v", sum, want)
		}
	})
}

func anyControl(t fataler, rule int, start float64) *moniqua.PairControl {
	plan := moniqua.ControlPlan{Start: start, Unit: func(clock int) float64 { return 1 / float64(10+clock) }}
	var control *moniqua.PairControl
	var err error
	switch rule {
	case 0:
		control, err = moniqua.NewPairFixed(start)
	case 1:
		control, err = moniqua.NewPairControl(moniqua.Adaptive, plan)
	case 2:
		control, err = moniqua.NewPairControl(moniqua.Measured, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// offered returns two workers whose models are both recovered wrongly. The lower rank holds the question of the higher,
// and a decline is on its way to it.
func offered(t *testing.T) *crowd {
	t.Helper()
	c := newDoubters(t, rowsOf(t, topology.Ring, 2), 5, wrongly(3))
	c.poll(0)
	c.poll(1)
	c.deliver(1, 0, false) // the lower rank is declined
	c.deliver(0, 0, false) // the higher is held
	c.poll(1)
	return c
}

func describe(frames []gossip.Frame) string {
	var said []string
	for _, f := range frames {
		said = append(said, fmt.Sprintf("%d→%d kind %d message %d of %d", f.From, f.To, f.Kind, f.Hop, f.Round))
	}
	return strings.Join(said, ", ")
}

func (c *crowd) want(models ...float32) {
	for i, want := range models {
		if got := c.algs[i].X[0]; got != want {
			c.t.Fatalf("worker %d: model %v, want %v", i, got, want)
		}
	}
}

// step delivers the oldest frame to worker i and compares the frames that it then sends.
func (c *crowd) step(i int, want string) {
	c.deliver(i, 0, false)
	before := len(c.flight[1-i])
	c.poll(i)
	if got := describe(c.flight[1-i][before:]); got != want {
		c.t.Fatalf("worker %d sends %q, want %q", i, got, want)
	}
}

// repairing is an exchange that worker 1 asks for, with both models wrong, frame by frame.
var repairing = []struct {
	to    int    // receives a frame
	sends string // then
	links [2]string
}{
	{0, "0→1 kind 0 message 1 of 1, 0→1 kind 0 message 6 of 1", [2]string{"0→1 kind 0 message 3 of 1",
		"1→0 kind 0 message 3 of 1"}},
	{1, "1→0 kind 0 message 5 of 1", [2]string{"0→1 kind 0 message 3 of 1", "1→0 kind 0 message 3 of 1"}},
	{1, "1→0 kind 1 message 6 of 1", [2]string{"0→1 kind 0 message 3 of 1", "1→0 kind 1 message 6 of 1"}},
	{0, "0→1 kind 1 message 5 of 1", [2]string{"0→1 kind 1 message 5 of 1", "1→0 kind 1 message 6 of 1"}},
	{0, "0→1 kind 2 message 6 of 1", [2]string{"0→1 kind 1 message 5 of 1", "1→0 kind 1 message 6 of 1"}},
	{1, "1→0 kind 2 message 5 of 1", [2]string{"0→1 kind 1 message 5 of 1", "1→0 kind 1 message 6 of 1"}},
	{1, "", [2]string{"0→1 kind 1 message 5 of 1", ""}},
	{0, "", [2]string{"", ""}},
}

// repaired plays the first steps of repairing.
func (c *crowd) repaired(steps int) *crowd {
	for _, s := range repairing[:steps] {
		c.step(s.to, s.sends)
	}
	return c
}

func TestAnExchangeWaitsForItsRepairs(t *testing.T) {
	offered(t).repaired(6).want(0, 100)
	offered(t).repaired(7).want(0, 50)
	c := offered(t).repaired(8)
	c.want(50, 50)
	for i, w := range c.workers {
		if r := w.Repairs(); r != (gossip.Repairs{Violations: 1, Repaired: 1, Verified: true}) {
			t.Errorf("worker %d: %+v", i, r)
		}
	}
}

// The link breaks at each step of an exchange: on the next one each end asks for what it lacks, and both end it the
// same way.
func TestALinkBreaksDuringRepairs(t *testing.T) {
	for k, s := range repairing {
		c := offered(t).repaired(k + 1)
		c.link(0, 1, false)
		c.link(0, 1, true)
		for i, want := range s.links {
			c.poll(i)
			if got := describe(c.flight[1-i]); got != want {
				t.Errorf("lost after step %d: worker %d asks %q, want %q", k, i, got, want)
			}
		}
		c.finish()
		c.check(100)
	}
}

func TestAWrongRepairIsRefused(t *testing.T) {
	for i, steps := range []int{7, 6} { // the repair of the offer, of the reply
		c := offered(t).repaired(steps)
		f := c.flight[i][0]
		f.Payload = []byte("nonsense")
		models := [2]float32{c.algs[0].X[0], c.algs[1].X[0]}
		var bad *algos.MessageError
		if err := c.workers[i].Receive(f); !errors.As(err, &bad) || int(bad.From) != 1-i ||
			!strings.Contains(err.Error(), fmt.Sprintf("exchange 1 with worker %d: ", 1-i)) {
			t.Fatalf("worker %d: a wrong repair: %v", i, err)
		}
		c.want(models[:]...)
		c.taken[i]++
		c.judge(i, bad) // a driver makes a new link
		c.finish()
		c.check(100)
	}
}

func TestPairwiseRepairFramesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrong int
		frame gossip.Frame
		want  error
	}{
		{"unrequested repair", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Repair, Round: 1}, gossip.ErrUnasked},
		{"repair of no reply", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Repair, Round: 0, Hop: 6}, gossip.ErrUnasked},
		{"repair of a decline", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Repair, Round: 0, Hop: 2}, gossip.ErrUnasked},
		{"request where nothing is verified", 0, gossip.Frame{From: 1, To: 0, Kind: gossip.Request, Round: 0},
			gossip.ErrUnasked},
		{"request of an offer not made", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Request, Round: 2, Hop: 5},
			gossip.ErrStale},
		{"request of a reply not given", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Request, Round: -1, Hop: 6},
			gossip.ErrStale},
		{"request of a census", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Request, Hop: 4}, gossip.ErrStale},
		{"request of no message", 3, gossip.Frame{From: 1, To: 0, Kind: gossip.Request, Hop: 7}, gossip.ErrNoSuchHop},
		{"unknown kind", 3, gossip.Frame{From: 1, To: 0, Kind: 7, Round: 1}, gossip.ErrUnasked},
	} {
		w := newDoubters(t, rowsOf(t, topology.Ring, 2), 5, wrongly(c.wrong)).workers[0]
		w.Ready()
		if err := w.Receive(c.frame); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if r := w.Ready(); len(r.Send) != 0 || len(r.Spent) != 0 {
			t.Errorf("%s: there is work to do: %+v", c.name, r)
		}
	}
	c := offered(t).repaired(5)
	c.deliver(1, 0, true)
	if err := c.workers[1].Receive(c.flight[1][0]); !errors.Is(err, gossip.ErrDuplicate) {
		t.Errorf("asked twice: %v", err)
	}
}

func TestAStrangeThetaIsABadMessage(t *testing.T) {
	for name, theta := range map[string]float32{
		"none": 0, "negative": -1, "NaN": float32(math.NaN()), "infinite": float32(math.Inf(1)), "denormal": 1e-44,
		"too small for the model": 1e-20,
	} {
		all := pairs(t, rowsOf(t, topology.Ring, 2), 1, 20, 5, func(i, j int) algos.Codec {
			return verifiedPair(t, moniqua.Codec{Levels: 16}, fixedControl(t, 1), i, j)
		})
		all[0].Ready()
		offer := all[1].Ready().Send[0]
		for _, f := range all[0].Ready().Send {
			t.Fatalf("sends %v", f)
		}
		decline := gossip.Frame{From: 1, To: 0, Round: 0, Hop: 2}
		if err := all[0].Receive(decline); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(all[0].Params())
		offer.Note = uint64(math.Float32bits(theta)) | 5<<32
		var bad *algos.MessageError
		if err := all[0].Receive(offer); !errors.As(err, &bad) || bad.From != 1 || !strings.Contains(err.Error(), "theta") {
			t.Errorf("%s: %v, want the theta refused", name, err)
		}
		if !slices.Equal(all[0].Params(), before) {
			t.Errorf("%s: the model has changed", name)
		}
		if got := describe(all[0].Ready().Send); got != "0→1 kind 0 message 2 of 1" {
			t.Errorf("%s: sends %q, want the offer declined", name, got)
		}
	}
}
