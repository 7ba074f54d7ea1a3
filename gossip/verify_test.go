package gossip_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"

	"pgregory.net/rapid"
)

var (
	_ gossip.Verifier = (*moniqua.Codec)(nil)
	_ gossip.Noter    = (*moniqua.Codec)(nil)
	_ gossip.Carrier  = (*algos.DPSGD)(nil)
	_ gossip.Local    = (*algos.DPSGD)(nil)
)

// verified is dpsgd with a codec that verifies; lock-step exchanges the indices
// themselves.
func (g graph) verified(dim, rounds int, order algos.Order, codec moniqua.Codec) setup {
	make := func(i int) *moniqua.Codec {
		return &moniqua.Codec{
			Levels: codec.Levels, Rounding: codec.Rounding, Theta: codec.Theta, Seed: codec.Seed, Rank: topology.Rank(i),
			Verify: true, Piece: codec.Piece,
		}
	}
	s := g.dpsgd(dim, rounds, order, func(i int) algos.Codec { return make(i) })
	s.exact = g.dpsgd(dim, rounds, order, func(i int) algos.Codec { return exact{make(i)} }).alg
	return s
}

// verifiedD2 does the same for D².
func (g graph) verifiedD2(dim, rounds int, codec moniqua.Codec) setup {
	with := func(codec func() algos.Codec) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, _ algos.Compression) gossip.Algorithm {
			return &algos.D2{X: x, Alpha: decreasing, Codec: codec()}
		})
	}
	make := func() *moniqua.Codec {
		return &moniqua.Codec{Levels: codec.Levels, Rounding: codec.Rounding, Theta: codec.Theta, Seed: codec.Seed,
			Verify: true, Piece: codec.Piece}
	}
	s := with(func() algos.Codec { return make() })
	s.exact = with(func() algos.Codec { return exact{make()} }).alg
	return s
}

// exact is the codec of a run without errors on the same grid: it sends the indices themselves.
type exact struct{ *moniqua.Codec }

func (c exact) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	indices := make([]int32, len(x))
	err := c.Indices(indices, k, x)
	for _, v := range indices {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return dst, err
}

func (c exact) Mix(acc []float32, k int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	grid, err := c.Grid(k)
	for i := range acc {
		at := func(payload []byte) int32 { return int32(binary.LittleEndian.Uint32(payload[4*i:])) }
		sum := float32(0)
		for _, m := range in {
			scale := float32(float64(m.Weight) * grid.Step())
			sum += float32(scale * float32(at(m.Payload)-at(mine)))
		}
		acc[i] += sum
	}
	return algos.Mixed{}, err
}

// θ is far too small on a ring: the workers repair messages, and the parameters equal those of the run without errors.
func TestThetaTooSmallIsRepaired(t *testing.T) {
	const dim, rounds = 2000, 10
	g := graph{{1: true, 3: true}, {0: true, 2: true}, {1: true, 3: true}, {0: true, 2: true}}
	like := moniqua.Codec{Levels: 16, Theta: constantly(0.2), Seed: 1}
	for name, s := range map[string]setup{
		"dpsgd, cta": g.verified(dim, rounds, algos.CTA, like),
		"dpsgd, atc": g.verified(dim, rounds, algos.ATC, like),
		"d2":         g.verifiedD2(dim, rounds, like),
	} {
		t.Run(name, func(t *testing.T) {
			want := lockstep(t, s)
			d := newNetwork(t, s)
			d.finish()
			d.check(want)
			for i, w := range d.machines {
				r := w.Repairs()
				if !r.Verified || r.Violations < 5 || r.Violations != r.Repaired {
					t.Errorf("worker %d: %+v, want violations in many of 20 messages, all of them repaired", i, r)
				}
				if w.ExtraMemory() < 100 {
					t.Errorf("worker %d: %d bytes of extra memory: the quotients of two rounds are kept", i, w.ExtraMemory())
				}
			}
		})
	}
}

// A doubter is a script whose first mixing of each hop rejects the messages of the named workers. It is its own codec.
type doubter struct {
	script
	doubts  []topology.Rank
	asks    [][]byte // the requests that the repairs answer
	doubted int
}

func (a *doubter) Carries() []algos.Codec {
	return slices.Repeat([]algos.Codec{doubtful{a}}, a.Plan().Hops)
}

func (a *doubter) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	if a.doubted == k {
		a.doubted++
		return algos.Mixed{}, &algos.MismatchError{From: a.doubts, Ask: a.asks}
	}
	var said []string
	for _, m := range in {
		said = append(said, fmt.Sprintf("%d:%s+%s", m.From, m.Payload, m.Repair))
	}
	return algos.Mixed{}, a.note("mix %d.%d %s", k, hop, strings.Join(said, " "))
}

type doubtful struct{ *doubter }

func (doubtful) Encode(dst []byte, _ int, _ []float32) ([]byte, error) { return dst, nil }
func (doubtful) Verifies() bool                                        { return true }
func (doubtful) ExtraMemory() int                                      { return 30 }
func (doubtful) AppendRepair(dst []byte, k, _ int, asked []byte) ([]byte, bool) {
	return fmt.Appendf(dst, "repair of %d%s", k, asked), true
}
func (doubtful) Mix([]float32, int, []float32, []byte, []algos.Message) (algos.Mixed, error) {
	return algos.Mixed{}, nil
}

func newDoubter(t *testing.T, row topology.Row, doubts ...topology.Rank) (*doubter, *gossip.Worker) {
	t.Helper()
	alg := &doubter{script: script{plan: overlapping}, doubts: doubts}
	return alg, newWorker(t, row, alg, 3)
}

func repairOf(from topology.Rank, round int, payload string) gossip.Frame {
	f := frame(from, round, 0, payload)
	f.Kind = gossip.Repair
	return f
}

func request(from topology.Rank, round int) gossip.Frame {
	return gossip.Frame{From: from, To: 5, Kind: gossip.Request, Round: round}
}

func TestMismatchIsRepaired(t *testing.T) {
	alg, w := newDoubter(t, middle, 2, 9)
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"), frame(4, 0, 0, "b"), frame(9, 0, 0, "c"))
	r := w.Ready()
	equal(t, "requests", r.Send, []gossip.Frame{
		{From: 5, To: 2, Kind: gossip.Request}, {From: 5, To: 9, Kind: gossip.Request},
	})
	equal(t, "waiting", r.Waiting, []topology.Rank{2, 9})
	receive(t, w, repairOf(9, 0, "z"))
	equal(t, "waiting after one repair", w.Ready().Waiting, []topology.Rank{2})
	receive(t, w, repairOf(2, 0, "x"))
	equal(t, "calls", alg.calls, []string{"send 0.0", "mix 0.0 2:a+x 4:b+ 9:c+z", "descend 0 by 7", "send 1.0"})
	equal(t, "counts", w.Repairs(), gossip.Repairs{Violations: 2, Repaired: 2, Verified: true})
	if got := w.Ready(); len(got.Spent) != 5 {
		t.Errorf("spent %q, want 3 messages and 2 repairs", got.Spent)
	}
	equal(t, "extra memory", w.ExtraMemory(), 42)
}

func TestRequestIsRepeatedOnANewLink(t *testing.T) {
	_, w := newDoubter(t, pair, 2)
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"))
	w.Ready()
	w.Link(2, false)
	w.Link(2, true)
	equal(t, "frames", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Payload: []byte("0.0")}, {From: 5, To: 2, Kind: gossip.Request},
	})
	receive(t, w, repairOf(2, 0, "x"))
	if r := w.Ready(); !r.Compute || r.Round != 1 {
		t.Errorf("after the repair: %+v, want round 1", r)
	}
}

// A request has the data of the mismatch, and the codec gets it. A repeated request has none: it asks for all.
func TestRequestHasTheDataOfTheMismatch(t *testing.T) {
	alg, w := newDoubter(t, pair, 2)
	alg.asks = [][]byte{[]byte(" in span 3")}
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"))
	equal(t, "request", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Kind: gossip.Request, Payload: alg.asks[0]},
	})
	w.Link(2, false)
	w.Link(2, true)
	equal(t, "repeated request", w.Ready().Send[1:], []gossip.Frame{{From: 5, To: 2, Kind: gossip.Request}})
	f := request(2, 0)
	f.Payload = alg.asks[0]
	receive(t, w, f)
	equal(t, "answer", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Kind: gossip.Repair, Payload: []byte("repair of 0 in span 3")},
	})
}

func TestRequestIsAnsweredOncePerLink(t *testing.T) {
	_, w := newDoubter(t, pair)
	w.Ready()
	receive(t, w, request(2, 0))
	equal(t, "answer", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Kind: gossip.Repair, Payload: []byte("repair of 0")},
	})
	if err := w.Receive(request(2, 0)); !errors.Is(err, gossip.ErrDuplicate) {
		t.Errorf("asked twice: error %v, want %v", err, gossip.ErrDuplicate)
	}
	w.Link(2, true)
	w.Ready()
	receive(t, w, request(2, 0))
	if got := w.Ready().Send; len(got) != 1 || got[0].Kind != gossip.Repair {
		t.Errorf("on a new link: %v, want the repair", got)
	}
}

func TestRepairFramesAreRefused(t *testing.T) {
	plain := func(t *testing.T) *gossip.Worker { return newWorker(t, pair, &script{plan: overlapping}, 3) }
	doubting := func(t *testing.T) *gossip.Worker {
		_, w := newDoubter(t, middle, 2)
		gradient(t, w, 7)
		receive(t, w, frame(2, 0, 0, "a"), frame(4, 0, 0, "b"), frame(9, 0, 0, "c"))
		return w
	}
	ahead := func(t *testing.T) *gossip.Worker {
		alg := &doubter{script: script{plan: overlapping}, doubted: -1}
		w := newWorker(t, pair, alg, 3)
		for k := range 2 {
			gradient(t, w, 7)
			receive(t, w, frame(2, k, 0, "a"))
		}
		return w
	}
	tests := []struct {
		name   string
		worker func(t *testing.T) *gossip.Worker
		frame  gossip.Frame
		want   error
	}{
		{"unrequested repair", plain, repairOf(2, 0, "x"), gossip.ErrUnasked},
		{"repair of a message that was good", doubting, repairOf(4, 0, "x"), gossip.ErrUnasked},
		{"repair of the next round", doubting, repairOf(2, 1, "x"), gossip.ErrUnasked},
		{"repair far ahead", doubting, repairOf(2, 2, "x"), gossip.ErrEarly},
		{"repair from a stranger", doubting, repairOf(3, 0, "x"), gossip.ErrStranger},
		{"repair of a finished round", ahead, repairOf(2, 1, "x"), gossip.ErrStale},
		{"request where nothing is verified", plain, request(2, 0), gossip.ErrUnasked},
		{"request from a stranger", doubting, request(3, 0), gossip.ErrStranger},
		{"request of a round not sent yet", doubting, request(2, 1), gossip.ErrEarly},
		{"request beyond the run", doubting, request(2, math.MaxInt), gossip.ErrEarly},
		{"request of a round before the first", doubting, request(2, -1), gossip.ErrStale},
		{"request of a round no longer kept", ahead, request(2, 0), gossip.ErrStale},
		{"unknown kind", doubting, gossip.Frame{From: 2, To: 5, Kind: 7, Round: 1}, gossip.ErrUnasked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := test.worker(t)
			w.Ready()
			if err := w.Receive(test.frame); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if r := w.Ready(); len(r.Send) != 0 || len(r.Spent) != 0 {
				t.Errorf("there is work to do: %+v", r)
			}
		})
	}
}

func TestRepairArrivesTwice(t *testing.T) {
	_, w := newDoubter(t, middle, 2, 9)
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"), frame(4, 0, 0, "b"), frame(9, 0, 0, "c"), repairOf(2, 0, "x"))
	if err := w.Receive(repairOf(2, 0, "x")); !errors.Is(err, gossip.ErrDuplicate) {
		t.Errorf("error %v, want %v", err, gossip.ErrDuplicate)
	}
}

// A repair that cannot be used is forgotten with its message.
func TestUnusableRepairIsFetchedAgain(t *testing.T) {
	alg, w := newDoubter(t, pair, 2)
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"))
	alg.fails = map[string]error{"mix 0.0 2:a+bad": &algos.MessageError{From: 2, Err: errors.New("nonsense")}}
	w.Ready()
	var bad *algos.MessageError
	if err := w.Receive(repairOf(2, 0, "bad")); !errors.As(err, &bad) || bad.From != 2 {
		t.Fatalf("error %v, want a message error", err)
	}
	r := w.Ready()
	if len(r.Spent) != 2 || len(r.Waiting) != 1 {
		t.Errorf("%+v, want two payloads spent and worker 2 waited for", r)
	}
	receive(t, w, frame(2, 0, 0, "a"))
	if r := w.Ready(); !r.Compute || r.Round != 1 {
		t.Errorf("after the message came again: %+v", r)
	}
}

func TestOnlyLocalAlgorithmsSkipExchanges(t *testing.T) {
	if _, err := gossip.NewScheduled(5, pair, &script{plan: overlapping},
		gossip.Schedule{Rounds: 4, Every: 2}); err == nil {
		t.Error("an algorithm that exchanges in each round was accepted")
	}
	if _, err := gossip.NewScheduled(5, pair, &algos.DPSGD{}, gossip.Schedule{Rounds: 4, Every: 0}); err == nil {
		t.Error("an exchange in every 0 rounds was accepted")
	}
}

// A chooser notes the θ that its codec takes in each round.
type chooser struct {
	*moniqua.Codec
	thetas map[int]float64
}

func (c chooser) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	c.thetas[k] = c.Theta(k)
	return c.Codec.Encode(dst, k, x)
}

func controlled(t fataler, rule func(moniqua.ControlPlan) (*moniqua.Control, error), levels int,
	plan moniqua.ControlPlan, i int) *moniqua.Codec {
	control, err := rule(plan)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := moniqua.NewControlled(levels, moniqua.Dither, control, 1, topology.Rank(i))
	if err != nil {
		t.Fatal(err)
	}
	codec.Verify = true
	return codec
}

// All workers have the same θ in every round, in any order of arrival, and so the same parameters.
func TestThetaIsAgreedOnInEverySchedule(t *testing.T) {
	rules := map[string]func(moniqua.ControlPlan) (*moniqua.Control, error){"adaptive": moniqua.Adaptive,
		"measured": moniqua.Measured}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
				g := newGraph(1+choose(5), choose)
				plan := moniqua.ControlPlan{
					Diameter: len(g) - 1, Every: 1 + choose(2),
					Start: math.Exp2(float64(choose(12) - 8)), Unit: func(k int) float64 { return 1 / float64(10+k) },
				}
				levels := []int{2, 3, 16, 256}[choose(4)]
				var thetas []map[int]float64
				s := g.dpsgd(1+choose(5), plan.Every*choose(50), algos.CTA, func(i int) algos.Codec {
					c := chooser{controlled(t, rule, levels, plan, i), map[int]float64{}}
					thetas = append(thetas, c.thetas)
					return c
				})
				s.every = plan.Every
				plain := newNetwork(t, s)
				plain.finish()
				var want [][]float32
				for _, w := range plain.machines {
					want = append(want, w.Params())
				}
				d := newNetwork(t, s)
				for range 20 * choose(6) {
					d.act(choose)
				}
				d.finish()
				d.check(want)
				for i, own := range thetas {
					for k, theta := range own {
						if theta != thetas[0][k] {
							t.Fatalf("worker %d round %d: theta %v, at another worker %v", i, k, theta, thetas[0][k])
						}
					}
				}
			})
		})
	}
}
