package build

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modelfile"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// smallNet is a run with batch normalization of few parameters.
var smallNet = []string{"model={name: resnet, depth: 8, norm: batch}", "topology.size=2", "train={rounds: 2, batch: 2}"}

// savedBy writes the model that a worker has after its first gradient, and returns the file and the worker.
func savedBy(t *testing.T, r *experiment.Run) (string, *Worker) {
	t.Helper()
	w := workers(t, r)[1]
	if _, err := w.Gradient(make([]float32, r.Dim()), 0, w.Machine.Params()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := train.Write(path, r.Files().Saved(w.Machine.Params(), w.Model().Statistics)); err != nil {
		t.Fatal(err)
	}
	return path, w
}

func TestWorkersStartFromAFile(t *testing.T) {
	path, from := savedBy(t, assemble(t, append([]string{"seed=7"}, smallNet...)...))
	r := assemble(t, append([]string{"train.from=" + path}, smallNet...)...)
	for _, w := range workers(t, r) {
		if !slices.Equal(w.Machine.Params(), from.Machine.Params()) {
			t.Errorf("worker %d starts elsewhere", w.Rank)
		}
		if !slices.Equal(w.Model().Statistics, from.Model().Statistics) {
			t.Errorf("worker %d has other running statistics", w.Rank)
		}
	}
	x, statistics, err := r.Files().Restore(mustRead(t, path), path)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := r.Scorer().Score(x, statistics, nil)
	if want, wrong := from.Evaluate(x, nil); err != nil || wrong != nil || math.Abs(got.Loss-want.Loss) > 1e-5 {
		t.Errorf("score %+v, error %v, want %+v", got, err, want)
	}
}

func mustRead(t *testing.T, path string) train.Saved {
	t.Helper()
	saved, err := train.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// A saved state replaces the start, so a worker that resumes does not need the numbers of the file.
func TestAWorkerThatResumesReadsNoStart(t *testing.T) {
	path, _ := savedBy(t, assemble(t, append([]string{"seed=7"}, smallNet...)...))
	settings := append([]string{"train.from=" + path}, smallNet...)
	first, later := assemble(t, settings...), assemble(t, settings...)
	all := workers(t, first)
	var s state.Snapshot
	var x, statistics []float32
	all[0].Machine.AtBoundary(func(k int) {
		if k == 1 {
			all[0].Save(&s)
			x, statistics = slices.Clone(all[0].Machine.Params()), all[0].Model().Statistics
		}
	})
	drive(t, first, all, 1)
	if err := os.WriteFile(path, []byte("damaged"), 0o666); err != nil {
		t.Fatal(err)
	}
	back, err := New(later, 0, &s)
	if err != nil {
		t.Fatal(err)
	}
	if len(x) == 0 || !slices.Equal(back.Machine.Params(), x) || !slices.Equal(back.Model().Statistics, statistics) {
		t.Error("the worker does not go on where it was")
	}
	if _, err := assembleErr(settings...); err == nil {
		t.Error("a damaged file is a start")
	}
	if _, err := New(later, 0, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that was damaged meanwhile: error %v", err)
	}
}

func assembleErr(set ...string) (*experiment.Run, error) {
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		return nil, err
	}
	return experiment.New(loaded.Config)
}

func TestStartsThatAreRefused(t *testing.T) {
	mlp := []string{"model={name: mlp, hidden: [3]}", "topology.size=2"}
	run := assemble(t, mlp...)
	write := func(change func(s *train.Saved)) string {
		s := run.Files().Saved(nil, nil)
		s.X, s.Parts = make([]float32, run.Dim()), nil
		change(&s)
		path := filepath.Join(t.TempDir(), "start.safetensors")
		if err := train.Write(path, s); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write(func(s *train.Saved) { s.Layout[1].Name = "dense1.b" })
	_, err := assembleErr(append([]string{"train.from=" + path}, mlp...)...)
	for _, want := range []string{
		"train.from: " + path + " does not fit the model mlp: it lacks dense1.bias, it has dense1.b",
		path + " has: dense1.weight [3, 784], dense1.b [3]", "the model mlp has: dense1.weight [3, 784], dense1.bias [3]",
	} {
		if err == nil || !strings.Contains(err.(*configs.Error).Detail(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	path = write(func(s *train.Saved) { s.X[784*3+1] = float32(math.NaN()) })
	r := assemble(t, append([]string{"train.from=" + path}, mlp...)...)
	if _, err := New(r, 0, nil); err == nil || !strings.Contains(err.Error(), "tensor dense1.bias: element 1 is NaN") {
		t.Errorf("not a number: error %v", err)
	}
}

// An external model keeps the names, the shapes and the order of its program.
func TestFilesOfExternalModels(t *testing.T) {
	loaded := load(t, "", "model.name=external", "topology.size=2")
	layout := []model.Param{{Name: "fc.weight", Shape: []int{3, 2}}, {Name: "scale", Off: 6, Shape: []int{}}}
	loaded.Config.Model.Outline = &model.Outline{Params: layout}
	r, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	saved := r.Files().Saved([]float32{1, 2, 3, 4, 5, 6, 7}, nil)
	if err := saved.Match(layout, "the file", "the program"); err != nil {
		t.Error(err)
	}
	x := slices.Concat(slices.Collect(saved.Parts)...)
	if !slices.Equal(x, []float32{1, 2, 3, 4, 5, 6, 7}) || saved.Metadata[modelfile.MetaModel] != `{"name":"external"}` ||
		saved.Metadata[modelfile.MetaData] != "" {
		t.Errorf("%v with %v", x, saved.Metadata)
	}
}

func TestMetadataNameModelAndData(t *testing.T) {
	r := assemble(t, "name=mine", "model={name: mlp, hidden: [3]}", "topology.size=2", "seed=5",
		"data={partition: dirichlet, alpha: 0.1}")
	got := r.Files().Saved(make([]float32, r.Dim()), nil).Metadata
	for key, want := range map[string]string{
		modelfile.MetaRun: "mine", modelfile.MetaSeed: "5", modelfile.MetaPeers: "2", modelfile.MetaModel: `{"hidden":[3],"name":"mlp"}`, modelfile.MetaData: `{"name":"glyphs"}`,
		"format": "pt",
	} {
		if got[key] != want {
			t.Errorf("%s: %s, want %s", key, got[key], want)
		}
	}
	if in := got[shards.MetaInput]; !strings.Contains(in, `"shape":[1,28,28]`) || !strings.Contains(in, `"mean":[0.1289]`) {
		t.Errorf("input %s", in)
	}
}
