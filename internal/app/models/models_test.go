package models

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
)

func unseen(done, all int64) {}

// saved writes the start of a run as a model file, with what change makes of it, and returns the path and the run.
func saved(t *testing.T, change func(s *train.Saved), set ...string) (string, *experiment.Run) {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := run.Worker(0)
	if err != nil {
		t.Fatal(err)
	}
	s := run.SavedModel(w.Machine.Params(), w.Statistics())
	change(&s)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := train.Write(path, s); err != nil {
		t.Fatal(err)
	}
	return path, run
}

func asIs(*train.Saved) {}

// bare makes a file as another program would.
func bare(s *train.Saved) { s.Metadata = nil }

func TestFilesAreEvaluatedAsTheirMetadataSay(t *testing.T) {
	for _, set := range [][]string{
		{"model={name: mlp, hidden: [3]}"},
		{"model={name: quadratic, dim: 5, spread: 2}", "topology.size=5", "seed=9"},
		{"model={name: resnet, depth: 8, norm: batch}", "train.batch=10"},
	} {
		path, run := saved(t, asIs, set...)
		w, err := run.Worker(0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := run.ScoreModel(w.Machine.Params(), w.Statistics(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Evaluate(Request{Model: path}, unseen)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(*got.Loss-want.Loss) > 1e-9*want.Loss || (got.Accuracy == nil) != math.IsNaN(want.Accuracy) {
			t.Errorf("%v: %+v, want %+v", set, got, want)
		}
		if got.Model != run.Config().Model.Name || got.Samples != want.Samples {
			t.Errorf("%v: %+v", set, got)
		}
	}
}

// The metadata do not say where data of the user lie, because that differs from machine to machine.
func TestOwnDataAreNamedAgain(t *testing.T) {
	table := filepath.Join(t.TempDir(), "t.csv")
	text := "a,label\n" + strings.Repeat("1,x\n2,y\n", 50)
	if err := os.WriteFile(table, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	path, _ := saved(t, asIs, "model={name: logistic}",
		"data={name: file, path: "+table+", test_share: 0.3}", "train.batch=4")
	for _, r := range []Request{{Data: table}, {Set: []string{"data.path=" + table}}} {
		r.Model = path
		if got, err := Evaluate(r, unseen); err != nil || got.Samples != 30 || got.Data != "file" {
			t.Errorf("%+v: %+v, error %v", r, got, err)
		}
	}
	if _, err := Evaluate(Request{Model: path}, unseen); !errors.As(err, new(*advice.UsageError)) ||
		!strings.Contains(err.Error(), "no path of its data") {
		t.Errorf("without a path: error %v", err)
	}
}

func TestNamesAndShapesTellTheModel(t *testing.T) {
	for _, set := range [][]string{
		{"model={name: logistic}"}, {"model={name: mlp, hidden: [3, 4]}"}, {"model={name: lenet}"},
		{"model={name: resnet, depth: 14, norm: group}", "train.batch=2"},
		{"model={name: resnet, depth: 8, norm: batch}", "train.batch=2"},
	} {
		path, run := saved(t, bare, set...)
		head, err := train.ReadLayout(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Request{Model: path, Data: "glyphs"}.run(head)
		if err != nil {
			t.Errorf("%v: %v", set, err)
			continue
		}
		if g, w := got.Config().Model, run.Config().Model; g.Name != w.Name || len(g.Hidden) != len(w.Hidden) ||
			g.Depth != w.Depth || g.Norm != w.Norm {
			t.Errorf("%v: the model is %+v", set, g)
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}")
	none, _ := saved(t, bare, "model={name: mlp, hidden: [3]}")
	strange, _ := saved(t, func(s *train.Saved) { s.Layout[0].Name, s.Metadata = "fc.weight", nil },
		"model={name: mlp, hidden: [3]}")
	scripted, _ := saved(t, func(s *train.Saved) { s.Metadata = map[string]string{"model": `{"name":"external"}`} },
		"model={name: mlp, hidden: [3]}")
	for _, test := range []struct {
		r          Request
		want, hint string
		kind       any
	}{
		{Request{Model: path, Set: []string{"model.name=lenet"}}, "does not fit the model lenet: it lacks conv1.weight",
			`metadata name the model {"hidden":[3],"name":"mlp"} and the data {"name":"glyphs"}`, new(*FileError)},
		{Request{Model: path, RunFile: "ring8"}, "dense1.weight has the shape [3, 784], want [64, 784]", "leave out run file",
			new(*FileError)},
		{Request{Model: path, Data: "cifar-10"}, "dense1.weight has the shape [3, 784], want [3, 3072]", "metadata",
			new(*FileError)},
		{Request{Model: none}, "its metadata name no data set", "--data", new(*advice.UsageError)},
		{Request{Model: strange, Data: "glyphs"}, "its names and shapes are not those of logistic, lenet",
			"--set model.name=logistic shows", new(*FileError)},
		{Request{Model: filepath.Join(t.TempDir(), "none")}, "none", "a run leaves", new(*advice.UsageError)},
		{Request{Model: scripted}, "is a model of your own script", "peer average", new(*FileError)},
		{Request{Model: "models.go"}, "models.go: header", "", new(*FileError)},
		{Request{Model: path, Data: "glyps"}, "data.name", "", new(*configs.Error)},
	} {
		_, err := Evaluate(test.r, unseen)
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, test.kind) {
			t.Errorf("%+v: error %v, want a %T with %q", test.r, err, test.kind, test.want)
			continue
		}
		if h, ok := err.(interface{ Hint() string }); test.hint != "" && (!ok || !strings.Contains(h.Hint(), test.hint)) {
			t.Errorf("%+v: want the hint %q: %v", test.r, test.hint, err)
		}
	}
}

// keptState writes the checkpoint of a worker into the run folder dir, and returns the folder of the checkpoint.
func keptState(t *testing.T, dir string, round int, set ...string) (string, *experiment.Run) {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := run.Worker(0)
	if err != nil {
		t.Fatal(err)
	}
	s := new(state.Snapshot)
	if round > 0 {
		w.Save(s)
	}
	rank := filepath.Join(dir, "checkpoints", "rank-0")
	if err := checkpoint.Write(rank, checkpoint.Manifest{Run: "r", Round: round}, s, 3); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), loaded.Config.Portable(), 0o666); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(rank, fmt.Sprintf("round-%08d", round)), run
}

// Checkpoints give the parameters of their worker, to an evaluation and to a start.
func TestCheckpointsAreModels(t *testing.T) {
	dir := t.TempDir()
	folder, run := keptState(t, dir, 4, "model={name: mlp, hidden: [3]}")
	w, err := run.Worker(0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := run.ScoreModel(w.Machine.Params(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "state.safetensors")} {
		got, err := Evaluate(Request{Model: path}, unseen)
		if err != nil || math.Abs(*got.Loss-want.Loss) > 1e-9*want.Loss || got.Model != "mlp" || got.Samples != 2000 {
			t.Errorf("%s: %+v, error %v, want %+v", path, got, err, want)
		}
		loaded, err := configs.Load(configs.Source{Set: []string{"seed=9", "model={name: mlp, hidden: [3]}",
			"train.from=" + path}})
		if err != nil {
			t.Fatal(err)
		}
		from, err := experiment.New(loaded.Config)
		if err != nil {
			t.Fatal(err)
		}
		begun, err := from.Worker(1)
		if err != nil || !slices.Equal(begun.Machine.Params(), w.Machine.Params()) {
			t.Errorf("%s: a worker starts elsewhere, error %v", path, err)
		}
	}
	if _, err := Evaluate(Request{Model: folder, Set: []string{"model.hidden=[4]"}}, unseen); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("has %d parameters, and the model mlp has ", run.Dim())) {
		t.Errorf("another model: error %v", err)
	}
	copied := filepath.Join(t.TempDir(), "state.safetensors")
	text, err := os.ReadFile(filepath.Join(folder, "state.safetensors"))
	if err == nil {
		err = os.WriteFile(copied, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(Request{Model: copied}, unseen); !errors.As(err, new(*advice.UsageError)) ||
		!strings.Contains(err.Error(), copied+" is of a checkpoint, which names neither model nor data") {
		t.Errorf("a copy: error %v", err)
	}
	if got, err := Evaluate(Request{Model: copied, RunFile: filepath.Join(dir, "run.yaml")}, unseen); err != nil ||
		math.Abs(*got.Loss-want.Loss) > 1e-9*want.Loss {
		t.Errorf("a copy with a run file: %+v, error %v", got, err)
	}
}

// Files without a model are refused, and the message names the file to take.
func TestStatesThatAreNoModels(t *testing.T) {
	dir := t.TempDir()
	norm, _ := keptState(t, filepath.Join(dir, "norm"), 4, "model={name: resnet, depth: 8, norm: batch}", "train.batch=10")
	first, _ := keptState(t, filepath.Join(dir, "first"), 0, "model={name: mlp, hidden: [3]}")
	later, _ := keptState(t, filepath.Join(dir, "later"), 8, "model={name: mlp, hidden: [3]}")
	write := func(name string, tensors ...state.Tensor) string {
		path := filepath.Join(dir, name)
		var text bytes.Buffer
		if err := checkpoint.Encode(&text, &state.Snapshot{Tensors: tensors}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sim := write("sim", state.Tensor{Name: "simulation", Type: "U8", Data: []byte("{}")},
		state.Tensor{Name: "worker0/machine/x", Type: "F32", Data: make([]byte, 8)})
	script := write("script", state.Tensor{Name: "script/state", Type: "U8", Data: []byte("{}")})
	whole := write("whole", state.Tensor{Name: "tokens", Type: "I64", Data: make([]byte, 8)})
	peers := "peer-<rank>.safetensors"
	for _, test := range []struct{ path, want, take string }{
		{norm, "without the running statistics of the model resnet", peers},
		{first, "it holds no tensors, like the checkpoint before round 0, not a model", peers},
		{sim, "it holds the state of a simulation", peers},
		{script, "it holds the state of a script", peers},
		{filepath.Dir(later), "rank-0 is a folder", later},
		{dir, " is a folder", "a model file in it"},
	} {
		_, evaluated := Evaluate(Request{Model: test.path}, unseen)
		said, file := told(evaluated), test.path
		if !strings.Contains(said, test.want) || !strings.Contains(said, test.take) || !strings.Contains(said, file) {
			t.Errorf("evaluate %s: %s, want %q, the file and %q", file, said, test.want, test.take)
		}
		loaded, err := configs.Load(configs.Source{Set: []string{"model={name: resnet, depth: 8, norm: batch}",
			"train.batch=10", "train.from=" + test.path}})
		if err == nil {
			_, err = experiment.New(loaded.Config)
		}
		if said := told(err); !strings.Contains(said, test.want) || !strings.Contains(said, test.take) {
			t.Errorf("train.from %s: %s, want %q and %q", file, said, test.want, test.take)
		}
	}
	out := filepath.Join(dir, "mean.safetensors")
	for path, want := range map[string]string{
		filepath.Join(later, "state.safetensors"): "it holds the state of a worker, not a model",
		sim: "it holds the state of a simulation", script: "it holds the state of a script",
		whole: "it holds no tensor of floats, not a model", filepath.Dir(later): "is a folder: take " + later,
	} {
		_, err := AverageFiles([]string{path, path}, out, nil)
		if said := told(err); !strings.Contains(said, want) || !strings.Contains(said, path) {
			t.Errorf("average %s: %s, want %q and the file", path, said, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("average %s: there is a file all the same", path)
		}
	}
}

// told returns an error with its hint.
func told(err error) string {
	if err == nil {
		return "no error"
	}
	if e, ok := errors.AsType[*configs.Error](err); ok {
		return e.Problems[0].Message + "; " + e.Problems[0].Hint
	}
	said := err.Error()
	if h, ok := err.(interface{ Hint() string }); ok {
		said += "; " + h.Hint()
	}
	return said
}

func TestAverages(t *testing.T) {
	a, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}")
	b, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "seed=2")
	c, _ := saved(t, asIs, "model={name: mlp, hidden: [4]}")
	out := filepath.Join(t.TempDir(), "mean.safetensors")
	done, err := AverageFiles([]string{a, b}, out, nil)
	if err != nil || done.Tensors != 4 || done.Elements != 3*784+3+30+10 {
		t.Fatalf("%+v, error %v", done, err)
	}
	var text strings.Builder
	if err := done.Write(&text); err != nil || !strings.Contains(text.String(), "the mean of 2 files, 4 tensors") {
		t.Errorf("%q, error %v", text.String(), err)
	}
	if score, err := Evaluate(Request{Model: out}, unseen); err != nil || score.Samples != 2000 {
		t.Errorf("%+v, error %v", score, err)
	}
	_, err = AverageFiles([]string{a, c}, out, nil)
	if file, ok := errors.AsType[*FileError](err); !ok || !strings.Contains(err.Error(), a+" has: ") || file.Hint() == "" {
		t.Errorf("files of two models: error %v", err)
	}
	for _, files := range [][]string{{a, "none"}, {a}} {
		if _, err := AverageFiles(files, "", unseen); err == nil {
			t.Errorf("%v: no file to write is accepted", files)
		}
	}
	if _, err := AverageFiles([]string{a, "none"}, out, unseen); !errors.As(err, new(*advice.UsageError)) {
		t.Errorf("a missing file: error %v", err)
	}
}
