package algos_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A reduction makes worker i of n of a compressed all-reduce.
type reduction struct {
	name string
	kind topology.Kind
	make func(i int, x []float32, c algos.Compression, mean quant.Compressor) algorithm
}

var reductions = []reduction{
	{"all-gather", topology.Complete, func(i int, x []float32, c algos.Compression, _ quant.Compressor) algorithm {
		return &algos.AllGather{X: x, Alpha: constant(stepSize), Rank: i, Compression: c}
	}},
	{"all-gather with feedback", topology.Complete,
		func(i int, x []float32, c algos.Compression, _ quant.Compressor) algorithm {
			return &algos.AllGather{X: x, Alpha: constant(stepSize), Rank: i, Feedback: true, Compression: c}
		}},
	{"server", topology.Star, func(i int, x []float32, c algos.Compression, mean quant.Compressor) algorithm {
		return &algos.Server{X: x, Alpha: constant(stepSize), Rank: i, Compression: c, Mean: mean}
	}},
	{"server with feedback", topology.Star, func(i int, x []float32, c algos.Compression,
		mean quant.Compressor) algorithm {
		return &algos.Server{X: x, Alpha: constant(stepSize), Rank: i, Feedback: true, Compression: c, Mean: mean}
	}},
}

// A compressing makes the compressor of a random stream.
type compressing func(stream uint64) (quant.Compressor, error)

func exact(uint64) (quant.Compressor, error)  { return quant.Full{}, nil }
func signed(uint64) (quant.Compressor, error) { return quant.NewSign(0) }
func drawn(stream uint64) (quant.Compressor, error) {
	return quant.NewMinMax(3, 16, quant.Stochastic, stream)
}

// field places n workers with d parameters each.
func (r reduction) field(t testing.TB, n, d int, of compressing) *field {
	t.Helper()
	compressor := func(i topology.Rank) quant.Compressor {
		c, err := of(rng.Stream(5, int(i)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return newFieldOn(t, topology.Spec{Kind: r.kind, N: n, Slack: 1}, d,
		func(x []float32, i int, row topology.Row) algorithm {
			c := algos.Compression{Own: compressor(topology.Rank(i))}
			for _, e := range row.In {
				c.In = append(c.In, compressor(e.Peer))
			}
			return r.make(i, x, c, compressor(topology.Rank(n)))
		})
}

func (f *field) rounds(t testing.TB, rounds int) [][]float32 {
	t.Helper()
	for k := range rounds {
		if err := f.round(k); err != nil {
			t.Fatal(err)
		}
	}
	var all [][]float32
	for _, a := range f.workers {
		all = append(all, a.Params())
	}
	return all
}

// The identity compressor loses nothing: the step is that of the mean gradient.
func TestReductionsOfEverythingTakeTheMeanGradient(t *testing.T) {
	const d = 40
	for _, r := range reductions {
		for _, n := range []int{1, 2, 3, 8} {
			f := r.field(t, n, d, exact)
			for k := range 20 {
				want := mean(f.workers, f.params)
				for c, g := range mean(f.workers, f.gradient) {
					want[c] -= stepSize * g
				}
				if err := f.round(k); err != nil {
					t.Fatal(err)
				}
				for c, v := range f.workers[n-1].Params() {
					if math.Abs(float64(v)-want[c]) > 1e-6 {
						t.Fatalf("%s of %d: round %d coordinate %d: %v, want %v", r.name, n, k, c, v, want[c])
					}
				}
			}
		}
	}
}

// Replicas are equal for every compressor: all add the same numbers in the same order.
func TestReducedReplicasAreEqualBitForBit(t *testing.T) {
	for _, r := range reductions {
		for name, of := range map[string]compressing{"sign": signed, "min-max": drawn} {
			all := r.field(t, 5, 50, of).rounds(t, 30)
			for i, x := range all {
				if !slices.Equal(x, all[0]) {
					t.Errorf("%s with %s: worker %d is not where worker 0 is", r.name, name, i)
				}
			}
		}
	}
}

// Signs alone do not lead to the optimum of workers with different objectives. With error feedback they come much
// closer.
func TestFeedbackMakesUpForABiasedCompressor(t *testing.T) {
	const n, d, rounds = 6, 40, 2000
	far := map[string]float64{}
	for _, r := range reductions {
		f := r.field(t, n, d, signed)
		for k := range rounds {
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
		}
		best := f.optimum()
		for c, v := range f.workers[0].Params() {
			far[r.name] = max(far[r.name], math.Abs(float64(v)-best[c]))
		}
	}
	if with, without := far["all-gather with feedback"], far["all-gather"]; with > without/4 || with > 0.1 {
		t.Errorf("%v away with feedback, %v without", with, without)
	}
}

func TestReductionsKeepTheirPromises(t *testing.T) {
	const n, d = 4, 3000
	for _, r := range reductions {
		f := r.field(t, n, d, signed)
		k := 0
		pass := func() {
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
			k++
		}
		pass()
		if got := testing.AllocsPerRun(20, pass); got != 0 {
			t.Errorf("%s: %v allocations per round", r.name, got)
		}
		want := 0
		if strings.Contains(r.name, "feedback") {
			want = 4 * d
		}
		for i, a := range f.workers {
			if a.ExtraMemory() != want {
				t.Errorf("%s: worker %d: %d bytes of extra memory, want %d", r.name, i, a.ExtraMemory(), want)
			}
		}
	}
}

// An unusable message changes no worker in any hop.
func TestReductionsSurviveBadMessages(t *testing.T) {
	const n, d, rounds = 4, 20, 3
	for _, r := range reductions {
		want := r.field(t, n, d, drawn).rounds(t, rounds)
		f := r.field(t, n, d, drawn)
		for i := range f.workers {
			f.workers[i] = &pestered{algorithm: f.workers[i], t: t, name: fmt.Sprintf("%s: worker %d", r.name, i)}
		}
		if off := apart(f.rounds(t, rounds), want); off != 0 {
			t.Errorf("%s: %v away", r.name, off)
		}
	}
}

// A pestered worker gets every message spoiled before it gets the good ones.
type pestered struct {
	algorithm
	t    *testing.T
	name string
}

func (p *pestered) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	for j, m := range in {
		for _, payload := range [][]byte{m.Payload[:max(1, len(m.Payload))-1], append([]byte{0}, m.Payload...)} {
			if len(payload) == len(m.Payload) {
				continue
			}
			spoiled := slices.Clone(in)
			spoiled[j].Payload = payload
			var bad *algos.MessageError
			if _, err := p.algorithm.Mix(k, hop, spoiled); !errors.As(err, &bad) || bad.From != m.From {
				p.t.Errorf("%s hop %d: error %v, want that of worker %d's message", p.name, hop, err, m.From)
			}
		}
	}
	if len(in) > 0 && len(in[0].Payload) > 0 {
		if _, err := p.algorithm.Mix(k, hop, in[1:]); err == nil {
			p.t.Errorf("%s hop %d: mixed without the message of worker %d", p.name, hop, in[0].From)
		}
	}
	return p.algorithm.Mix(k, hop, in)
}

// A worker never sends NaN, and the frame stays unchanged.
func TestReductionsSendNoNaN(t *testing.T) {
	for _, r := range reductions {
		f := r.field(t, 2, 3, signed)
		for i, a := range f.workers {
			if err := a.Descend(0, []float32{1, nan, 2}); err != nil {
				t.Fatal(err)
			}
			if out, err := a.Send(0, 0, []byte{7}); err == nil || !slices.Equal(out, []byte{7}) {
				t.Errorf("%s: worker %d sent %v, %v", r.name, i, out, err)
			}
		}
	}
}

// heavy is heavy-ball momentum with a decay.
type heavy struct{ v []float32 }

func (h *heavy) Direct(g, x []float32) {
	for i := range g {
		h.v[i] = 0.9*h.v[i] + g[i] + 0.01*x[i]
		g[i] = h.v[i]
	}
}

func (h *heavy) State(v *state.Visit) { v.Vector("v", &h.v, len(h.v)) }

// An optimizer after the reduction takes the step of a single machine with the mean gradient, whatever the form.
func TestTheOptimizerTakesTheMean(t *testing.T) {
	const n, d = 4, 24
	forms := map[string]*field{}
	for _, r := range reductions {
		made := r.make
		r.make = func(i int, x []float32, c algos.Compression, mean quant.Compressor) algorithm {
			a := made(i, x, c, mean)
			switch a := a.(type) {
			case *algos.AllGather:
				a.After = &heavy{make([]float32, d)}
			case *algos.Server:
				a.After = &heavy{make([]float32, d)}
			}
			return a
		}
		forms[r.name] = r.field(t, n, d, exact)
	}
	for name, f := range forms {
		x, v := mean(f.workers, f.params), make([]float64, d)
		for k := range 30 {
			for c, g := range mean(f.workers, f.gradient) {
				v[c] = 0.9*v[c] + g + 0.01*x[c]
				x[c] -= stepSize * v[c]
			}
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
		}
		for i, w := range f.workers {
			for c, got := range w.Params() {
				if math.Abs(float64(got)-x[c]) > 1e-4 {
					t.Fatalf("%s: worker %d coordinate %d: %v, want %v", name, i, c, got, x[c])
				}
			}
			if !slices.Equal(w.Params(), f.workers[0].Params()) {
				t.Errorf("%s: worker %d is not where worker 0 is", name, i)
			}
		}
	}
}
