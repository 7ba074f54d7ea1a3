package gossip_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/vec"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A tracker mixes models and then estimates of the mean gradient, each in a lane.
type tracker struct {
	x, y, last []float32
	lanes      []algos.Codec
	mine       []byte
}

func (a *tracker) Plan() algos.Plan       { return algos.Plan{Hops: 2, Lead: 1} }
func (a *tracker) Params() []float32      { return a.x }
func (a *tracker) ExtraMemory() int       { return 0 }
func (a *tracker) Carries() []algos.Codec { return a.lanes }

func (a *tracker) Descend(k int, g []float32) error {
	vec.Add(a.y, a.y, g)
	vec.Sub(a.y, a.y, a.last)
	copy(a.last, g)
	vec.Axpy(a.x, -decreasing(k), a.y)
	return nil
}

func (a *tracker) Send(k, hop int, dst []byte) ([]byte, error) {
	out, err := a.lanes[hop].Encode(dst, k, [][]float32{a.x, a.y}[hop])
	a.mine = out[len(dst):]
	return out, err
}

func (a *tracker) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	v := [][]float32{a.x, a.y}[hop]
	return a.lanes[hop].Mix(v, k, v, a.mine, in)
}

// tracking returns trackers whose lanes have the bounds given and verify.
func (g graph) tracking(dim, rounds int, thetas ...float64) setup {
	with := func(wrap func(*moniqua.Codec) algos.Codec) func(i int, x []float32) gossip.Algorithm {
		return func(i int, x []float32) gossip.Algorithm {
			a := &tracker{x: x, y: make([]float32, dim), last: make([]float32, dim)}
			for lane, theta := range thetas {
				a.lanes = append(a.lanes, wrap(&moniqua.Codec{
					Levels: 16, Theta: constantly(theta), Seed: uint64(1 + lane), Rank: topology.Rank(i), Verify: true,
				}))
			}
			return a
		}
	}
	s := setup{rows: g.rows(), dim: dim, rounds: rounds, alg: with(func(c *moniqua.Codec) algos.Codec { return c })}
	s.exact = with(func(c *moniqua.Codec) algos.Codec { return exact{c} })
	return s
}

// Any lane may have too small a bound: its own codec repairs its messages.
func TestEachLaneRepairsItsOwnMessages(t *testing.T) {
	g := graph{{1: true, 3: true}, {0: true, 2: true}, {1: true, 3: true}, {0: true, 2: true}}
	for name, test := range map[string]struct {
		thetas [2]float64
		wrong  bool
	}{
		"no lane":    {[2]float64{8, 8}, false},
		"models":     {[2]float64{0.2, 8}, true},
		"estimates":  {[2]float64{8, 0.02}, true},
		"both lanes": {[2]float64{0.2, 0.02}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := g.tracking(500, 8, test.thetas[:]...)
			want := lockstep(t, s)
			d := newNetwork(t, s)
			d.finish()
			d.check(want)
			for i, w := range d.machines {
				r := w.Repairs()
				if !r.Verified || (r.Violations > 0) != test.wrong || r.Violations != r.Repaired {
					t.Errorf("worker %d: %+v", i, r)
				}
			}
		})
	}
}

// Frames arrive in any order or twice, or are lost with their link and sent again.
func TestEveryScheduleOfLanesGivesTheParametersOfLockstep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		s := newGraph(1+choose(5), choose).tracking(1+choose(5), choose(5), 0.3, 0.1)
		want := lockstep(t, s)
		d := newNetwork(t, s)
		for range 20 * choose(12) {
			d.act(choose)
		}
		d.finish()
		d.check(want)
	})
}

func TestEveryHopOfACarrierHasACodec(t *testing.T) {
	a := &tracker{x: make([]float32, 3), lanes: []algos.Codec{algos.Full{}}}
	_, err := gossip.New(0, topology.Row{Self: 1}, a, 1)
	if err == nil || !strings.Contains(err.Error(), "1 codecs for 2 hops") {
		t.Errorf("error %v", err)
	}
}
