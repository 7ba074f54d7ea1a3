package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
)

// ownData writes a comparison on files of its own into a folder, and reads it.
func ownData(t *testing.T, dir string) *configs.Comparison {
	t.Helper()
	for name, text := range map[string]string{
		"data/train.csv": "x,y,kind\n1,2,a\n3,4,b\n", "data/test.csv": "x,y,kind\n1,2,a\n",
		"run.yaml": "name: own\ntopology: {kind: ring, size: 3}\nmodel: {name: logistic}\ndata: {name: file, path: " +
			filepath.Join(dir, "data/train.csv") + ", test: " + filepath.Join(dir, "data/test.csv") + "}\n",
		"own.yaml": "name: own\nbase: run.yaml\nmode: sim\nseeds: [1]\nalgorithms: [{label: a, name: dpsgd}]\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file, err := configs.LoadComparison(filepath.Join(dir, "own.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A study on own data names its files, and where they are from its report. A repetition finds them there or where
// --data says, and cells that are finished stay so.
func TestDataThatMoves(t *testing.T) {
	dir := t.TempDir()
	m, err := New(ownData(t, dir), Options{Dir: filepath.Join(dir, "own"), Talk: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := m.load(m.cells[0])
	if err != nil {
		t.Fatal(err)
	}
	find, err := seen("", filepath.Join(m.Dir, cells.ReportFolder), loaded.Config.Data)
	if err != nil || find != "--data ../../data" {
		t.Errorf("%q, %v, want the folder of the data, seen from the report", find, err)
	}
	base, err := configs.Load(configs.Source{File: m.file.Base})
	if err != nil {
		t.Fatal(err)
	}
	text, err := base.Shared()
	if err != nil || !strings.Contains(string(text), "path: train.csv") || strings.Contains(string(text), dir) {
		t.Errorf("%s, %v, want the names of the files without their folder", text, err)
	}
	before, err := m.hash("sim", m.cells[0])
	if err != nil {
		t.Fatal(err)
	}
	now := filepath.Join(dir, "elsewhere")
	if err := os.Rename(filepath.Join(dir, "data"), now); err != nil {
		t.Fatal(err)
	}
	m.Data = Places{now}
	if loaded, err = m.load(m.cells[0]); err != nil || loaded.Config.Data.Test != filepath.Join(now, "test.csv") {
		t.Errorf("%+v, %v, want the files in %s", loaded.Config.Data, err, now)
	}
	if after, err := m.hash("sim", m.cells[0]); err != nil || after != before {
		t.Errorf("the cell counts as changed where its data have moved: %v", err)
	}
	m.Data = Places{dir}
	if err := m.checkSet(); err == nil || !strings.Contains(err.Error(), "has no t") {
		t.Errorf("%v, want an error that names the file that is missing", err)
	}
}
