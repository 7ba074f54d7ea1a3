package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// classFile writes rows of one value with the given numbers of labels and returns its path.
func classFile(t *testing.T, dir, name string, rows map[string]int) string {
	t.Helper()
	text := "x,label\n"
	for label, n := range rows {
		for i := range n {
			text += fmt.Sprintf("%d.5,%s\n", i%5, label)
		}
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runOf assembles a run of two workers.
func runOf(t *testing.T, set ...string) (*experiment.Run, error) {
	t.Helper()
	base := []string{"model.name=logistic", "topology={kind: ring, size: 2}", "train.batch=2"}
	loaded, err := configs.Load(configs.Source{Set: append(base, set...)})
	if err != nil {
		t.Fatal(err)
	}
	return experiment.New(loaded.Config)
}

func TestClassesOfOneSplitAreNamed(t *testing.T) {
	dir := t.TempDir()
	train := classFile(t, dir, "train.csv", map[string]int{"a": 20, "b": 10})
	dotted := classFile(t, dir, "test.csv", map[string]int{"a": 4, "b.": 3})
	files := "data={name: file, path: " + train + ", test: " + dotted + "}"
	_, err := runOf(t, files)
	const want = `no row to train on has a class of these test rows: "b." (3 rows); rows to train on are of "a" (20 rows), ` +
		`"b" (10 rows)`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want %q", err, want)
	}
	run, err := runOf(t, files, "data.untrained_classes=allow")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(run.Warnings(), run.Notes()...), "\n")
	for _, want := range []string{
		`no row to train on has a class of these test rows: "b." (3 rows): they count as wrong`,
		`names differ only in case, blanks or a point at the end: "b" (10 rows), "b." (3 rows)`,
		`no test row has a class of these: "b" (10 rows)`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestClassesOfOneMachineAreNamed(t *testing.T) {
	dir := t.TempDir()
	classFile(t, dir, "0/d.csv", map[string]int{"setosa": 20, "virginica": 20})
	classFile(t, dir, "1/d.csv", map[string]int{"Setosa": 20, "virginica": 20})
	run, err := runOf(t, "data={name: file, path: '"+dir+"/{rank}/d.csv', partition: local}")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(append(run.Warnings(), run.Notes()...), "\n")
	for _, want := range []string{
		`one worker alone has rows of these classes: "Setosa" (worker 1, 20 rows), "setosa" (worker 0, 20 rows)`,
		`differ only in case, blanks or a point at the end: "Setosa" (20 rows), "setosa" (20 rows)`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

func TestClassesWithoutAWorkerAreNamed(t *testing.T) {
	run, err := runOf(t, "data={partition: labels, per_worker: 3}")
	if err != nil {
		t.Fatal(err)
	}
	const want = "no worker has rows of these classes, but test rows are of them: 6, 7, 8, 9: 2 workers with " +
		"data.per_worker: 3 leave them out"
	if said := strings.Join(run.Warnings(), "\n"); !strings.Contains(said, want) {
		t.Errorf("warnings %q, want %q", said, want)
	}
	run, err = runOf(t, "data={partition: labels, per_worker: 5}")
	if err != nil || len(run.Warnings()) > 0 {
		t.Errorf("warnings %q, error %v", run.Warnings(), err)
	}
}

// Different names that only look alike to a careless rule are no warning.
func TestClassesThatDifferAreNotAlike(t *testing.T) {
	train := classFile(t, t.TempDir(), "d.csv", map[string]int{"<=50K": 20, ">50K": 20, "+": 20, "-": 20})
	run, err := runOf(t, "data={name: file, path: "+train+"}")
	if err != nil || len(run.Warnings())+len(run.Notes()) > 0 {
		t.Errorf("warnings %q, notes %q, error %v", run.Warnings(), run.Notes(), err)
	}
}
