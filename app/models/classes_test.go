package models

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScoresHaveTheirClasses(t *testing.T) {
	table := flowers(t, "a,b,kind\n", "x", 0, "a", "b", "kind")
	path, _ := saved(t, asIs, "model={name: mlp, hidden: [3]}", "train.batch=4", standard+table+"}")
	picture := filepath.Join(t.TempDir(), "classes.svg")
	got, err := Evaluate(Request{Model: path, Data: table, Set: []string{"train.batch=4"}, Picture: picture}, unseen)
	if err != nil {
		t.Fatal(err)
	}
	rows, right := 0, 0
	for _, c := range got.Classes {
		rows += c.Rows
		right += c.Taken[c.Class]
	}
	if len(got.Classes) != 2 || rows != got.Samples || *got.Accuracy != float64(right)/float64(rows) {
		t.Errorf("%+v: want two classes, and the accuracy %v of all rows", got.Classes, *got.Accuracy)
	}
	if drawn, err := os.ReadFile(picture); err != nil || !strings.Contains(string(drawn), "<svg") {
		t.Errorf("no picture: %v", err)
	}
	_, err = Evaluate(Request{Model: path, Data: table, Set: []string{"train.batch=4"}, Picture: "classes.gif"}, unseen)
	if err == nil || !strings.Contains(err.Error(), "--output classes.gif") {
		t.Errorf("a picture of no known format: error %v", err)
	}
}

func TestTheTableShowsWhatIsConfused(t *testing.T) {
	var b strings.Builder
	counts := [][]int{{7, 2, 1}, {0, 4, 0}, {0, 0, 0}}
	if err := writeClasses(&b, classScores([]string{"cat", "dog", "owl"}, counts)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cat      10    0.7000  dog (2)\n", "dog       4    1.0000\n",
		"owl       0         -\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	many := make([][]int, 30)
	names := make([]string, 30)
	for i := range many {
		many[i] = make([]int, 30)
		many[i][i], many[i][0] = i, 1
		names[i] = string(rune('A' + i))
	}
	b.Reset()
	if err := writeClasses(&b, classScores(names, many)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.HasPrefix(got, "the 20 least accurate of 30 classes:") || strings.Count(got, "\n") != 22 {
		t.Errorf("want the 20 least accurate:\n%s", got)
	}
}
