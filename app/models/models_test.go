package models

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

func unseen(done, all int64) {}

// begun returns a run and its first worker, before round 0.
func begun(t *testing.T, set ...string) (*experiment.Run, *build.Worker) {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := build.New(run, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run, w
}

// saved writes the start of a run as a model file, with what change makes of it, and returns the path and the run.
func saved(t *testing.T, change func(s *train.Saved), set ...string) (string, *experiment.Run) {
	t.Helper()
	run, w := begun(t, set...)
	s := run.Files().Saved(w.Machine.Params(), w.Model().Statistics)
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
		w, err := build.New(run, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := run.Scorer().Score(w.Machine.Params(), w.Model().Statistics, nil)
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
	few := filepath.Join(t.TempDir(), "few.csv")
	if err := os.WriteFile(few, []byte("a,label\n1,x\n2,x\n7,x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		r    Request
		rows int
		said string
	}{
		{Request{Data: table}, 100, "t.csv, all 100 rows"}, // a file that is named for an evaluation means all rows
		{Request{Data: few}, 3, "few.csv, all 3 rows"},
		{Request{Data: table, Set: []string{"data.test_share=0.1"}}, 10, "file, 10 samples of the test split"},
		{Request{Data: table, Set: []string{"data.test=" + few}}, 3, "file, 3 samples of the test split"},
		{Request{Set: []string{"data.path=" + table}}, 30, "file, 30 samples of the test split"},
	} {
		test.r.Model = path
		got, err := Evaluate(test.r, unseen)
		var out strings.Builder
		if err == nil {
			err = got.Write(&out)
		}
		if err != nil || got.Samples != test.rows || got.Data != "file" || !strings.Contains(out.String(), test.said) {
			t.Errorf("%+v: %+v, %s, error %v", test.r, got, out.String(), err)
		}
	}
	if _, err := Evaluate(Request{Model: path}, unseen); !errors.As(err, new(*advice.UsageError)) ||
		!strings.Contains(err.Error(), "no path of its data") {
		t.Errorf("without a path: error %v", err)
	}
	run := fmt.Sprintf("name: own\nmodel: {name: logistic}\ntrain: {batch: 4}\ntopology: {size: 2}\n"+
		"data: {name: file, path: %q, test_share: 0.3}\n", table)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "run.yaml"), []byte(run), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := Evaluate(Request{Model: path}, unseen); err != nil || got.Samples != 30 {
		t.Errorf("with the run file beside it: %+v, error %v", got, err)
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

// forward returns the probabilities of an mlp for a sample, in double precision.
func forward(t *testing.T, s train.Saved, x []float64) []float64 {
	t.Helper()
	tensor := func(name string) []float32 {
		at := slices.IndexFunc(s.Layout, func(p model.Param) bool { return p.Name == name })
		return s.X[s.Layout[at].Off:][:s.Layout[at].Len()]
	}
	for layer := 1; layer <= 2; layer++ {
		w, b := tensor(fmt.Sprintf("dense%d.weight", layer)), tensor(fmt.Sprintf("dense%d.bias", layer))
		y := make([]float64, len(b))
		for o := range y {
			y[o] = float64(b[o])
			for i, v := range x {
				y[o] += v * float64(w[o*len(x)+i])
			}
			if layer == 1 {
				y[o] = max(0, y[o])
			}
		}
		x = y
	}
	sum := 0.
	for c := range x {
		x[c] = math.Exp(x[c])
		sum += x[c]
	}
	for c := range x {
		x[c] /= sum
	}
	return x
}

// Every form of the same samples gets the classes and probabilities that a calculation by hand gives.
func TestPredictions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	rows := [][2]float64{{0.5, 900}, {-1.25, 300}, {4, 512.5}, {0, 0}}
	forms := map[string]*strings.Builder{}
	for name, head := range map[string]string{
		"names.csv": "b,a\n", "label.csv": "a,kind,b\n", "blank.csv": "a,b,kind\n", "rows.csv": "", "s.libsvm": "",
		"a.npy": "\x93NUMPY\x01\x00\x46\x00" + fmt.Sprintf("%-69s\n",
			"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2)}"),
	} {
		forms[name] = &strings.Builder{}
		forms[name].WriteString(head)
	}
	for _, r := range rows {
		fmt.Fprintf(forms["names.csv"], "%v,%v\n", r[1], r[0])
		fmt.Fprintf(forms["label.csv"], "%v,fox,%v\n", r[0], r[1])
		fmt.Fprintf(forms["blank.csv"], "%v,%v,\n", r[0], r[1])
		fmt.Fprintf(forms["rows.csv"], "%v,%v\n", r[0], r[1])
		fmt.Fprintf(forms["s.libsvm"], "0 1:%v 2:%v\n", r[0], r[1])
		_ = binary.Write(forms["a.npy"], binary.LittleEndian, r)
	}
	table := write("train.csv", "a,b,kind\n"+strings.Repeat("1,200,ant\n2,410,bee\n3,640,cat\n", 40))
	sparse := write("train.libsvm", strings.Repeat("3 1:1 2:200\n5 1:2 2:410\n8 2:640\n", 40))
	set := []string{"model={name: mlp, hidden: [5]}", "train.batch=3", "data={name: file, standardise: true}"}
	byTable, _ := saved(t, asIs, append(set, "data.path="+table, "data.label=kind")...)
	bySparse, _ := saved(t, asIs, append(set, "data.path="+sparse)...)
	for name, text := range forms {
		path, classes := byTable, "ant,bee,cat"
		if name == "s.libsvm" {
			path, classes = bySparse, "3,5,8"
		}
		file, err := train.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		var in struct{ Mean, Std []float64 }
		if err := json.Unmarshal([]byte(file.Metadata["input"]), &in); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		done, err := Predict(PredictRequest{Model: path, File: write(name, text.String()), All: true})
		if err == nil {
			err = done.Write(&out)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := done.Of; len(got) != len(rows) || got[0].Row != 1 || got[0].All[got[0].Class] != got[0].Probability {
			t.Errorf("%s: as JSON %+v", name, got)
		}
		got, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(got) != 1+len(rows) || strings.Join(got[0], ",") != "row,class,probability,"+classes {
			t.Errorf("%s: %v, error %v", name, got, err)
			continue
		}
		for i, r := range rows {
			p := forward(t, file, []float64{(r[0] - in.Mean[0]) / in.Std[0], (r[1] - in.Mean[1]) / in.Std[1]})
			best := slices.Index(p, slices.Max(p))
			if line := got[1+i]; line[0] != fmt.Sprint(i+1) || line[1] != got[0][3+best] || line[2] != line[3+best] {
				t.Errorf("%s: row %v, want class %s", name, line, got[0][3+best])
			}
			for c, want := range p {
				if v, err := strconv.ParseFloat(got[1+i][3+c], 64); err != nil || math.Abs(v-want) > 1e-5 {
					t.Errorf("%s: row %d: class %d has %v, want %v", name, i+1, c, v, want)
				}
			}
		}
	}
}

// The classes of stored pictures have the accuracy that an evaluation finds.
func TestPredictionsOfPictures(t *testing.T) {
	_, test, err := data.Load("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	info, err := data.Lookup("glyphs")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Appendf([]byte("\x93NUMPY\x01\x00\x46\x00"), "%-69s\n",
		fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 28, 28)}", test.Len()))
	x := make([]float32, test.Shape.Features())
	for i := range test.Len() {
		test.Sample(x, i)
		for _, v := range x {
			text = append(text, byte(math.Round((float64(v)*info.Norm.Std[0]+info.Norm.Mean[0])*info.Norm.Scale)))
		}
	}
	dir := t.TempDir()
	pictures, out := filepath.Join(dir, "x.npy"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(pictures, text, 0o666); err != nil {
		t.Fatal(err)
	}
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}")
	want, err := Evaluate(Request{Model: path}, unseen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Predict(PredictRequest{Model: path, File: pictures, Out: out}); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines, right := strings.Split(strings.TrimSpace(string(file)), "\n"), 0
	for i, line := range lines[1:] {
		if strings.HasPrefix(line, fmt.Sprintf("%d,%s,", i+1, test.Classes[test.Label(i)])) {
			right++
		}
	}
	if got := float64(right) / float64(test.Len()); len(lines) != 1+test.Len() || math.Abs(got-*want.Accuracy) > 1e-9 {
		t.Errorf("%d lines, accuracy %v, want %v", len(lines), got, *want.Accuracy)
	}
}

// One picture and a folder without classes have predictions, which name the files.
func TestPredictionsNameThePictures(t *testing.T) {
	dir := t.TempDir()
	draw := func(name string, grey uint8) {
		t.Helper()
		picture := image.NewGray(image.Rect(0, 0, 4, 4))
		for i := range picture.Pix {
			picture.Pix[i] = grey + uint8(i)
		}
		path := filepath.Join(dir, name)
		var file bytes.Buffer
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), png.Encode(&file, picture),
			os.WriteFile(path, file.Bytes(), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		draw(fmt.Sprintf("train/day/%d.png", i), 200+uint8(i))
		draw(fmt.Sprintf("train/night/%d.png", i), uint8(i))
	}
	draw("new/b.png", 10)
	draw("new/a.png", 210)
	path, _ := saved(t, asIs, "model={name: logistic}", "train.batch=1",
		"data={name: file, path: "+filepath.Join(dir, "train")+"}")
	for file, want := range map[string]string{
		"new": "a.png b.png", "new/a.png": "a.png",
		"train": "day/0.png day/1.png day/2.png day/3.png day/4.png day/5.png day/6.png day/7.png " +
			"night/0.png night/1.png night/2.png night/3.png night/4.png night/5.png night/6.png night/7.png",
	} {
		done, err := Predict(PredictRequest{Model: path, File: filepath.Join(dir, file)})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var names []string
		for i, one := range done.Of {
			names = append(names, one.File)
			line := fmt.Sprintf("\n%d,%s,%.6f,%s\n", i+1, one.Class, one.Probability, one.File)
			if !strings.Contains(string(done.text), line) {
				t.Errorf("%s: no line %q in %s", file, line, done.text)
			}
		}
		if got := strings.Join(names, " "); got != want || !strings.HasPrefix(string(done.text),
			"row,class,probability,file\n") {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	_, err := Predict(PredictRequest{Model: path, File: filepath.Join(dir, "none.png")})
	if said := told(err); !strings.Contains(said, "none.png: not found") {
		t.Error(said)
	}
}

func TestPredictionsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	table := write("train.csv", "a,b,kind\n"+strings.Repeat("1,200,ant\n2,410,bee\n", 40))
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [5]}", "train.batch=3", "data={name: file, path: "+table+"}")
	none, _ := saved(t, bare, "model={name: mlp, hidden: [5]}")
	kept, _ := keptState(t, filepath.Join(dir, "run"), 4, "model={name: mlp, hidden: [3]}")
	scripted, _ := saved(t, func(s *train.Saved) { s.Metadata = map[string]string{"model": `{"name":"external"}`} },
		"model={name: mlp, hidden: [3]}")
	for _, test := range []struct{ model, file, want string }{
		{path, write("c.csv", "a,c\n1,2\n3,4\n"), "c.csv: line 1: there is no column b among a, c, and the model was " +
			"trained with it"},
		{path, write("wide.csv", "1,2,3,4\n5,6,7,8\n"), "wide.csv: samples of 3 values (CSV with commas and no header), " +
			"but the model takes 2"},
		{path, write("gap.csv", "a,b\n1,2\n3,\n"), "gap.csv: row 2 (line 3), column 2 (b): the value is missing"},
		{path, filepath.Join(dir, "lost.csv"), "lost.csv: not found"},
		{none, table, "its metadata do not say which samples it takes; take model.safetensors or peer-<rank>.safetensors"},
		{kept, table, "its metadata do not say which samples it takes"},
		{scripted, table, "is a model of your own script"},
		{filepath.Join(dir, "run"), table, "run is a folder: take a model file in it"},
	} {
		_, err := Predict(PredictRequest{Model: test.model, File: test.file})
		if said := told(err); !strings.Contains(said, test.want) {
			t.Errorf("%s, %s: %s, want %q", test.model, test.file, said, test.want)
		}
	}
}

// keptState writes the checkpoint of a worker into the run folder dir, and returns the folder of the checkpoint.
func keptState(t *testing.T, dir string, round int, set ...string) (string, *experiment.Run) {
	t.Helper()
	run, w := begun(t, set...)
	s := new(state.Snapshot)
	if round > 0 {
		w.Save(s)
	}
	rank := filepath.Join(dir, "checkpoints", "rank-0")
	if err := checkpoint.Write(rank, checkpoint.Manifest{Run: "r", Round: round}, s, 3); err != nil {
		t.Fatal(err)
	}
	cfg := run.Config()
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), cfg.Portable(), 0o666); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(rank, fmt.Sprintf("round-%08d", round)), run
}

// Checkpoints give the parameters of their worker, to an evaluation and to a start.
func TestCheckpointsAreModels(t *testing.T) {
	dir := t.TempDir()
	folder, run := keptState(t, dir, 4, "model={name: mlp, hidden: [3]}")
	w, err := build.New(run, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := run.Scorer().Score(w.Machine.Params(), nil, nil)
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
		begun, err := build.New(from, 1, nil)
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
