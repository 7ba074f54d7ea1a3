package gossip_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Frames arrive in any order or twice, or are lost with their link and sent again; some frames no worker has sent. The
// parameters equal those of lock-step, bit for bit.
func TestEveryScheduleGivesTheParametersOfLockstep(t *testing.T) {
	for _, family := range slices.Concat(families, compressed, switching, inPieces) {
		t.Run(family.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
				s := family.make(newGraph(1+choose(6), choose), 1+choose(5), choose(5))
				want := lockstep(t, s)
				d := newNetwork(t, s)
				for range 20 * choose(12) {
					d.act(choose)
				}
				d.finish()
				d.check(want)
			})
		})
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 3, 1, 0, 2, 2, 3, 0, 0, 0, 2, 1, 0, 1, 2, 0, 4, 0, 0, 1, 4, 0, 0})
	f.Add([]byte{2, 4, 0, 1, 2, 0, 3, 3, 0, 0, 1, 0, 0, 2, 1, 2, 2, 7, 0, 1, 1, 7, 1, 1, 2, 1, 1, 7, 0, 0})
	f.Fuzz(func(t *testing.T, choices []byte) {
		choose := func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		}
		all := slices.Concat(families, switching, inPieces)
		family := all[choose(len(all))]
		s := family.make(newGraph(1+choose(6), choose), 1+choose(5), choose(5))
		want := lockstep(t, s)
		d := newNetwork(t, s)
		for len(choices) > 0 {
			d.act(choose)
		}
		d.finish()
		d.check(want)
	})
}

// A mute algorithm sends two bytes in each of two hops and learns nothing.
type mute struct{ x []float32 }

func (a *mute) Plan() algos.Plan             { return algos.Plan{Hops: 2, Lead: 1} }
func (a *mute) Params() []float32            { return a.x }
func (a *mute) ExtraMemory() int             { return 0 }
func (a *mute) Descend(int, []float32) error { return nil }

func (a *mute) Send(k, hop int, dst []byte) ([]byte, error) {
	return append(dst, byte(k), byte(hop)), nil
}

func (a *mute) Mix(int, int, []algos.Message) (algos.Mixed, error) { return algos.Mixed{}, nil }

func TestRoundsAllocateNothing(t *testing.T) {
	const n, dim = 4, 3000
	ring := graph{{1: true, 3: true}, {0: true, 2: true}, {1: true, 3: true}, {0: true, 2: true}}.rows()
	complete, star := make(graph, n).on(topology.Complete), make(graph, n).on(topology.Star)
	onePeer, err := topology.New(topology.Spec{Kind: topology.OnePeerExponential, N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	changing := onePeer.Sequences()
	tests := []struct {
		name string
		rows []topology.Row // nil: a graph that changes
		alg  func(i int, x []float32) gossip.Algorithm
	}{
		{"neighbours that change", nil, func(i int, x []float32) gossip.Algorithm {
			codec := &moniqua.Codec{Levels: 16, Theta: constantly(1), Verify: true, Piece: 1024}
			codec.Behind(changing[i].Ahead())
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: codec}
		}},
		{"two hops of little", ring, func(_ int, x []float32) gossip.Algorithm { return &mute{x} }},
		{"dpsgd cta", ring, func(_ int, x []float32) gossip.Algorithm {
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: algos.Full{}}
		}},
		{"dpsgd atc", ring, func(_ int, x []float32) gossip.Algorithm {
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: algos.Full{}, Order: algos.ATC}
		}},
		{"moniqua", ring, func(i int, x []float32) gossip.Algorithm {
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: &moniqua.Codec{Levels: 16, Theta: constantly(1)}}
		}},
		{"moniqua, verified and adaptive", ring, func(i int, x []float32) gossip.Algorithm {
			control, err := moniqua.Adaptive(moniqua.ControlPlan{Diameter: 2, Every: 1, Start: 1, Unit: constantly(1)})
			if err != nil {
				t.Fatal(err)
			}
			codec := &moniqua.Codec{Levels: 16, Theta: control.Theta, Control: control, Verify: true}
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: codec}
		}},
		{"pieces, verified", ring, func(i int, x []float32) gossip.Algorithm {
			codec := &moniqua.Codec{Levels: 16, Theta: constantly(1), Verify: true, Piece: 1024}
			return &algos.DPSGD{X: x, Alpha: decreasing, Codec: codec}
		}},
		{"pieces of full precision, d2", ring, func(i int, x []float32) gossip.Algorithm {
			return &algos.D2{X: x, Alpha: decreasing, Codec: algos.Full{Piece: 1024}}
		}},
		{"qg", ring, func(i int, x []float32) gossip.Algorithm {
			return &algos.QG{X: x, Alpha: decreasing, Beta: 0.9, Codec: &moniqua.Codec{Levels: 16, Theta: constantly(1)}}
		}},
		{"decentlam", ring, func(i int, x []float32) gossip.Algorithm {
			return &algos.DecentLaM{X: x, Alpha: decreasing, Beta: 0.9, Codec: algos.Full{}}
		}},
		{"gt", ring, func(i int, x []float32) gossip.Algorithm {
			lanes := []algos.Codec{
				&moniqua.Codec{Levels: 16, Theta: constantly(1), Verify: true},
				&moniqua.Codec{Levels: 16, Theta: constantly(1), Verify: true, Seed: 1},
			}
			return &algos.GT{X: x, Alpha: decreasing, Eta: 1, Lanes: lanes}
		}},
		{"allreduce", topology.Cycle(n), func(i int, x []float32) gossip.Algorithm {
			return &algos.AllReduce{X: x, Alpha: decreasing, Rank: i, Workers: n}
		}},
		{"all-gather", complete, func(i int, x []float32) gossip.Algorithm {
			c := compression(dim, i, complete[i])
			return &algos.AllGather{X: x, Alpha: decreasing, Rank: i, Feedback: true, Compression: c}
		}},
		{"server", star, func(i int, x []float32) gossip.Algorithm {
			c := compression(dim, i, star[i])
			return &algos.Server{X: x, Alpha: decreasing, Rank: i, Compression: c, Mean: compressor(dim, n)}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var workers [n]*gossip.Worker
			for i := range workers {
				rows := changing[i]
				if test.rows != nil {
					rows = test.rows[i]
				}
				w, err := gossip.New(topology.Rank(i), rows, test.alg(i, make([]float32, dim)), 1_000_000)
				if err != nil {
					t.Fatal(err)
				}
				w.AtBoundary(func(int) {})
				workers[i] = w
			}
			var rounds int
			g := make([]float32, n*dim)
			pass := func() {
				for i, w := range workers {
					r := w.Ready()
					rounds = r.Round
					for _, f := range r.Send {
						if err := workers[f.To].Receive(f); err != nil {
							t.Fatal(err)
						}
					}
					if r.Compute {
						mine := g[i*dim : (i+1)*dim]
						clear(mine)
						if err := w.Gradient(mine, 0, 0); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			for range 100 {
				pass()
			}
			start := rounds
			if got := testing.AllocsPerRun(200, pass); got != 0 {
				t.Errorf("%v allocations per pass over the ring", got)
			}
			if rounds-start < 20 {
				t.Errorf("%d rounds measured, want at least 20", rounds-start)
			}
		})
	}
}
