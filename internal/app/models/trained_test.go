package models

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/internal/train"
)

// flowers writes a table with columns in an order, and with a name of class 0.
func flowers(t *testing.T, names []string, class, head string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(head)
	for i := range 60 {
		for k, name := range names {
			cell := map[string]string{"a": fmt.Sprint(i%7, ".5"), "b": fmt.Sprint(100 * (i % 5)),
				"kind": map[bool]string{true: class, false: "y"}[i%2 == 0]}[name]
			if k > 0 {
				text.WriteString(",")
			}
			text.WriteString(strings.ReplaceAll(cell, " ", ""))
		}
		text.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestColumnsAndClassesAreMatchedByName(t *testing.T) {
	table := flowers(t, []string{"a", "b", "kind"}, "x", "a,b,kind\n")
	path, _ := saved(t, asIs, "model={name: logistic}", "train.batch=4",
		"data={name: file, path: "+table+", standardise: true}")
	evaluate := func(file string) (Score, error) {
		return Evaluate(Request{Model: path, Data: file, Set: []string{"train.batch=4"}}, unseen)
	}
	want, err := evaluate(table)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"another order":   flowers(t, []string{"b", "kind", "a"}, "x", "b,kind,a\n"),
		"a column beyond": flowers(t, []string{"a", "b", "b", "kind"}, "x", "a,b,c,kind\n"),
	} {
		if got, err := evaluate(file); err != nil || *got.Loss != *want.Loss {
			t.Errorf("%s: %+v, want the loss %v, error %v", name, got, *want.Loss, err)
		}
	}
	order := []string{"a", "b", "kind"}
	for want, file := range map[string]string{
		"columns of the model are missing: b; the file has a, c, kind": flowers(t, order, "x", "a,c,kind\n"),
		`not trained on the classes of these rows: "z" (30 rows); it`:  flowers(t, order, "z", "a,b,kind\n"),
		"knows its columns by name (a, b), and the file has no names":  flowers(t, order, "x", ""),
	} {
		if _, err := evaluate(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestModelsOfOtherSamplesAreNotAveraged(t *testing.T) {
	of := func(class, head string, columns ...string) string {
		table := flowers(t, columns, class, head)
		path, _ := saved(t, asIs, "model={name: logistic}", "train.batch=4",
			"data={name: file, path: "+table+", label: kind}")
		return path
	}
	first := of("x", "a,b,kind\n", "a", "b", "kind")
	out := filepath.Join(t.TempDir(), "mean")
	for want, other := range map[string]string{
		"other columns": of("x", "b,a,kind\n", "b", "a", "kind"),
		"other classes": of("w", "a,b,kind\n", "a", "b", "kind"),
	} {
		if _, err := AverageFiles([]string{first, other}, out, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := AverageFiles([]string{first, of("x", "a,b,kind\n", "a", "b", "kind")}, out, nil); err != nil {
		t.Error(err)
	}
}

// The mean and the deviation are those of the training, not those of the file that is evaluated.
func TestAFileIsNotStandardisedByItsOwnNumbers(t *testing.T) {
	table := flowers(t, []string{"a", "b", "kind"}, "x", "a,b,kind\n")
	set := []string{"model={name: logistic}", "train.batch=4", "data={name: file, path: " + table + ", standardise: true}"}
	for name, change := range map[string]func(s *train.Saved){
		"another program": bare,
		"earlier version": func(s *train.Saved) {
			s.Metadata["input"] = `{"shape":[2,1,1],"classes":["x","y"]}`
		},
	} {
		path, _ := saved(t, change, set...)
		_, err := Evaluate(Request{Model: path, Data: table, Set: []string{"train.batch=4", "data.standardise=true",
			"model.name=logistic"}}, unseen)
		if err == nil || !strings.Contains(err.Error(), "the model file has no mean and deviation") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
