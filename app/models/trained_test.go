package models

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
)

// flowers writes a table with columns in an order, beneath a head, and with a name of class 0. Values of other tables
// are far from those of the first one.
func flowers(t *testing.T, head, class string, far float64, order ...string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(head)
	for i := range 60 {
		cells := map[string]string{"a": fmt.Sprint(float64(i%7) + far), "b": fmt.Sprint(100 * float64(i%5) * (1 + far)),
			"kind": class}
		if i%2 == 1 {
			cells["kind"] = "y"
		}
		row := make([]string, len(order))
		for k, name := range order {
			row[k] = cells[name]
		}
		text.WriteString(strings.Join(row, ",") + "\n")
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const standard = "data={name: file, standardise: true, path: "

// evaluated returns the loss on the test rows of a file.
func evaluated(model, file string, set ...string) (Score, error) {
	return Evaluate(Request{Model: model, Data: file, Set: append(set, "train.batch=4")}, unseen)
}

func TestColumnsAndClassesAreMatchedByName(t *testing.T) {
	table := flowers(t, "a,b,kind\n", "x", 0, "a", "b", "kind")
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4", standard+table+"}")
	want, err := evaluated(path, table)
	if err != nil || len(want.Notes) > 0 {
		t.Fatal(want, err)
	}
	for name, file := range map[string]string{
		"another order":   flowers(t, "b,kind,a\n", "x", 0, "b", "kind", "a"),
		"a column beyond": flowers(t, "a,b,c,kind\n", "x", 0, "a", "b", "b", "kind"),
	} {
		if got, err := evaluated(path, file); err != nil || *got.Loss != *want.Loss || len(got.Notes) > 0 {
			t.Errorf("%s: %+v, want the loss %v, error %v", name, got, *want.Loss, err)
		}
	}
	bare := flowers(t, "", "x", 0, "a", "b", "kind")
	if got, err := evaluated(path, bare); err != nil || *got.Loss != *want.Loss || len(got.Notes) != 1 ||
		!strings.Contains(got.Notes[0], "the columns have no names: they are taken in the order of the training, a, b") {
		t.Errorf("no names: %+v, want the loss %v, error %v", got, *want.Loss, err)
	}
	for want, file := range map[string]string{
		"there is no column b among a, c, kind, and the model": flowers(t, "a,c,kind\n", "x", 0, "a", "b", "kind"),
		`the classes of these rows: "z" (30 rows); its classes are x, y`: flowers(t, "a,b,kind\n", "z", 0, "a", "b",
			"kind"),
		"no column has the labels: name it with data.label":                          flowers(t, "a,b\n", "x", 0, "a", "b"),
		"samples of 1 values (CSV with commas and no header), but the model takes 2": flowers(t, "", "x", 0, "a", "kind"),
	} {
		_, evaluation := evaluated(path, file)
		loaded, err := configs.Load(configs.Source{Set: []string{"model={name: mlp, hidden: [3]}", "train.batch=4",
			"topology={kind: complete, size: 2}", "train.from=" + path, standard + file + "}"}})
		if err != nil {
			t.Fatal(err)
		}
		_, start := experiment.New(loaded.Config)
		for _, err := range []error{evaluation, start} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
}

// A run that starts from a model takes its scaling, and says so where the run file asks for none.
func TestMeanAndDeviationAreThoseOfTheTraining(t *testing.T) {
	table := flowers(t, "a,b,kind\n", "x", 0, "a", "b", "kind")
	path, run := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4", standard+table+"}")
	far := flowers(t, "kind,b,a\n", "x", 1000, "kind", "b", "a")
	for _, standardise := range []bool{true, false} {
		from, _ := begun(t, "model={name: mlp, hidden: [3]}", "train.batch=4", "topology={kind: complete, size: 2}",
			"train.from="+path, fmt.Sprintf("data={name: file, standardise: %v, path: %s}", standardise, far))
		if what := from.Data().Trained().Differs(run.Data().Trained()); what != "" {
			t.Errorf("other %s", what)
		}
		said := slices.ContainsFunc(from.Warnings(), func(w string) bool {
			return strings.Contains(w, "scaled with the mean and deviation of the model")
		})
		if said == standardise {
			t.Errorf("data.standardise %v: warnings %q", standardise, from.Warnings())
		}
	}
	for name, change := range map[string]func(s *train.Saved){
		"another program": bare,
		"earlier version": func(s *train.Saved) {
			s.Metadata["input"] = `{"shape":[2,1,1],"classes":["x","y"]}`
		},
	} {
		path, _ := saved(t, change, "model={name: mlp, hidden: [3]}", "train.batch=4", standard+table+"}")
		_, err := evaluated(path, table, "data.standardise=true", "model={name: mlp, hidden: [3]}")
		if err == nil || !strings.Contains(err.Error(), "the model file has no mean and deviation") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	plain, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4", "data={name: file, path: "+table+"}")
	if _, err := evaluated(plain, table, "data.standardise=true"); err == nil ||
		!strings.Contains(err.Error(), "trained without data.standardise") {
		t.Errorf("a model of plain values: error %v", err)
	}
}

// A checkpoint has been trained on the data of its run, whatever file it is evaluated with.
func TestACheckpointKeepsTheScaleOfItsRun(t *testing.T) {
	table := flowers(t, "a,b,kind\n", "x", 0, "a", "b", "kind")
	dir := t.TempDir()
	kept, _ := keptState(t, dir, 4, "model={name: mlp, hidden: [3]}", "train.batch=4",
		"topology={kind: complete, size: 2}",
		standard+table+"}")
	path := filepath.Join(dir, "run.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "path: \"\"", "path: "+table)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	own, err := Evaluate(Request{Model: kept, Set: []string{"data.path=" + table}}, unseen)
	if err != nil {
		t.Fatal(err)
	}
	far, err := evaluated(kept, flowers(t, "kind,b,a\n", "x", 1000, "kind", "b", "a"))
	if err != nil || *far.Loss == *own.Loss {
		t.Errorf("values that are far have the loss %v of the others, error %v", far.Loss, err)
	}
}

// The indices of LIBSVM text mean the values that they meant in training.
func TestIndicesAreThoseOfTheTraining(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "t.libsvm")
		if err := os.WriteFile(path, []byte(strings.Repeat(text, 20)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4",
		"data={name: file, path: "+write("1 0:1 1:2 2:1\n2 0:3 2:5\n")+"}")
	predicted := func(file string) string {
		var out strings.Builder
		done, err := Predict(PredictRequest{Model: path, File: file, All: true})
		if err == nil {
			err = done.Write(&out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := predicted(write("1 1:2 2:1\n")), predicted(write("1 0:0 1:2 2:1\n")); got != want {
		t.Errorf("without an index 0:\n%s, want\n%s", got, want)
	}
	if _, err := evaluated(path, write("1 1:2 3:1\n")); err == nil ||
		!strings.Contains(err.Error(), "index 3: the model takes 0..2") {
		t.Errorf("an index too large: error %v", err)
	}
}

func TestModelsOfOtherSamplesAreNotAveraged(t *testing.T) {
	of := func(class, head string, columns ...string) string {
		table := flowers(t, head, class, 0, columns...)
		path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4",
			"data={name: file, path: "+table+", label: -1}")
		return path
	}
	first := of("x", "a,b,kind\n", "a", "b", "kind")
	out := filepath.Join(t.TempDir(), "mean")
	for want, other := range map[string]string{
		"different columns": of("x", "b,a,kind\n", "b", "a", "kind"),
		"different classes": of("w", "a,b,kind\n", "a", "b", "kind"),
	} {
		_, err := AverageFiles([]string{first, other}, out, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// A machine without names of columns loses none of the others'.
	if _, err := AverageFiles([]string{of("x", "", "a", "b", "kind"), first}, out, nil); err != nil {
		t.Fatal(err)
	}
	file := flowers(t, "b,a\n", "x", 0, "b", "a")
	if done, err := Predict(PredictRequest{Model: out, File: file}); err != nil || done.Rows != 60 || done.Notes != nil {
		t.Errorf("the mean predicts %+v, error %v", done, err)
	}
}
