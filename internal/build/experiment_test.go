package build

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/summary"
	"gossiptrainer/topology"
)

// quick makes a run small enough for a test.
var quick = []string{"train.rounds=12", "train.batch=4", "model.hidden=[8]"}

// undrawn makes it smaller still where samples do not matter: drawing them takes longer than the run.
var undrawn = []string{"train.rounds=12", "model.name=quadratic", "model.dim=2500"}

func load(t testing.TB, file string, set ...string) *configs.Loaded {
	t.Helper()
	l, err := configs.Load(configs.Source{File: file, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func assemble(t testing.TB, set ...string) *experiment.Run {
	t.Helper()
	r, err := experiment.New(load(t, "", set...).Config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// over assembles settings over those of a base, as --set does over a run file: keys without an effect under them are
// dropped.
func over(t testing.TB, base []string, set ...string) *experiment.Run {
	t.Helper()
	env := make([]string, len(base))
	for i, s := range base {
		key, value, _ := strings.Cut(s, "=")
		env[i] = "PEER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "__")) + "=" + value
	}
	l, err := configs.Load(configs.Source{Env: env, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	r, err := experiment.New(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func workers(t testing.TB, r *experiment.Run) []*Worker {
	t.Helper()
	all, err := All(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// drive runs workers to the end, frame by frame, and returns their results. The order of the workers moves by step on
// every turn.
func drive(t testing.TB, r *experiment.Run, all []*Worker, step int) summary.Results {
	t.Helper()
	g := make([][]float32, len(all))
	for i := range g {
		g[i] = make([]float32, r.Dim())
	}
	res := summary.Results{Mode: "test", Models: make(score.InMemory, len(all)), Wall: time.Second, Version: "v0"}
	first := -1 // the round in which the clock begins
	for turn, busy := 0, true; busy; turn++ {
		busy = false
		for i := range all {
			w := all[(i*step+turn)%len(all)]
			ready := w.Machine.Ready()
			busy = busy || !ready.Done
			deliver(t, all, ready.Send)
			if !ready.Compute {
				continue
			}
			loss, err := w.Gradient(g[w.Rank], ready.Round, ready.At)
			if err != nil {
				t.Fatal(err)
			}
			if first < 0 {
				first = ready.Round
			}
			if err := w.Machine.Gradient(g[w.Rank], loss, time.Duration(ready.Round+1-first)*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if ready.Round == int(r.Config().Train.Rounds)-1 {
				res.Last = append(res.Last, record.Step{Rank: int(w.Rank), Loss: float64(loss)})
			}
		}
	}
	for i, w := range all {
		res.Models.(score.InMemory)[i] = w.Model()
		digest := record.Digest(res.Models.(score.InMemory)[i].X)
		res.Finals = append(res.Finals, record.Final{
			Rank: i, Rounds: int(r.Config().Train.Rounds), Digest: hex.EncodeToString(digest[:]),
			Time: time.Duration(i+1) * time.Second,
		})
	}
	return res
}

// evaluate adds the scores of all replicas to their results.
func evaluate(t testing.TB, all []*Worker, res summary.Results) {
	t.Helper()
	for i, w := range all {
		score, err := w.Evaluate(res.Models.(score.InMemory)[i].X, nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Finals[i].Loss, res.Finals[i].Accuracy, res.Finals[i].Theta = score.Loss, score.Accuracy,
			w.Bound(res.Finals[i].Rounds)
	}
}

// combined returns the digest of a run with these results.
func combined(r *experiment.Run, finals []record.Final) (string, error) {
	sum, err := summary.Summarize(r, summary.Results{Finals: finals})
	return sum.Digest, err
}

// boundOf returns the bound on the update directions of all workers, 0 in full precision.
func boundOf(r *experiment.Run) float64 {
	if r.Modulo() == nil {
		return 0
	}
	return r.Modulo().Bound
}

// digest runs workers to the end and returns the digest of the run.
func digest(t testing.TB, r *experiment.Run, all []*Worker, step int) string {
	t.Helper()
	sum, err := combined(r, drive(t, r, all, step).Finals)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func deliver(t testing.TB, all []*Worker, frames []gossip.Frame) {
	t.Helper()
	for _, f := range frames {
		if len(f.Payload) > all[f.To].MaxPayload {
			t.Errorf("a payload of %d bytes, at most %d were announced", len(f.Payload), all[f.To].MaxPayload)
		}
		f.Payload = slices.Clone(f.Payload)
		err := all[f.To].Machine.Receive(f)
		if errors.Is(err, gossip.ErrStale) || errors.Is(err, gossip.ErrDuplicate) {
			continue // a new link sends much again
		}
		if err != nil {
			t.Fatalf("worker %d: %v", f.To, err)
		}
	}
}

func summarize(t testing.TB, r *experiment.Run, res summary.Results) record.Summary {
	t.Helper()
	s, err := summary.Summarize(r, res)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPresetsAssemble(t *testing.T) {
	dims := map[string]int{
		"ring8": 784*64 + 64 + 64*10 + 10, "lan-ring": 784*64 + 64 + 64*10 + 10, "ring8-fashion": 784*128 + 128 + 128*10 + 10,
		"torus4x4-fashion": 784*128 + 128 + 128*10 + 10, "ring8-cifar": 0, "one-label10": 784*128 + 128 + 128*10 + 10,
		"adpsgd6": 61706,
	}
	for _, p := range configs.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			if load(t, p.Name).Config.External() { // it has no worker before its script has told its parameters
				return
			}
			r, err := experiment.New(load(t, p.Name, "train.batch=2", "faults.script=[]").Config)
			if err != nil {
				t.Fatal(err)
			}
			if want := dims[p.Name]; want != 0 && r.Dim() != want {
				t.Errorf("want %d parameters, got %d", want, r.Dim())
			}
			w, err := New(r, 1, nil)
			var missing *data.MissingError
			if errors.As(err, &missing) {
				t.Skipf("SKIPPED: %s needs the data set %s: set PEER_DATA to a folder that has it", p.Name, missing.Set)
			}
			if err != nil {
				t.Fatal(err)
			}
			const block, piece = 1024, 63 * 1024
			want := min(r.Dim(), piece)
			want = 4*want + 5*((want+block-1)/block) // the repair of a piece, should it be needed
			if p.Name == "members" {
				want = 4 * r.Dim() // full precision needs no repair
			}
			if p.Name == "adpsgd6" {
				want += gossip.CensusBytes(r.N())
			}
			if w.MaxPayload != want {
				t.Errorf("want payloads of %d bytes, got %d", want, w.MaxPayload)
			}
			x := w.Machine.Params()
			if loss, err := w.Gradient(make([]float32, r.Dim()), 0, x); err != nil || !(loss > 1 && loss < 8) {
				t.Errorf("loss at the start: want about ln 10, got %v, %v", loss, err)
			}
		})
	}
}

func TestRunsRepeatBitForBit(t *testing.T) {
	tests := []struct {
		name string
		set  []string
	}{
		{"full precision", []string{"algorithm.bits=32", "model.name=mlp"}},
		{"atc", []string{"algorithm.order=atc", "algorithm.codec=full"}},
		{"all-reduce", []string{"algorithm.name=allreduce"}},
		{"moniqua 8 bit", []string{"model.name=mlp"}},
		{"moniqua 8 bit certified", []string{"algorithm.theta={rule: certified, verify: false}"}},
		{"moniqua 8 bit measured", []string{"algorithm.theta={rule: measured, verify: false}", "topology.size=2",
			"train.rounds=26"}},
		{"moniqua with a theta far too small", []string{"algorithm.theta={rule: fixed, value: 1e-4}"}},
		{"moniqua with local steps", []string{"algorithm.local_steps=3"}},
		{"d2 with local steps", []string{"algorithm.name=d2", "topology.slack=0.6", "algorithm.local_steps=2"}},
		{"choco with local steps", []string{"algorithm.name=choco", "algorithm.local_steps=2",
			"algorithm.compressor.name=sign"}},
		{"moniqua 4 bit nearest on a torus", []string{"algorithm.bits=4", "algorithm.rounding=nearest", "topology.kind=torus",
			"topology.rows=2", "topology.cols=3"}},
		{"moniqua 3 bit", []string{"algorithm.bits=3"}},
		{"moniqua 5 levels by the theorem", []string{"algorithm.levels=5", "algorithm.theta.rule=theorem"}},
		{"moniqua 1 bit with slack", []string{"algorithm.bits=1", "topology.slack=0.1",
			"algorithm.theta={rule: fixed, value: 2}"}},
		{"stochastic rounding", []string{"algorithm.rounding=stochastic"}},
		{"one label per worker", []string{"data.partition=labels", "model.name=mlp"}},
		{"Dirichlet", []string{"data.partition=dirichlet", "data.alpha=0.1", "model.name=mlp"}},
		{"one worker alone", []string{"topology.size=1"}},
		{"two workers", []string{"topology.size=2"}},
		{"one worker alone, all-reduce", []string{"topology.size=1", "algorithm.name=allreduce"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := over(t, undrawn, test.set...)
			first := digest(t, r, workers(t, r), 1)
			if again := digest(t, r, workers(t, r), max(1, r.N()-1)); again != first {
				t.Errorf("the workers of one run in another order: %s and %s", first, again)
			}
			other := over(t, undrawn, append(test.set, "seed=2")...)
			if d := digest(t, other, workers(t, other), 1); d == first {
				t.Errorf("seed 2 gives the digest of seed 1")
			}
		})
	}
}

func TestWorkersBuiltOneByOneEqualThoseBuiltTogether(t *testing.T) {
	for _, partition := range []string{"iid", "labels", "dirichlet"} {
		r := assemble(t, append([]string{"data.partition=" + partition, "topology.size=3"}, quick...)...)
		single := make([]*Worker, r.N())
		for i := range single {
			var err error
			if single[i], err = New(r, topology.Rank(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if one, all := digest(t, r, single, 1), digest(t, r, workers(t, r), 1); one != all {
			t.Errorf("%s: one by one %s, together %s", partition, one, all)
		}
	}
}

func TestWorkersOfOneRunAreIndependent(t *testing.T) {
	r := assemble(t, quick...)
	a, err := New(r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(r, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := a.Machine.Params()
	if !slices.Equal(x, b.Machine.Params()) {
		t.Fatal("two workers of one rank start apart")
	}
	x[0]++
	if b.Machine.Params()[0] == x[0] {
		t.Error("two workers share a model")
	}
	c, err := New(r, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	x[0]--
	ga, gb, gc := make([]float32, r.Dim()), make([]float32, r.Dim()), make([]float32, r.Dim())
	for _, call := range []struct {
		w *Worker
		g []float32
	}{{a, ga}, {c, gc}, {b, gb}} {
		if _, err := call.w.Gradient(call.g, 0, x); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(ga, gb) {
		t.Error("the gradient of worker 0 depends on what worker 1 does")
	}
	if slices.Equal(ga, gc) {
		t.Error("workers 0 and 1 draw the same batch")
	}
}

// A mistake is a set of settings that contradict each other, with the expected key and words of the error.
type mistake struct {
	name     string
	set      []string
	at, want string
}

func areFound(t *testing.T, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			l := load(t, "", m.set...)
			_, err := experiment.New(l.Config)
			var e *configs.Error
			if !errors.As(l.Locate(err), &e) {
				t.Fatalf("want a *configs.Error, got %v", err)
			}
			if p := e.Problems[0]; !strings.HasPrefix(p.Where(), m.at) || !strings.Contains(p.Message, m.want) {
				t.Errorf("want %q at %q, got %v", m.want, m.at, p)
			}
		})
	}
}

func TestMistakesAreFoundAtTheirKeys(t *testing.T) {
	dir := t.TempDir()
	edges := filepath.Join(dir, "parts.txt")
	if err := os.WriteFile(edges, []byte("0 1\n2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	areFound(t, []mistake{
		{"1 bit without certificate", []string{"algorithm.theta.rule=certified", "algorithm.bits=1"},
			"--set algorithm.theta.rule=certified", "no certificate on this graph"},
		{"too little slack for 3 bits on a torus", []string{"topology.kind=torus", "topology.rows=4", "topology.cols=4",
			"algorithm.theta.rule=certified", "algorithm.bits=3"}, "--set algorithm.theta.rule=certified", "no certificate"},
		{"a disconnected file of edges", []string{"topology.kind=edges", "topology.file=" + edges},
			"--set topology.kind=edges", "not connected"},
		{"a limit where no edge is", []string{"limit.links.0-4.rate=1mbit"}, "--set limit.links.0-4.rate",
			"workers 0 and 4 are not neighbours in ring:8"},
		{"more labels than there are", []string{"data.partition=labels", "data.per_worker=11"}, "--set data.per_worker=11",
			"glyphs has 10 labels"},
		{"images for a set of vectors", []string{"model.name=resnet", "data.name=a9a"}, "--set", "resnet"},
	})
}

func TestMissingDataIsNamed(t *testing.T) {
	r := assemble(t, append(slices.Clone(quick), "data.name=fashion-mnist", "data.dir="+t.TempDir())...)
	for name, call := range map[string]func() error{
		"a worker":      func() error { _, err := New(r, 0, nil); return err },
		"all workers":   func() error { _, err := All(r); return err },
		"an evaluation": func() error { _, err := r.Scorer().Evaluate(make([]float32, r.Dim())); return err },
		"the partition": func() error { _, err := r.Data().Partition(); return err },
	} {
		var missing *data.MissingError
		if err := call(); !errors.As(err, &missing) || missing.Set != "fashion-mnist" {
			t.Errorf("%s: want a *data.MissingError, got %v", name, err)
		}
	}
}

func TestRanksOutOfRange(t *testing.T) {
	r := assemble(t, quick...)
	for _, rank := range []topology.Rank{-1, 8} {
		if _, err := New(r, rank, nil); err == nil || !strings.Contains(err.Error(), "workers 0 to 7") {
			t.Errorf("rank %d: got %v", rank, err)
		}
	}
}

func TestTheBoundClipsOnlyWhereThetaNeedsIt(t *testing.T) {
	tests := []struct {
		set  []string
		want float64
	}{
		{nil, 0},
		{[]string{"algorithm.theta.bound=0.25"}, 0.25},
		{[]string{"algorithm.theta.rule=measured"}, 0},
		{[]string{"algorithm.theta.rule=certified"}, 1},
		{[]string{"algorithm.theta={rule: certified, bound: 0.25}"}, 0.25},
		{[]string{"algorithm.theta.rule=theorem"}, 1},
		{[]string{"algorithm.theta={rule: fixed, value: 2}"}, 0},
		{[]string{"algorithm.bits=32"}, 0},
		{[]string{"algorithm.name=allreduce"}, 0},
	}
	for _, test := range tests {
		if got := boundOf(assemble(t, test.set...)); got != test.want {
			t.Errorf("%v: want %v, got %v", test.set, test.want, got)
		}
	}
}

func TestEvaluateWithoutDataIsTheGlobalObjective(t *testing.T) {
	r := assemble(t, "model.name=quadratic", "model.dim=3", "topology.size=4", "train.rounds=1")
	x := []float32{0.5, -1, 2}
	score, err := r.Scorer().Evaluate(x)
	if err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	g := make([]float32, 3)
	for _, w := range workers(t, r) {
		loss, err := w.Gradient(g, 0, x)
		if err != nil {
			t.Fatal(err)
		}
		mean += float64(loss) / 4
		own, err := w.Evaluate(x, nil)
		if err != nil || own.Loss != score.Loss {
			t.Errorf("worker %d evaluates %v, %v; the run %v", w.Rank, own.Loss, err, score.Loss)
		}
	}
	if math.Abs(score.Loss-mean) > 1e-6*mean || !math.IsNaN(score.Accuracy) {
		t.Errorf("want loss %v without accuracy, got %+v", mean, score)
	}
	if _, err := r.Scorer().Evaluate(x[:2]); err == nil {
		t.Error("a model that is too short is accepted")
	}
	if _, err := r.Data().Partition(); err == nil {
		t.Error("there is a partition of no data")
	}
}
