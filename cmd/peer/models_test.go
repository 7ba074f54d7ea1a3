//go:build !race

// PyTorch alone takes longer under the race detector than all other tests.

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/models"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// modules is the program of docs/models.md, which scores a model with PyTorch.
const modules = "../../docs/models.py"

// A torchScore is what the program prints, or peer evaluate --json.
type torchScore struct{ Loss, Accuracy float64 }

// scoreOf runs a program that prints a score.
func scoreOf(t *testing.T, program string, args ...string) torchScore {
	t.Helper()
	return scoresOf(t, 1, program, args...)[0]
}

// scoresOf runs a program that prints n scores.
func scoresOf(t *testing.T, n int, program string, args ...string) []torchScore {
	t.Helper()
	if _, err := os.Stat(modules); err != nil { // which also tells the test cache that the file counts
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	scores := make([]torchScore, n)
	for out, i := json.NewDecoder(bytes.NewReader(text)), 0; err == nil && i < n; i++ {
		err = out.Decode(&scores[i])
	}
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", program, args, err, text, complaint.String())
	}
	return scores
}

// manyModels runs the program for each model of its arguments after the data, in one process: PyTorch takes seconds to
// start.
const manyModels = `
import runpy, sys
_, program, data, *models = sys.argv
for path in models:
    sys.argv = [program, path, data]
    runpy.run_path(program, run_name="__main__")
`

// torchScores returns the scores of models in files on data that the program reads.
func torchScores(t *testing.T, python, data string, files ...string) []torchScore {
	t.Helper()
	return scoresOf(t, len(files), python, append([]string{"-c", manyModels, modules, data}, files...)...)
}

// agree compares scores: one sample may be on the other side, where two logits are nearly equal.
func agree(t *testing.T, got, want torchScore, samples int) {
	t.Helper()
	if math.Abs(got.Accuracy-want.Accuracy) > 1.001/float64(samples) || math.Abs(got.Loss-want.Loss) > 1e-4*want.Loss {
		t.Errorf("PyTorch has %+v, the product %+v", got, want)
	}
}

func TestPyTorchScoresModelsAsTheProductDoes(t *testing.T) {
	t.Parallel()
	python := torchPython(t)
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	const samples = 2000
	var all, names []string
	var want []torchScore
	for _, settings := range [][]string{
		{"model={name: logistic}", "train.rounds=60"},
		{"model={name: mlp, hidden: [40, 30]}", "train.rounds=60"},
		{"model={name: lenet}", "train.rounds=40"},
		{"model={name: resnet, depth: 8, norm: group}", "train.rounds=80", "train.batch=16"},
		{"model={name: resnet, depth: 8, norm: batch}", "train.rounds=40", "train.batch=16"},
	} {
		dir := t.TempDir()
		args := []string{"sim", "--quiet", "--compute=1ms", "--set=output.dir=" + dir,
			"--set=topology={kind: complete, size: 2}", "--set=output.evaluate_samples=32"} // peer evaluate takes all
		for _, s := range settings {
			args = append(args, "--set="+s)
		}
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", settings, err, out)
		}
		saved := []string{"model.safetensors"}
		if strings.Contains(settings[0], "norm: batch") { // peers differ in more than their parameters
			saved = append(saved, "peer-1.safetensors")
		}
		for _, file := range saved {
			files, err := filepath.Glob(filepath.Join(dir, "*", file))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v: %s: %v, %v", settings, file, files, err)
			}
			score := scoreOf(t, program, "evaluate", files[0], "--json")
			if score.Accuracy < 0.15 {
				t.Errorf("%v: %s: an accuracy of %v compares nothing", settings, file, score.Accuracy)
			}
			all, names, want = append(all, files[0]), append(names, settings[0]+" "+file), append(want, score)
		}
	}
	for i, got := range torchScores(t, python, glyphImages(t), all...) {
		t.Run(names[i], func(t *testing.T) { agree(t, got, want[i], samples) })
	}
}

// The program scores a standardised model of a table as the product does, whatever the order of the columns.
func TestPyTorchScoresAStandardisedTableAsTheProductDoes(t *testing.T) {
	t.Parallel()
	python, dir := torchPython(t), t.TempDir()
	write := func(name, head string, from, to int, row func(kind string, weight, noise float64) string) string {
		text := head + "\n"
		for i := from; i < to; i++ {
			random, kind := rng.At(rng.Stream(7, 0), i), i%3
			text += row([]string{"cat", "cow", "dog"}[kind], 1000*float64(random.Uniform(0))+300*float64(kind),
				float64(random.Uniform(1))/50) + "\n"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := write("train.csv", "weight,noise,kind", 0, 300, func(kind string, weight, noise float64) string {
		return fmt.Sprintf("%g,%g,%s", weight, noise, kind)
	})
	turned := write("turned.csv", "kind,noise,weight", 300, 500, func(kind string, weight, noise float64) string {
		return fmt.Sprintf("%s,%g,%g", kind, noise, weight)
	})
	run := runWith(t, "topology={kind: complete, size: 2}", "train.rounds=100",
		"data={name: file, path: "+rows+", standardise: true}")
	w, err := build.New(run, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, x := filepath.Join(dir, "model.safetensors"), w.Machine.Params()
	for i := range x {
		x[i] *= 4 // a start like this one tells the classes apart
	}
	if err := train.Write(path, run.Files().Saved(x, nil)); err != nil {
		t.Fatal(err)
	}
	whole := models.Request{Model: path, Data: rows, Set: []string{"data.test=" + turned}}
	want, err := models.Evaluate(whole, func(done, all int64) {})
	if err != nil {
		t.Fatal(err)
	}
	got := scoreOf(t, python, modules, path, turned)
	agree(t, got, torchScore{*want.Loss, *want.Accuracy}, 200)
}

// runWith returns the run of settings.
func runWith(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// glyphImages writes the test split of the built-in data in the format of MNIST.
func glyphImages(t *testing.T) string {
	t.Helper()
	_, test, err := data.Load("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	norm, err := data.Lookup("glyphs")
	if err != nil {
		t.Fatal(err)
	}
	var images, labels bytes.Buffer
	images.Write(make([]byte, 16)) // the program skips the header
	labels.Write(make([]byte, 8))
	x := make([]float32, test.Shape.Features())
	for i := range test.Len() {
		test.Sample(x, i)
		for _, v := range x {
			images.WriteByte(byte(math.Round((float64(v)*norm.Norm.Std[0] + norm.Norm.Mean[0]) * norm.Norm.Scale)))
		}
		labels.WriteByte(byte(test.Label(i)))
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"images-idx3": images.Bytes(), "labels-idx1": labels.Bytes()} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(content)
		if err := cmp.Or(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "t10k-"+name+"-ubyte.gz"), packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// No built-in data have images large enough for VGG, so it scores random images.
func TestPyTorchScoresVGGAsTheProductDoes(t *testing.T) {
	t.Parallel()
	python, dir := torchPython(t), t.TempDir()
	all := []configs.Model{{Name: "vgg16", Norm: "batch"}, {Name: "vgg11"}}
	var files []string
	var want []torchScore
	for _, m := range all {
		file, score := scoreVGG(t, dir, m)
		files, want = append(files, file), append(want, score)
	}
	for i, got := range torchScores(t, python, dir, files...) {
		t.Run(all[i].Name, func(t *testing.T) { agree(t, got, want[i], vggSamples) })
	}
}

const vggSamples = 10

// scoreVGG writes a model and the images into a folder, and returns the model's file and score.
func scoreVGG(t *testing.T, dir string, m configs.Model) (path string, _ torchScore) {
	t.Helper()
	set := []string{"model.name=" + m.Name, "data.name=cifar-10"}
	if m.Norm != "" {
		set = append(set, "model.norm="+m.Norm)
	}
	run := runWith(t, set...)
	const samples, features = vggSamples, 3 * 32 * 32
	f, err := model.New(model.Spec{Name: m.Name, Norm: m.Norm, Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10,
		Batch: samples})
	if err != nil {
		t.Fatal(err)
	}
	info, err := data.Lookup("cifar-10")
	if err != nil {
		t.Fatal(err)
	}
	batch, rows := sample.Batch{X: make([]float32, samples*features), Y: make([]int32, samples)}, []byte{}
	random := rng.At(rng.Stream(1, 0), 0)
	for i := range samples {
		batch.Y[i] = int32(i % 10)
		row := make([]byte, 1+features)
		row[0] = byte(i % 10)
		for p := range features / 3 {
			for c := range 3 {
				v := byte(256 * random.Uniform(uint32(i*features+3*p+c)))
				row[1+c*features/3+p] = v
				batch.X[i*features+3*p+c] = float32((float64(v)/255 - info.Norm.Mean[c]) / info.Norm.Std[c])
			}
		}
		rows = append(rows, row...)
	}
	x, g := make([]float32, f.Dim()), make([]float32, f.Dim())
	f.Init(x, 1)
	for range 2 { // which move the running statistics
		f.Gradient(g, x, batch)
	}
	path = filepath.Join(dir, m.Name+".safetensors")
	var statistics []float32
	if carrier, ok := f.(model.Carrier); ok {
		statistics = carrier.Statistics()
	}
	if err := train.Write(path, run.Files().Saved(x, statistics)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test_batch.bin"), rows, 0o666); err != nil {
		t.Fatal(err)
	}
	score := f.Evaluate(x, batch)
	return path, torchScore{score.Loss, score.Accuracy}
}
