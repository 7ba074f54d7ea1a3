package build

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// uneven are settings of four workers that differ in all ways.
var uneven = []string{
	"topology.size=4", "data.partition=dirichlet", "data.sizes={law: shares, shares: [8, 4, 2, 1]}",
	"data.weights=samples", "data.label_noise=[0, 0.5, 0, 0.25]",
}

// shardsOf returns the samples of all workers.
func shardsOf(t *testing.T, r *experiment.Run) []data.Set {
	t.Helper()
	shards, err := r.Data().Shards(r.N())
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

func lossOver(t *testing.T, r *experiment.Run, x []float32, set data.Set) float64 {
	t.Helper()
	f, err := model.New(r.ModelSpec(0, 100))
	if err != nil {
		t.Fatal(err)
	}
	e, err := train.NewEvaluator(f, set, 100)
	if err != nil {
		t.Fatal(err)
	}
	return e.Score(x).Loss
}

// The mean over the workers of their weighted objectives is the mean over all samples.
func TestWeightedObjectiveIsTheMeanOverSamples(t *testing.T) {
	for _, partition := range []string{"iid", "labels", "dirichlet"} {
		r := assemble(t, append(slices.Clone(uneven), "data.partition="+partition, "model.name=logistic")...)
		shards := shardsOf(t, r)
		x := make([]float32, r.Dim())
		for i := range x {
			x[i] = float32(math.Sin(float64(i)))
		}
		weights, err := experiment.Weights(r)
		if err != nil {
			t.Fatal(err)
		}
		mean, plain := 0.0, 0.0
		for i, shard := range shards {
			loss := lossOver(t, r, x, shard)
			mean += weights[i] * loss / 4
			plain += loss / 4
		}
		all := lossOver(t, r, x, data.Concat(shards))
		if math.Abs(mean-all) > 1e-6*all || math.Abs(plain-all) < 1e-4*all {
			t.Errorf("%s: weighted mean %v, mean over samples %v, mean over workers %v", partition, mean, all, plain)
		}
	}
}

// A worker's gradient is multiplied by its weight before momentum, and weight decay is not.
func TestGradientsAreMultipliedByTheWeight(t *testing.T) {
	sized := append(slices.Clone(quick), uneven...)
	weighted := workers(t, assemble(t, append(sized, "train.momentum=0")...))
	plain := workers(t, assemble(t, append(sized, "train.momentum=0", "data.weights=workers")...))
	decayed := workers(t, assemble(t, append(sized, "train.momentum=0", "train.weight_decay=0.5")...))
	weights := []float64{4 * 8. / 15, 4 * 4. / 15, 4 * 2. / 15, 4 * 1. / 15}
	for i, w := range weighted {
		x := w.Machine.Params()
		g, h, d := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		for _, of := range []struct {
			w *Worker
			g []float32
		}{{w, g}, {plain[i], h}, {decayed[i], d}} {
			if _, err := of.w.Gradient(of.g, 0, x); err != nil {
				t.Fatal(err)
			}
		}
		for c := range g {
			if want := weights[i] * float64(h[c]); math.Abs(float64(g[c])-want) > 1e-6+1e-6*math.Abs(want) {
				t.Fatalf("worker %d, coordinate %d: %v, want %v", i, c, g[c], want)
			}
			if want := float64(g[c]) + 0.5*float64(x[c]); math.Abs(float64(d[c])-want) > 1e-5 {
				t.Fatalf("worker %d, coordinate %d with decay: %v, want %v", i, c, d[c], want)
			}
		}
	}
}

// A certificate holds for the largest weight, and a run under it recovers every value.
func TestCertificatesCoverWeights(t *testing.T) {
	certified := append(append(slices.Clone(quick), uneven...), "algorithm.theta={rule: certified, bound: 0.001}")
	plain := assemble(t, append(certified, "data.weights=workers")...)
	r := assemble(t, certified...)
	largest := 4 * 8. / 15
	if ratio := r.Modulo().Rule()(3) / plain.Modulo().Rule()(3); math.Abs(ratio-largest) > 1e-6 {
		t.Errorf("theta grows by %v, the largest weight is %v", ratio, largest)
	}
	all := workers(t, r)
	g := make([]float32, r.Dim())
	for i, weight := range []float64{4 * 8. / 15, 4 * 4. / 15, 4 * 2. / 15, 4 * 1. / 15} {
		if _, err := all[i].Gradient(g, 0, all[i].Machine.Params()); err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for _, v := range g {
			most = max(most, math.Abs(float64(v)))
		}
		if most > 0.001*weight || most < 0.00099*weight {
			t.Errorf("worker %d: the largest coordinate is %v, want its bound %v", i, most, 0.001*weight)
		}
	}
	all = workers(t, r)
	res := drive(t, r, all, 1)
	evaluate(t, all, res)
	for _, f := range res.Finals {
		if f.Theta.Violations == nil || *f.Theta.Violations != 0 {
			t.Errorf("worker %d: violations %v of a certificate", f.Rank, f.Theta.Violations)
		}
	}
}

// No other worker's noise moves a worker's labels, in all kinds of splits. A process for one worker has the labels that
// a process for all gives it.
func TestNoiseIsTheWorkersOwn(t *testing.T) {
	for _, partition := range []string{"iid", "labels", "dirichlet"} {
		set := append(slices.Clone(uneven), "data.partition="+partition)
		r := assemble(t, set...)
		shards := shardsOf(t, r)
		clean := shardsOf(t, assemble(t, append(set, "data.label_noise=[]")...))
		other := shardsOf(t, assemble(t, append(set, "data.label_noise=[0.9, 0.5, 0.1, 0]")...))
		for rank, share := range []float64{0, 0.5, 0, 0.25} {
			n := shards[rank].Len()
			wrong, others := 0, 0
			for k := range n {
				if shards[rank].Label(k) != clean[rank].Label(k) {
					wrong++
				}
				if shards[rank].Label(k) != other[rank].Label(k) {
					others++
				}
			}
			if want := int(math.Round(share * float64(n))); wrong != want {
				t.Errorf("%s: worker %d has %d wrong labels of %d, want %d", partition, rank, wrong, n, want)
			}
			if rank == 1 && others != 0 {
				t.Errorf("%s: the noise of others moves %d labels of worker 1", partition, others)
			}
			alone, err := assemble(t, set...).Data().Shard(topology.Rank(rank))
			if err != nil {
				t.Fatal(err)
			}
			if data.Fingerprint(alone) != data.Fingerprint(shards[rank]) {
				t.Errorf("%s: worker %d alone has other samples than together", partition, rank)
			}
		}
	}
}

// Evaluation takes the true labels, and peers compare the true data.
func TestNoiseLeavesTestsAndFingerprintsAlone(t *testing.T) {
	r := assemble(t, append(slices.Clone(uneven), "data.label_noise=[1]")...)
	plain := assemble(t, "topology.size=4")
	x := make([]float32, r.Dim())
	a, err := r.Scorer().Evaluate(x)
	b, err2 := plain.Scorer().Evaluate(x)
	if err != nil || err2 != nil || a != b {
		t.Errorf("scores %v, %v; errors %v, %v", a, b, err, err2)
	}
	held, err := r.Data().Held()
	same, err2 := plain.Data().Held()
	if err != nil || err2 != nil || !bytes.Equal(held, same) {
		t.Errorf("data %s and %s; errors %v, %v", held, same, err, err2)
	}
}

func TestWorkersAloneEndAsTogetherWithUnevenData(t *testing.T) {
	for _, set := range [][]string{nil, {"train.rounds=12"}, {"algorithm.name=gt"}, {"algorithm={name: d2}"},
		{"algorithm.name=allreduce", "algorithm.codec=full"}} {
		r := over(t, append(slices.Clone(quick), uneven...), set...)
		want := digest(t, r, workers(t, r), 1)
		all := make([]*Worker, r.N())
		for i := range all {
			var err error
			if all[i], err = New(r, topology.Rank(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := digest(t, r, all, 3); got != want {
			t.Errorf("%v: %s alone, %s together", set, got, want)
		}
	}
	sized := append(slices.Clone(quick), uneven...)
	want := digest(t, assemble(t, sized...), workers(t, assemble(t, sized...)), 1)
	for _, set := range []string{"data.weights=workers", "data.label_noise=[]", "data.sizes.law=equal"} {
		r := over(t, sized, set)
		if digest(t, r, workers(t, r), 1) == want {
			t.Errorf("%s changes nothing", set)
		}
	}
}

// localFiles writes a CSV file for each worker, with these numbers of rows, and returns the settings that read them.
func localFiles(t *testing.T, rows ...int) []string {
	t.Helper()
	dir := t.TempDir()
	for rank, n := range rows {
		var text strings.Builder
		text.WriteString("a,b,label\n")
		for i := range n {
			fmt.Fprintf(&text, "%d,%d,%s\n", i, i*i%7, []string{"cat", "dog"}[i%2])
		}
		at := filepath.Join(dir, fmt.Sprint(rank))
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "train.csv"), []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		fmt.Sprintf("topology.size=%d", len(rows)), "data.name=file", "data.partition=local", "data.test_share=0.5",
		"data.path=" + filepath.Join(dir, "{rank}", "train.csv"), "train.batch=2", "train.rounds=6", "model.name=logistic",
	}
}

// Where each machine has files of its own, the run file states the rows of all.
func TestWeightsOfLocalFiles(t *testing.T) {
	set := append(localFiles(t, 24, 12, 12), "data.weights=samples", "data.label_noise=[0, 0.5, 0]")
	r := assemble(t, append(set, "data.sizes={law: shares, shares: [12, 6, 6]}")...)
	weights, err := experiment.Weights(r)
	if err != nil || !slices.Equal(weights, []float64{1.5, 0.75, 0.75}) {
		t.Errorf("weights %v, %v", weights, err)
	}
	digest(t, r, workers(t, r), 1)
	areFound(t, []mistake{{"another number of rows", append(set, "data.sizes={law: shares, shares: [12, 6, 7]}"),
		"--set data.sizes", "the files of worker 2 have 6 samples to train on, but the list says 7"}})
	own := slices.Clone(set) // as on a LAN: the machine has one folder, and its rank comes later
	for i, s := range own {
		own[i] = strings.ReplaceAll(s, "{rank}", "1")
	}
	lan := assemble(t, append(own, "data.sizes={law: shares, shares: [12, 6, 6]}")...)
	if _, err := New(lan, 1, nil); err != nil {
		t.Error(err)
	}
	if _, err := New(lan, 0, nil); err == nil || !strings.Contains(err.Error(), "the files of worker 0 have 6 samples") {
		t.Errorf("a worker with another number of rows than stated: %v", err)
	}
}

// Sizes, weights and noise work with samples of the user's own.
func TestUnevenFileOfTheUser(t *testing.T) {
	set := localFiles(t, 100)
	for i, s := range set {
		set[i] = strings.ReplaceAll(s, "{rank}", "0")
	}
	set = append(set, "data.partition=iid", "topology.size=4", "data.sizes={law: power}", "data.weights=samples",
		"data.label_noise=[0.25]")
	r := assemble(t, set...)
	p, err := r.Data().Partition()
	if err != nil || !slices.Equal(p.Sizes(), []int{24, 12, 8, 6}) {
		t.Errorf("sizes %v, %v", p.Sizes(), err)
	}
	digest(t, r, workers(t, r), 1)
}

// Peers whose files differ in any of the keys refuse each other: the section data differs.
func TestUnevenDataIsCompared(t *testing.T) {
	section := func(set ...string) string {
		for _, s := range load(t, "", append(slices.Clone(uneven), set...)...).Config.Sections() {
			if s.Name == "data" {
				return string(s.JSON)
			}
		}
		return ""
	}
	base := section()
	for _, set := range []string{"data.weights=workers", "data.label_noise=[0.1]",
		"data.sizes.shares=[8, 4, 2, 2]"} {
		if other := section(set); other == base || other == "" {
			t.Errorf("%s is not compared", set)
		}
	}
}

// Rows that no worker has are in no epoch.
func TestEpochsCountTheRowsThatWorkersHave(t *testing.T) {
	run := assemble(t, "topology.size=3", "data.partition=labels", "data.per_worker=1", "train.epochs=2", "train.batch=10")
	p, err := run.Data().Partition()
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, n := range p.Sizes() {
		used += n
	}
	if train := run.Data().Info().Train; used == train {
		t.Fatalf("all %d rows are used: the test needs some that are not", train)
	}
	if got, want := run.Config().Train.Rounds, (2*used+29)/30; int(got) != want {
		t.Errorf("%d rounds, want %d for %d rows", got, want, used)
	}
}
