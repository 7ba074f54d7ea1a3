package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// The test makes whole runs with the machines of package gossip, with models in float32 and gradients in float64.
func TestConformanceRuns(t *testing.T) {
	covered := 0
	for _, file := range append(loadRuns(t), loadRuns2(t)...) {
		if row, ok := file.Algorithm.row(); !ok || !file.Problem.known() {
			t.Errorf("%s: unknown algorithm %q or problem %q", file.Name, file.Algorithm.Name, file.Problem.Kind)
			continue
		} else if row.Asynchronous() { // TestConformancePairwise covers these
			continue
		}
		covered++
		t.Run(file.Name, func(t *testing.T) { checkRun(t, file) })
	}
	if covered == 0 {
		t.Error("no run file is covered")
	}
}

// checkRun makes a run and compares it with its file.
func checkRun(t *testing.T, file runFile) {
	t.Helper()
	r := newRun(t, file)
	r.drive(t)
	r.checkModels(t)
	r.checkEnd(t)
	r.checkBytes(t)
	if file.Algorithm.Moniqua != nil {
		r.checkFirstMessages(t)
		r.checkDecoding(t)
		r.checkGap(t)
	}
}

// A run executes a run file.
type run struct {
	runFile
	rows       []topology.Sequence
	workers    []*gossip.Worker
	sent       [][]*witness // by lane and worker; their codecs are nil without moniqua
	optimizers []*train.Optimizer
	models     [][][]float32 // by round and worker: x_k, the last is the result
	bytes      []int         // payload sent by each worker
}

func newRun(t *testing.T, file runFile) *run {
	t.Helper()
	row, _ := file.Algorithm.row()
	g := file.Topology.graph(t)
	n := g.N()
	if row.On.Kind != "" { // the row prescribes its graph
		var err error
		if g, err = topology.New(topology.Spec{Kind: row.On.Kind, N: n, Slack: 1}); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{runFile: file, rows: row.Neighbours(g), bytes: make([]int, n)}
	r.models = make([][][]float32, file.Steps+1)
	for k := range r.models {
		r.models[k] = make([][]float32, n)
	}
	for i := range n {
		x := narrowed(file.X0[i])
		r.optimizers = append(r.optimizers, r.optimizer(t, len(x)))
		w, err := gossip.NewScheduled(topology.Rank(i), r.rows[i], r.algorithm(t, i, x),
			gossip.Schedule{Rounds: file.Steps, Every: r.period()})
		if err != nil {
			t.Fatal(err)
		}
		r.workers = append(r.workers, w)
	}
	return r
}

// algorithm returns worker i's update rule, as its row builds it.
func (r *run) algorithm(t *testing.T, i int, x []float32) gossip.Algorithm {
	t.Helper()
	row, _ := r.Algorithm.row()
	p := r.parts(t, i, x)
	for lane := range row.Lanes() {
		p.Codecs = append(p.Codecs, r.codec(t, i, lane))
	}
	made, err := row.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// parts returns the parts of worker i's update rule, except for its codec.
func (r *run) parts(t *testing.T, i int, x []float32) registry.Parts {
	t.Helper()
	a := r.Algorithm
	order, ok := map[string]algos.Order{"": algos.CTA, "cta": algos.CTA, "atc": algos.ATC}[a.Order]
	if !ok {
		t.Fatalf("unknown order %q", a.Order)
	}
	return registry.Parts{
		Rank: topology.Rank(i), Seat: i, Server: topology.Rank(len(r.rows)), Workers: len(r.rows), Rows: r.rows[i], X: x,
		Alpha: r.alpha,
		Compressor: func(of topology.Rank) (quant.Compressor, error) {
			if int(of) == len(r.rows) && a.Server != "double" {
				return quant.Full{}, nil // the server sends the mean in full precision
			}
			return a.Compressor.compressor(t, rng.Stream(uint64(a.Seed), int(of))), nil
		},
		Settings: registry.Settings{
			Order: order, Gamma: float32(a.Gamma + a.Eta), Eta: float32(cmp.Or(a.Eta, 1)), Momentum: float32(a.Momentum),
			LocalSteps: r.period(), Slack: 1, Feedback: a.ErrorFeedback,
		},
	}
}

// period is H, the rounds of an exchange.
func (r *run) period() int { return max(1, r.Algorithm.LocalSteps) }

// codec returns the codec of a lane of worker i, which records what it encodes if it is Moniqua.
func (r *run) codec(t *testing.T, i, lane int) algos.Codec {
	t.Helper()
	if lane == len(r.sent) {
		r.sent = append(r.sent, nil)
	}
	w := &witness{models: make([][]float32, r.Steps), payloads: make([][]byte, r.Steps)}
	r.sent[lane] = append(r.sent[lane], w)
	m := r.Algorithm.Moniqua
	if m == nil {
		return algos.Full{}
	}
	w.Codec = newMoniqua(t, m, lane, topology.Rank(i))
	w.Verify = r.Algorithm.Verify
	w.Behind(r.rows[i].Ahead())
	return w
}

// newMoniqua returns the codec of a lane of a worker.
func newMoniqua(t *testing.T, m *runMoniqua, lane int, rank topology.Rank) *moniqua.Codec {
	t.Helper()
	rounding, err := moniqua.ParseRounding(m.Mode)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(m.Seed)
	if lane > 0 {
		seed = rng.Stream(seed, 1<<31-16-lane)
	}
	c, err := moniqua.New(m.Levels, rounding, m.theta(lane).at, seed, rank)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// alpha is the step size of round k.
func (r *run) alpha(k int) float32 { return float32(r.StepSize.at(k)) }

// hashBytes returns the bytes of the index hash. The reference counts neither hashes nor repairs.
func (r *run) hashBytes() int {
	if r.Algorithm.Verify {
		return 8
	}
	return 0
}

// drive runs all workers to the end.
func (r *run) drive(t *testing.T) {
	t.Helper()
	if err := r.advance(); err != nil {
		t.Fatal(err)
	}
}

// advance runs all workers to the end. It stops at the first error.
func (r *run) advance() error {
	err := advance(r.workers, advancing{
		sent: func(i int, f gossip.Frame) {
			if f.Kind == gossip.Data {
				r.bytes[i] += len(f.Payload) - r.hashBytes()
			}
		},
		gradient: func(i, k int, x []float32) []float32 {
			r.models[k][i] = slices.Clone(x)
			return r.direction(i, x)
		},
	})
	for i, w := range r.workers {
		r.models[r.Steps][i] = slices.Clone(w.Params())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Algorithm.variety(), err)
	}
	return nil
}

// An advancing is what a driver of workers does beside moving frames.
type advancing struct {
	sent     func(i int, f gossip.Frame)           // by worker i
	gradient func(i, k int, x []float32) []float32 // of worker i in round k at x
}

// advance runs workers to the end, delivering each frame at once. It stops at the first error, and at the first message
// that its receiver has changed.
func advance(workers []*gossip.Worker, a advancing) error {
	received := make([]mailbox, len(workers)) // by receiver
	for done := 0; done < len(workers); {
		done = 0
		for i, w := range workers {
			ready := w.Ready()
			for _, f := range ready.Send {
				a.sent(i, f)
				if err := workers[f.To].Receive(received[f.To].keep(f)); err != nil {
					return err
				}
				if err := received[f.To].check(); err != nil {
					return err
				}
			}
			if ready.Compute {
				if err := w.Gradient(a.gradient(i, ready.Round, ready.At), 0, 0); err != nil {
					return err
				}
			}
			if err := received[i].check(); err != nil {
				return err
			}
			if ready.Done {
				done++
			}
		}
	}
	return nil
}

// optimizer returns the optimizer of a worker, of models of d coordinates. The momentum of some rows is their own.
func (r *run) optimizer(t *testing.T, d int) *train.Optimizer { return newOptimizer(t, r.Algorithm, d) }

func newOptimizer(t *testing.T, a runAlgorithm, d int) *train.Optimizer {
	t.Helper()
	momentum := a.Momentum
	if row, _ := a.row(); row.Takes.Momentum {
		momentum = 0
	}
	var spec optimizerSpec
	if a.Optimizer != nil {
		spec = *a.Optimizer
	}
	o, err := train.NewOptimizer(spec.rule(momentum, a.WeightDecay), d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// direction returns the direction of worker i at x.
func (r *run) direction(i int, x []float32) []float32 {
	g := narrowed(r.Problem.gradient(i, widened(x)))
	r.optimizers[i].Direct(g, x)
	return g
}

func (r *run) mean(k int) []float64 {
	mean := make([]float64, len(r.models[k][0]))
	for _, x := range r.models[k] {
		for c, v := range x {
			mean[c] += float64(v) / float64(len(r.models[k]))
		}
	}
	return mean
}

// checkModels compares all checkpoints and their means.
func (r *run) checkModels(t *testing.T) {
	t.Helper()
	if len(r.Checkpoints) == 0 || len(r.Mean) == 0 {
		t.Error("no checkpoints in the file")
	}
	for _, want := range r.Checkpoints {
		for i, x := range want.X {
			for c, v := range x {
				near(t, fmt.Sprintf("step %d worker %d x[%d]", want.Step, i, c), float64(r.models[want.Step][i][c]), v,
					r.Tolerance.Float32)
			}
		}
	}
	for _, want := range r.Mean {
		mean := r.mean(want.Step)
		for c, v := range want.X {
			near(t, fmt.Sprintf("step %d mean[%d]", want.Step, c), mean[c], v, r.Tolerance.Float32)
		}
	}
}

// checkEnd compares loss and spread of the final models.
func (r *run) checkEnd(t *testing.T) {
	t.Helper()
	mean := r.mean(r.Steps)
	near(t, "final loss at the mean", r.Problem.loss(len(r.rows), mean), r.FinalLoss, r.Tolerance.Float32)
	spread := farthest(r.models[r.Steps], func(int) []float64 { return mean })
	near(t, "final distance to the mean", spread, r.FinalSpread, r.Tolerance.Float32)
}

// checkBytes compares the payload bytes of the frames. The reference does not count a plain all-reduce or direct
// quantization.
func (r *run) checkBytes(t *testing.T) {
	t.Helper()
	if r.Algorithm.Name == "naive" {
		return
	}
	want := r.BytesSent
	if r.Algorithm.Name == "allreduce" {
		want = r.reduceBytes()
	}
	if diff := gocmp.Diff(want, r.bytes); diff != "" {
		t.Errorf("bytes sent (-want +got):\n%s", diff)
	}
}
