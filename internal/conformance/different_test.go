package conformance

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A study in float64 has the errors of many algorithms where the workers' data differ a lot. Its objectives are
//
//	f_i(x) = ½(x − c_i)ᵀ diag(h_i) (x − c_i),  h_i uniform in [0.5, 1.5),  c_i normal
//
// of eight workers and 64 coordinates. There are 1,500 steps of 0.05, or of 0.005 with momentum 0.9. Weights are those
// of Metropolis, and the slack of D² is 0.9. The error is the root of the mean square of x_i − x*, over workers and
// coordinates, after the last step.
//
// The study leaves some settings open. All rows here have the same ones:
//   - h_i and c_i are drawn for every worker and coordinate, once for all rows. Models start at 0.
//   - The noise of a gradient is normal, with the given deviation in each coordinate.
//   - D-PSGD mixes x_k and then takes the step (cta), with local steps and with momentum, too.
//   - θ is 1.5 times the largest gap of workers that met in the last known exchanges, as many as the reach of the
//     graph. Messages are verified. Rounding is dither.
//   - The two bits of Choco are those of minmax, whose header adds two here. γ is 0.3 for both compressors.
const (
	differentWorkers = 8
	differentCoords  = 64
	differentSteps   = 1500
)

// Models are float32. Let a coordinate be about 0.7. Four roundings in a step then move it by 4·10⁻⁸ at random, and
// the mean of eight workers by 1.5·10⁻⁸. D² forgets none of that: after 1,500 steps the errors of its steps are
// 6·10⁻⁷, and those of the model 1/0.05 as large. So float32 permits about 10⁻⁵ where float64 permits 10⁻¹¹ and less.
const differentFloor = 1e-5

// A differentRow is a row of the study.
type differentRow struct {
	label, name string
	kind        topology.Kind
	momentum    float64
	every       int // rounds of an exchange; 0: 1
	bits        int // of Moniqua; 0: full precision
	compressor  registry.CompressorSettings

	sent         float64 // bits of a worker for a coordinate and a step
	exact, noisy float64 // errors without noise and with noise of deviation 0.3; 0: the study has none
}

func differentRows() []differentRow {
	const ring, one, matching = topology.Ring, topology.OnePeerExponential, topology.RandomMatching
	minmax := registry.CompressorSettings{Name: "minmax", Bits: 2, Bucket: differentCoords, Mode: "nearest"}
	tenth := registry.CompressorSettings{Name: "topk", Ratio: 0.1}
	return []differentRow{
		{label: "D-PSGD, ring", name: "dpsgd", kind: ring, sent: 64, exact: 1.1e-1, noisy: 1.1e-1},
		{label: "D-PSGD, one peer", name: "dpsgd", kind: one, sent: 32, exact: 7.5e-2, noisy: 7.8e-2},
		{label: "D-PSGD, matching", name: "dpsgd", kind: matching, sent: 32, exact: 1.0e-1, noisy: 8.9e-2},
		{label: "Moniqua 8b, ring", name: "dpsgd", kind: ring, bits: 8, sent: 16, exact: 1.1e-1, noisy: 1.1e-1},
		{label: "Moniqua 8b, one peer", name: "dpsgd", kind: one, bits: 8, sent: 8, exact: 7.5e-2, noisy: 7.5e-2},
		{label: "Moniqua 4b, one peer", name: "dpsgd", kind: one, bits: 4, sent: 4, exact: 7.9e-2, noisy: 7.9e-2},
		{label: "D²", name: "d2", kind: ring, sent: 64, exact: 2e-14, noisy: 2.2e-2},
		{label: "Moniqua 4b D²", name: "d2", kind: ring, bits: 4, sent: 8, exact: 3e-11, noisy: 2.0e-2},
		{label: "EDM", name: "d2", kind: ring, momentum: 0.9, sent: 64, exact: 2e-14, noisy: 1.9e-2},
		{label: "Moniqua 4b EDM", name: "d2", kind: ring, momentum: 0.9, bits: 4, sent: 8, exact: 4e-11, noisy: 1.6e-2},
		{label: "momentum D-PSGD", name: "dpsgd", kind: ring, momentum: 0.9, sent: 64, exact: 8.7e-2, noisy: 8.9e-2},
		{label: "QG", name: "qg", kind: ring, momentum: 0.9, sent: 64, exact: 1.0e-2, noisy: 1.9e-2},
		{label: "DecentLaM", name: "decentlam", kind: ring, momentum: 0.9, sent: 64, exact: 1.0e-2, noisy: 2.2e-2},
		{label: "Moniqua 8b QG", name: "qg", kind: ring, momentum: 0.9, bits: 8, sent: 16, exact: 1.0e-2, noisy: 1.6e-2},
		{label: "Moniqua 8b DecentLaM", name: "decentlam", kind: ring, momentum: 0.9, bits: 8, sent: 16,
			exact: 1.0e-2, noisy: 1.9e-2},
		{label: "tracking, ring", name: "gt", kind: ring, sent: 128, exact: 2e-15, noisy: 2.0e-2},
		{label: "tracking, one peer", name: "gt", kind: one, sent: 64, exact: 7e-16, noisy: 2.0e-2},
		{label: "Moniqua 8b tracking, ring", name: "gt", kind: ring, bits: 8, sent: 32, exact: 2e-12, noisy: 1.6e-2},
		{label: "Moniqua 4b tracking, one peer", name: "gt", kind: one, bits: 4, sent: 8, exact: 4e-11},
		{label: "Choco 2b", name: "choco", kind: ring, compressor: minmax, sent: 4, exact: 2.5e-1, noisy: 2.5e-1},
		{label: "Choco top 10 %", name: "choco", kind: ring, compressor: tenth, sent: 13, exact: 3.2e-1, noisy: 3.2e-1},
		{label: "K-GT", name: "kgt", kind: ring, every: 10, sent: 13, exact: 1.9e-4, noisy: 2.9e-2},
		{label: "local D-PSGD", name: "dpsgd", kind: ring, every: 10, sent: 6.4, exact: 4.2e-1, noisy: 4.3e-1},
	}
}

// Every error, and the bits that are sent, are those of the study within a factor of 1.5.
func TestErrorsWhereDataDiffer(t *testing.T) {
	const factor, deviation = 1.5, 0.3
	for _, row := range differentRows() {
		t.Run(row.label, func(t *testing.T) {
			exact := row.run(t, 0, following)
			if row.exact < differentFloor {
				atMost(t, "error without noise", exact.error, differentFloor)
			} else {
				within(t, "error without noise", exact.error, row.exact, factor)
			}
			within(t, "bits of a coordinate and step", exact.bits, row.sent, factor)
			if row.noisy == 0 {
				return
			}
			within(t, "error with noise", row.run(t, deviation, following).error, row.noisy, factor)
			if row.bits == 0 {
				return
			}
			// The rule of the program lowers θ by 3 % in 100 exchanges. It cannot follow gaps to 10⁻¹¹ in this time, but it is
			// as good where gradients have noise, and no worse without.
			within(t, "error with noise, rule adaptive", row.run(t, deviation, adaptive).error, row.noisy, factor)
			atMost(t, "error without noise, rule adaptive", row.run(t, 0, adaptive).error, factor*max(row.exact, row.noisy))
		})
	}
}

// within reports a value that is not within a factor of the one that is wanted.
func within(t *testing.T, what string, got, want, factor float64) {
	t.Helper()
	t.Logf("%s: %.3g, %.2f of %.3g", what, got, got/want, want)
	if !(got <= want*factor && got >= want/factor) {
		t.Errorf("%s: %.3g, want %.3g within a factor of %v", what, got, want, factor)
	}
}

func atMost(t *testing.T, what string, got, bound float64) {
	t.Helper()
	t.Logf("%s: %.3g", what, got)
	if !(got <= bound) {
		t.Errorf("%s: %.3g, want at most %.3g", what, got, bound)
	}
}

// A differentProblem has the curvatures and optima of all workers.
type differentProblem struct {
	h, c    [differentWorkers][differentCoords]float64
	optimum [differentCoords]float64 // of the mean objective
}

func newDifferentProblem() *differentProblem {
	p, draw := &differentProblem{}, rand.New(rand.NewPCG(1, 0))
	var curvature [differentCoords]float64
	for i := range p.h {
		for c := range p.optimum {
			p.h[i][c], p.c[i][c] = 0.5+draw.Float64(), draw.NormFloat64()
			curvature[c] += p.h[i][c]
			p.optimum[c] += p.h[i][c] * p.c[i][c]
		}
	}
	for c := range p.optimum {
		p.optimum[c] /= curvature[c]
	}
	return p
}

// gradient returns ∇f_i(x) with noise.
func (p *differentProblem) gradient(i int, x []float32, noise func() float64) []float32 {
	g := make([]float32, len(x))
	for c, v := range x {
		g[c] = float32(p.h[i][c]*(float64(v)-p.c[i][c]) + noise())
	}
	return g
}

// A differentRun is a finished run of a row.
type differentRun struct{ error, bits float64 }

// run trains all workers with gradients of that noise, and with a rule for θ.
func (row differentRow) run(t *testing.T, deviation float64, rule thetaRule) differentRun {
	t.Helper()
	problem, draw := newDifferentProblem(), rand.New(rand.NewPCG(2, 0))
	made := row.workers(t, rule)
	bytes := 0
	err := advance(made.workers, advancing{
		sent: func(_ int, f gossip.Frame) {
			if f.Kind == gossip.Data {
				bytes += len(f.Payload) - made.hash
			}
		},
		gradient: func(i, _ int, x []float32) []float32 {
			g := problem.gradient(i, x, func() float64 { return deviation * draw.NormFloat64() })
			made.optimizers[i].Direct(g, x)
			return g
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for _, w := range made.workers {
		for c, v := range w.Params() {
			squares += (float64(v) - problem.optimum[c]) * (float64(v) - problem.optimum[c])
		}
	}
	const numbers = differentWorkers * differentCoords
	return differentRun{math.Sqrt(squares / numbers), float64(8*bytes) / (numbers * differentSteps)}
}

// A team has the workers of a run.
type team struct {
	workers    []*gossip.Worker
	optimizers []*train.Optimizer
	hash       int // bytes of a message that are its hash
}

// workers builds the workers of a run.
func (row differentRow) workers(t *testing.T, rule thetaRule) team {
	t.Helper()
	method, _ := registry.Find(row.name, "")
	g, err := topology.New(topology.Spec{Kind: row.kind, N: differentWorkers, Slack: row.slack(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var all team
	if row.bits > 0 {
		all.hash = moniqua.HashLen
	}
	var momentum float64 // of the optimizer
	if !method.Takes.Momentum {
		momentum = row.momentum
	}
	lanes := row.lanes(method, g)
	for i, rows := range g.Sequences() {
		parts := row.parts(topology.Rank(i), rows)
		for _, l := range lanes {
			parts.Codecs = append(parts.Codecs, l.codec(t, parts.Rank, rule))
		}
		algorithm, err := method.Build(parts)
		if err != nil {
			t.Fatal(err)
		}
		schedule := gossip.Schedule{Rounds: differentSteps, Every: parts.LocalSteps}
		w, err := gossip.NewScheduled(parts.Rank, rows, algorithm, schedule)
		if err != nil {
			t.Fatal(err)
		}
		o, err := train.NewOptimizer(train.Rule{Momentum: momentum}, differentCoords)
		if err != nil {
			t.Fatal(err)
		}
		all.workers, all.optimizers = append(all.workers, w), append(all.optimizers, o)
	}
	return all
}

func (row differentRow) slack() float64 {
	if row.name == "d2" {
		return 0.9
	}
	return 1
}

func (row differentRow) step() float32 {
	if row.momentum > 0 {
		return 0.005
	}
	return 0.05
}

// parts returns the parts of a worker's update rule, except for its codecs.
func (row differentRow) parts(rank topology.Rank, rows topology.Sequence) registry.Parts {
	return registry.Parts{
		Rank: rank, Seat: int(rank), Server: differentWorkers, Workers: differentWorkers, Rows: rows,
		X:     make([]float32, differentCoords),
		Alpha: func(int) float32 { return row.step() },
		Compressor: func(of topology.Rank) (quant.Compressor, error) {
			return registry.New(row.compressor, differentCoords, rng.Stream(1, int(of)))
		},
		Settings: registry.Settings{
			Order: algos.CTA, Gamma: 0.3, Eta: 1, Momentum: float32(row.momentum), LocalSteps: cmp.Or(row.every, 1),
			Slack: row.slack(),
		},
	}
}

// lanes returns what the codecs of all workers share.
func (row differentRow) lanes(method registry.Algorithm, g *topology.Graph) []*lane {
	var all []*lane
	for number, of := range method.Lanes() {
		l := &lane{graph: g, number: number, every: cmp.Or(row.every, 1), bits: row.bits, unit: 1}
		if of.Models {
			l.unit = float64(row.step())
		}
		all = append(all, l)
	}
	return all
}
