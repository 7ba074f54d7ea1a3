package models

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
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
