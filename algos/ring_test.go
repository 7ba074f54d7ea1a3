package algos_test

import (
	"errors"
	"math"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// algorithm is gossip.Algorithm, whose package imports this one.
type algorithm interface {
	Plan() algos.Plan
	Params() []float32
	Descend(k int, g []float32) error
	Send(k, hop int, dst []byte) ([]byte, error)
	Mix(k, hop int, in []algos.Message) (algos.Mixed, error)
	ExtraMemory() int
}

// A maker makes the update rule of a worker from its model and its row.
type maker func(x []float32, row topology.Row) algorithm

const stepSize = 0.05

// same gives all workers the same deterministic compressor.
func same(c quant.Compressor, row topology.Row) algos.Compression {
	all := algos.Compression{Own: c}
	for range row.In {
		all.In = append(all.In, c)
	}
	return all
}

func dpsgd(order algos.Order) maker {
	return func(x []float32, _ topology.Row) algorithm {
		return &algos.DPSGD{X: x, Alpha: constant(stepSize), Codec: algos.Full{}, Order: order}
	}
}

func d2(codec algos.Codec) maker {
	return func(x []float32, _ topology.Row) algorithm {
		return &algos.D2{X: x, Alpha: constant(stepSize), Codec: codec}
	}
}

func choco(gamma float32, c quant.Compressor) maker {
	return func(x []float32, row topology.Row) algorithm {
		return &algos.Choco{X: x, Alpha: constant(stepSize), Gamma: gamma, Compression: same(c, row)}
	}
}

func deepSqueeze(eta float32, c quant.Compressor) maker {
	return func(x []float32, row topology.Row) algorithm {
		return &algos.DeepSqueeze{X: x, Alpha: constant(stepSize), Eta: eta, Compression: same(c, row)}
	}
}

func dcd(c quant.Compressor) maker {
	return func(x []float32, row topology.Row) algorithm {
		return &algos.DCD{X: x, Alpha: constant(stepSize), Row: row, Compression: same(c, row)}
	}
}

func ecd(c quant.Compressor) maker {
	return func(x []float32, row topology.Row) algorithm {
		return &algos.ECD{X: x, Alpha: constant(stepSize), Row: row, Compression: same(c, row)}
	}
}

func naive(c quant.Compressor) maker {
	return func(x []float32, row topology.Row) algorithm {
		return &algos.Naive{X: x, Alpha: constant(stepSize), Compression: same(c, row)}
	}
}

func sign(t testing.TB) quant.Compressor {
	t.Helper()
	c, err := quant.NewSign(0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func topK(t testing.TB, k int) quant.Compressor {
	t.Helper()
	c, err := quant.NewTopK(k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A field runs all workers of a graph in lock-step on quadratics of their own:
// f_i(x) = Σ_c s_ic/2·(x_c − a_ic)².
type field struct {
	rows    []topology.Row
	workers []algorithm
	slope   [][]float32 // s_i
	target  [][]float32 // a_i
	grads   [][]float32
	sent    [][]byte
	in      [][]algos.Message
}

// newField places n ≥ 3 workers with d parameters each, all starting at the
// same model.
func newField(t testing.TB, n, d int, m maker) *field {
	t.Helper()
	return newFieldOn(t, topology.Spec{Kind: topology.Ring, N: n, Slack: 0.9}, d,
		func(x []float32, _ int, row topology.Row) algorithm { return m(x, row) })
}

// newFieldOn is newField on any graph.
func newFieldOn(t testing.TB, spec topology.Spec, d int,
	m func(x []float32, i int, row topology.Row) algorithm) *field {
	t.Helper()
	g, err := topology.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	n := g.N()
	f := &field{rows: g.Rows(0), sent: make([][]byte, n), in: make([][]algos.Message, n)}
	for i := range n {
		f.workers = append(f.workers, m(vector(99, d), i, f.rows[i]))
		f.target, f.slope = append(f.target, vector(uint64(10+i), d)), append(f.slope, vector(uint64(50+i), d))
		f.grads = append(f.grads, make([]float32, d))
		for c := range f.slope[i] {
			f.slope[i][c] += 1.5
		}
	}
	return f
}

// round takes all workers through round k.
func (f *field) round(k int) error {
	for i, a := range f.workers {
		for c, v := range a.Params() {
			f.grads[i][c] = f.slope[i][c] * (v - f.target[i][c])
		}
		if a.Plan().Overlap {
			continue
		}
		if err := a.Descend(k, f.grads[i]); err != nil {
			return err
		}
	}
	for hop := range f.workers[0].Plan().Hops {
		if err := f.hop(k, hop); err != nil {
			return err
		}
	}
	for i, a := range f.workers {
		if a.Plan().Overlap {
			if err := a.Descend(k, f.grads[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// hop takes all workers through an exchange.
func (f *field) hop(k, hop int) error {
	for i, a := range f.workers {
		var err error
		if f.sent[i], err = a.Send(k, hop, f.sent[i][:0]); err != nil {
			return err
		}
	}
	for i, a := range f.workers {
		f.in[i] = f.in[i][:0]
		for _, e := range f.rows[i].In {
			f.in[i] = append(f.in[i], algos.Message{From: e.Peer, Weight: float32(e.Weight), Payload: f.sent[e.Peer]})
		}
		if _, err := a.Mix(k, hop, f.in[i]); err != nil {
			return err
		}
	}
	return nil
}

// models runs a fresh field and returns the final models.
func models(t testing.TB, n, d, rounds int, m maker) [][]float32 {
	t.Helper()
	f := newField(t, n, d, m)
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

// apart returns the largest distance of two sets of models.
func apart(a, b [][]float32) float64 {
	most := 0.0
	for i := range a {
		for c := range a[i] {
			most = max(most, math.Abs(float64(a[i][c])-float64(b[i][c])))
		}
	}
	return most
}

// With the identity compressor, every algorithm is D-PSGD.
func TestAlgorithmsWithTheIdentityAreDPSGD(t *testing.T) {
	const n, d, rounds = 6, 40, 100
	cta, atc := models(t, n, d, rounds, dpsgd(algos.CTA)), models(t, n, d, rounds, dpsgd(algos.ATC))
	if apart(cta, atc) < 1e-3 {
		t.Fatal("the two orders cannot be told apart")
	}
	tests := []struct {
		name string
		make maker
		want [][]float32
	}{
		{"DCD", dcd(quant.Full{}), cta},
		{"ECD", ecd(quant.Full{}), cta},
		{"naive", naive(quant.Full{}), cta},
		{"Choco with gamma 1", choco(1, quant.Full{}), atc},
		{"DeepSqueeze with eta 1", deepSqueeze(1, quant.Full{}), atc},
	}
	for _, test := range tests {
		if off := apart(models(t, n, d, rounds, test.make), test.want); off > 1e-5 {
			t.Errorf("%s: %v away", test.name, off)
		}
	}
}

func TestMoniquaD2WithManyBitsIsD2(t *testing.T) {
	const n, d, rounds = 6, 40, 100
	want := models(t, n, d, rounds, d2(algos.Full{}))
	for levels, limit := range map[int]float64{1 << 16: 3e-3, 1 << 8: 0.5} {
		codec := &moniqua.Codec{Levels: levels, Theta: func(int) float64 { return 4 }}
		off := apart(models(t, n, d, rounds, d2(codec)), want)
		if off > limit || off == 0 {
			t.Errorf("%d levels: %v away, want at most %v", levels, off, limit)
		}
	}
}

// The mean of the models moves by the mean gradient alone, whatever compression loses: x̄_{k+1} = x̄_k − α ḡ_k.
func TestErrorFeedbackConservesTheMean(t *testing.T) {
	const n, d, rounds = 6, 40, 60
	tests := map[string]maker{
		"Choco with signs":       choco(0.3, sign(t)),
		"Choco with top-k":       choco(0.2, topK(t, 4)),
		"DeepSqueeze with signs": deepSqueeze(0.3, sign(t)),
		"DeepSqueeze with top-k": deepSqueeze(0.2, topK(t, 8)),
	}
	for name, m := range tests {
		f := newField(t, n, d, m)
		for k := range rounds {
			want := mean(f.workers, f.params)
			for c, g := range mean(f.workers, f.gradient) {
				want[c] -= stepSize * g
			}
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
			for c, v := range mean(f.workers, f.params) {
				if math.Abs(v-want[c]) > 1e-6*max(1, math.Abs(v)) {
					t.Fatalf("%s: round %d coordinate %d: mean %v, want %v", name, k, c, v, want[c])
				}
			}
		}
	}
}

func (f *field) params(i int) []float32 { return f.workers[i].Params() }

// gradient returns the gradient of worker i at its model.
func (f *field) gradient(i int) []float32 {
	g := make([]float32, len(f.grads[i]))
	for c, v := range f.workers[i].Params() {
		g[c] = f.slope[i][c] * (v - f.target[i][c])
	}
	return g
}

// mean averages a vector over the workers.
func mean(workers []algorithm, of func(i int) []float32) []float64 {
	var mean []float64
	for i := range workers {
		x := of(i)
		if mean == nil {
			mean = make([]float64, len(x))
		}
		for c, v := range x {
			mean[c] += float64(v) / float64(len(workers))
		}
	}
	return mean
}

// Workers have different objectives. D-PSGD stays a distance of the order of the step size away from the common
// optimum; D² reaches it.
func TestD2ReachesTheOptimumOfDifferentWorkers(t *testing.T) {
	const n, d, rounds = 6, 40, 3000
	codec := &moniqua.Codec{Levels: 256, Theta: func(int) float64 { return 1 }}
	distance := func(m maker) float64 {
		f := newField(t, n, d, m)
		for k := range rounds {
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
		}
		best := f.optimum()
		most := 0.0
		for _, a := range f.workers {
			for c, v := range a.Params() {
				most = max(most, math.Abs(float64(v)-best[c]))
			}
		}
		return most
	}
	for _, test := range []struct {
		name        string
		make        maker
		least, most float64
	}{
		{"D-PSGD", dpsgd(algos.CTA), 0.05, 1},
		{"D²", d2(algos.Full{}), 0, 1e-4},
		{"Moniqua-D² of 8 bits", d2(codec), 0, 0.05},
	} {
		if got := distance(test.make); got < test.least || got > test.most {
			t.Errorf("%s ends %v away, want %v to %v", test.name, got, test.least, test.most)
		}
	}
}

// optimum returns argmin Σ_i f_i.
func (f *field) optimum() []float64 {
	best := make([]float64, len(f.grads[0]))
	for c := range best {
		weight := 0.0
		for i := range f.workers {
			best[c] += float64(f.slope[i][c]) * float64(f.target[i][c])
			weight += float64(f.slope[i][c])
		}
		best[c] /= weight
	}
	return best
}

func TestExtraMemoryIsTheAllocatedMemory(t *testing.T) {
	const n, d, vector = 5, 1000, 4 * 1000
	for name, test := range map[string]struct {
		make maker
		want int
	}{
		"D-PSGD":      {dpsgd(algos.CTA), 0},
		"naive":       {naive(quant.Full{}), 0},
		"D²":          {d2(algos.Full{}), vector},
		"Choco":       {choco(1, quant.Full{}), 2 * vector},
		"DeepSqueeze": {deepSqueeze(1, quant.Full{}), vector},
		"DCD":         {dcd(quant.Full{}), 2 * vector},
		"ECD":         {ecd(quant.Full{}), 3 * vector},
	} {
		f := newField(t, n, d, test.make)
		if err := f.round(0); err != nil {
			t.Fatal(err)
		}
		if got := f.workers[0].ExtraMemory(); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}

func TestRoundsAllocateNothing(t *testing.T) {
	const n, d = 4, 3000
	for name, m := range map[string]maker{
		"D²":          d2(algos.Full{}),
		"Choco":       choco(0.3, sign(t)),
		"DeepSqueeze": deepSqueeze(0.3, topK(t, 100)),
		"DCD":         dcd(quant.Full{}),
		"ECD":         ecd(quant.Full{}),
		"naive":       naive(quant.Full{}),
	} {
		f := newField(t, n, d, m)
		k := 0
		pass := func() {
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
			k++
		}
		pass()
		if got := testing.AllocsPerRun(20, pass); got != 0 {
			t.Errorf("%s: %v allocations per round", name, got)
		}
	}
}

// A message that cannot be decoded changes no state: the round goes on as if it had never come.
func TestBadMessagesChangeNothing(t *testing.T) {
	const n, d = 4, 20
	for name, m := range map[string]maker{
		"D²":          d2(algos.Full{}),
		"Choco":       choco(0.3, sign(t)),
		"DeepSqueeze": deepSqueeze(0.3, sign(t)),
		"DCD":         dcd(sign(t)),
		"ECD":         ecd(sign(t)),
		"naive":       naive(sign(t)),
	} {
		want := models(t, n, d, 3, m)
		f := newField(t, n, d, m)
		f.workers[1] = &disturbed{algorithm: f.workers[1], t: t, name: name}
		for k := range 3 {
			if err := f.round(k); err != nil {
				t.Fatal(err)
			}
		}
		for i, a := range f.workers {
			if apart([][]float32{a.Params()}, want[i:i+1]) != 0 {
				t.Errorf("%s: worker %d ends elsewhere", name, i)
			}
		}
	}
}

// A disturbed worker gets bad messages before the good ones.
type disturbed struct {
	algorithm
	t    *testing.T
	name string
}

func (d *disturbed) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	for _, payload := range [][]byte{nil, in[1].Payload[1:], append([]byte{0}, in[1].Payload...)} {
		spoiled := []algos.Message{in[0], {From: in[1].From, Weight: in[1].Weight, Payload: payload}}
		var bad *algos.MessageError
		if _, err := d.algorithm.Mix(k, hop, spoiled); !errors.As(err, &bad) || bad.From != in[1].From {
			d.t.Errorf("%s: error %v, want that of worker %d's message", d.name, err, in[1].From)
		}
	}
	return d.algorithm.Mix(k, hop, in)
}

// After round K the replicas of DCD equal the models: a compressor that loses almost everything makes no difference
// between them.
func TestDCDReplicasAreExact(t *testing.T) {
	const n, d = 5, 30
	f := newField(t, n, d, dcd(topK(t, 3)))
	for k := range 50 {
		if err := f.round(k); err != nil {
			t.Fatal(err)
		}
	}
	probe := make([]float32, d)
	for i, a := range f.workers {
		clear(probe)
		if err := a.Descend(50, probe); err != nil {
			t.Fatal(err)
		}
		want := make([]float32, d)
		for _, e := range f.rows[i].In {
			for c, v := range f.workers[e.Peer].Params() {
				want[c] += float32(float32(e.Weight) * (v - a.Params()[c]))
			}
		}
		if off := apart([][]float32{probe}, [][]float32{want}); off != 0 {
			t.Errorf("worker %d: z is %v away from that of the true neighbours", i, off)
		}
	}
}
