package conformance

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// The test makes whole runs with the machines of package gossip, with models in float32 and gradients in float64.
func TestConformanceRuns(t *testing.T) {
	covered := 0
	for _, file := range loadRuns(t) {
		if row, ok := file.Algorithm.row(); !ok || !file.Problem.known() {
			t.Errorf("%s: unknown algorithm %q or problem %q", file.Name, file.Algorithm.Name, file.Problem.Kind)
			continue
		} else if row.Asynchronous() { // TestConformancePairwise covers these
			continue
		}
		covered++
		t.Run(file.Name, func(t *testing.T) {
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
		})
	}
	if covered == 0 {
		t.Error("no run file is covered")
	}
}

// A run executes a run file.
type run struct {
	runFile
	rows     []topology.Sequence
	workers  []*gossip.Worker
	sent     []*witness       // messages that each worker has encoded
	codecs   []*moniqua.Codec // nil without moniqua
	momentum [][]float64
	models   [][][]float32 // by round and worker: x_k, the last is the result
	bytes    []int         // payload sent by each worker
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
		r.momentum = append(r.momentum, make([]float64, len(x)))
		r.sent = append(r.sent, &witness{Algorithm: r.algorithm(t, i, x)})
		w, err := gossip.New(topology.Rank(i), r.rows[i], r.sent[i], file.Steps)
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
		Rank: topology.Rank(i), Workers: len(r.rows), Rows: r.rows[i], X: x, Alpha: r.alpha,
		Compressor: func(of topology.Rank) (quant.Compressor, error) {
			if int(of) == len(r.rows) && a.Server != "double" {
				return quant.Full{}, nil // the server sends the mean in full precision
			}
			return a.Compressor.compressor(t, rng.Stream(uint64(a.Seed), int(of))), nil
		},
		Settings: registry.Settings{
			Order: order, Gamma: float32(a.Gamma + a.Eta), LocalSteps: 1, Slack: 1, Feedback: a.ErrorFeedback,
		},
	}
}

// codec returns the codec of a lane of worker i, and records that of lane 0 if it is Moniqua.
func (r *run) codec(t *testing.T, i, lane int) algos.Codec {
	t.Helper()
	m := r.Algorithm.Moniqua
	if m == nil {
		return algos.Full{}
	}
	rounding, err := moniqua.ParseRounding(m.Mode)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(m.Seed)
	if lane > 0 {
		seed = rng.Stream(seed, 1<<31-16-lane)
	}
	codec, err := moniqua.New(m.Levels, rounding, m.Theta.at, seed, topology.Rank(i))
	if err != nil {
		t.Fatal(err)
	}
	codec.Verify = r.Algorithm.Verify
	if lane == 0 {
		r.codecs = append(r.codecs, codec)
	}
	return codec
}

// alpha is the step size of round k.
func (r *run) alpha(k int) float32 { return float32(r.StepSize.at(k)) }

// A witness records the messages of an algorithm.
type witness struct {
	gossip.Algorithm
	models   [][]float32 // by round: the model that was encoded
	payloads [][]byte    // by round
}

// hashBytes returns the bytes of the index hash. The reference counts neither hashes nor repairs.
func (r *run) hashBytes() int {
	if r.Algorithm.Verify {
		return 8
	}
	return 0
}

// Carries returns the codecs of the algorithm, or none.
func (w *witness) Carries() []algos.Codec {
	if c, ok := w.Algorithm.(gossip.Carrier); ok {
		return c.Carries()
	}
	return make([]algos.Codec, w.Plan().Hops)
}

func (w *witness) Send(k, hop int, dst []byte) ([]byte, error) {
	out, err := w.Algorithm.Send(k, hop, dst)
	if hop == 0 {
		w.models = append(w.models, slices.Clone(w.Params()))
		w.payloads = append(w.payloads, bytes.Clone(out[len(dst):]))
	}
	return out, err
}

// drive runs all workers to the end.
func (r *run) drive(t *testing.T) {
	t.Helper()
	if err := r.advance(); err != nil {
		t.Fatal(err)
	}
}

// advance runs all workers to the end, delivering each frame at once. It stops at the first error.
func (r *run) advance() error {
	for done := 0; done < len(r.workers); {
		done = 0
		for i, w := range r.workers {
			ready := w.Ready()
			for _, f := range ready.Send {
				if f.Kind == gossip.Data {
					r.bytes[i] += len(f.Payload) - r.hashBytes()
				}
				if err := r.workers[f.To].Receive(f); err != nil {
					return err
				}
			}
			if ready.Compute {
				r.models[ready.Round][i] = slices.Clone(ready.At)
				if err := w.Gradient(r.direction(i, ready.At), 0, 0); err != nil {
					return err
				}
			}
			if ready.Done {
				r.models[r.Steps][i] = slices.Clone(w.Params())
				done++
			}
		}
	}
	return nil
}

// direction returns the gradient of worker i at x with weight decay and
// momentum.
func (r *run) direction(i int, x []float32) []float32 {
	wide := widened(x)
	g := r.Problem.gradient(i, wide)
	for c := range g {
		g[c] += r.Algorithm.WeightDecay * wide[c]
		r.momentum[i][c] = r.Algorithm.Momentum*r.momentum[i][c] + g[c]
		g[c] = r.momentum[i][c]
	}
	return narrowed(g)
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
	var spread float64
	for _, x := range r.models[r.Steps] {
		for c, v := range x {
			spread = max(spread, math.Abs(float64(v)-mean[c]))
		}
	}
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

// checkFirstMessages compares grid, indices, symbols and hashes.
func (r *run) checkFirstMessages(t *testing.T) {
	t.Helper()
	if len(r.FirstMessages) == 0 {
		t.Error("no first messages in the file")
	}
	packing, err := quant.NewPacking(r.Algorithm.Moniqua.Levels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range r.FirstMessages {
		for p, peer := range want.Peers {
			what := fmt.Sprintf("step %d worker %d", want.Step, peer)
			grid, err := r.codecs[peer].Grid(want.Step)
			if err != nil {
				t.Fatal(err)
			}
			near(t, what+" grid", grid.Step(), want.Grid, 1e-12)
			indices := r.indices(t, want.Step, int(peer))
			if diff := gocmp.Diff(want.K[p], indices); diff != "" {
				t.Errorf("%s indices (-want +got):\n%s", what, diff)
			}
			symbols := make([]uint16, len(indices))
			if err := packing.Unpack(symbols, r.symbols(int(peer), want.Step)); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want.Symbols[p], symbols); diff != "" {
				t.Errorf("%s symbols (-want +got):\n%s", what, diff)
			}
			if hash := hashOf(indices); hash != want.Hash[p] {
				t.Errorf("%s hash %s, want %s", what, hash, want.Hash[p])
			}
		}
	}
}

// symbols returns the packed symbols that worker i sent in round k.
func (r *run) symbols(i, k int) []byte {
	payload := r.sent[i].payloads[k]
	return payload[:len(payload)-r.hashBytes()]
}

// indices returns the indices of the model that worker i sent in round k.
func (r *run) indices(t *testing.T, k, i int) []int32 {
	t.Helper()
	x := r.sent[i].models[k]
	indices := make([]int32, len(x))
	if err := r.codecs[i].Indices(indices, k, x); err != nil {
		t.Fatal(err)
	}
	return indices
}

// decodeErrors lists the messages that receivers decode to wrong indices. In full precision there are none.
func (r *run) decodeErrors(t *testing.T) (errors []decodeError) {
	t.Helper()
	if r.codecs == nil {
		return nil
	}
	for k := range r.Steps {
		for i, rows := range r.rows {
			for _, e := range rows.At(k).In {
				sent, got := r.indices(t, k, int(e.Peer)), make([]int32, len(r.X0[i]))
				if err := r.codecs[i].Decode(got, k, r.sent[i].models[k], r.sent[e.Peer].payloads[k]); err != nil {
					t.Fatal(err)
				}
				wrong := decodeError{Step: k, Receiver: topology.Rank(i), Sender: e.Peer}
				for c := range got {
					if got[c] != sent[c] {
						wrong.Coords++
					}
				}
				if wrong.Coords > 0 {
					errors = append(errors, wrong)
				}
			}
		}
	}
	return errors
}

// checkDecoding compares the list of decodeErrors with the reference.
func (r *run) checkDecoding(t *testing.T) {
	t.Helper()
	want := inOrder(r.DecodeErrors)
	if diff := gocmp.Diff(want, r.decodeErrors(t)); diff != "" {
		t.Errorf("decode errors (-want +got):\n%s", diff)
	}
	var caught int64
	for _, w := range r.workers {
		caught += w.Repairs().Violations
	}
	if r.Algorithm.Verify && caught != int64(len(want)) {
		t.Errorf("%d wrong messages were caught, want %d", caught, len(want))
	}
}

// checkGap compares the largest distance of neighbours, in units of θ.
func (r *run) checkGap(t *testing.T) {
	t.Helper()
	var gap float64
	for k := range r.Steps {
		for i, rows := range r.rows {
			for _, e := range rows.At(k).In {
				for c, v := range r.sent[i].models[k] {
					apart := math.Abs(float64(v) - float64(r.sent[e.Peer].models[k][c]))
					gap = max(gap, apart/r.Algorithm.Moniqua.Theta.at(k))
				}
			}
		}
	}
	near(t, "largest gap of neighbours over theta", gap, r.GapOverTheta, 10*r.Tolerance.Float32)
}
