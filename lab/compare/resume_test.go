package compare

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/cost"
	"gossiptrainer/lab/study"
)

// only returns the comparison of m again, in the same folder, for some labels.
func only(t *testing.T, m *Matrix, labels ...string) *Matrix {
	t.Helper()
	o := m.Options
	o.Only, o.Process.Command = labels, "peer compare small --only "+strings.Join(labels, " ")
	again, err := New(m.file, o)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// A cell goes on from its checkpoint, and begins again if this program cannot read it.
func TestCellsGoOnFromCheckpoints(t *testing.T) {
	const ofAnotherVersion = `{"version":1}`
	for name, test := range map[string]struct {
		manifest string // "": as it was written
		want     bool
		says     string
	}{
		"readable": {"", true, ""},
		"of another version": {fmt.Sprintf(`{"sha256":"%x","checkpoint":%s}`, sha256.Sum256([]byte(ofAnotherVersion)),
			ofAnotherVersion), false, "a on n, seed 1, begins again: checkpoint"},
		"damaged": {"{}", false, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			m := smallMatrix(t, "exit 5\n")
			cells, results := m.cells[:1], []cells.Cell{{Results: 1}}
			begin := func() bool {
				resume, err := m.begin("sim", cells, results)
				if err != nil {
					t.Fatal(err)
				}
				return resume
			}
			if begin() {
				t.Fatal("an empty folder has a checkpoint")
			}
			loaded, err := m.load(cells[0])
			if err != nil {
				t.Fatal(err)
			}
			cfg := loaded.Config
			cfg.Output.Dir = m.folder(cells[0])
			folder := runfolder.SimFolder(cfg, filepath.Join(m.folder(cells[0]), cfg.Name+"-20260101-000000"))
			if err := checkpoint.Write(folder, checkpoint.Manifest{Round: 7}, new(state.Snapshot), 1); err != nil {
				t.Fatal(err)
			}
			if test.manifest != "" {
				files, err := filepath.Glob(filepath.Join(folder, "*", "*.json"))
				if err != nil || len(files) != 1 {
					t.Fatal(files, err)
				}
				if err := os.WriteFile(files[0], []byte(test.manifest), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got := begin(); got != test.want {
				t.Errorf("goes on: %v, want %v", got, test.want)
			}
			if said := m.Talk.(*strings.Builder).String(); !strings.Contains(said, test.says) {
				t.Errorf("said %q, want %q", said, test.says)
			}
			if _, err := os.Stat(folder); (err == nil) != test.want {
				t.Errorf("the folder of the checkpoint: %v", err)
			}
		})
	}
}

// A comparison that is run part by part has one report, and runs each cell once.
func TestPartsOfAComparisonHaveOneReport(t *testing.T) {
	first := smallMatrix(t, `echo run >>"${0%/*}/runs"; exit 5`+"\n")
	for _, part := range []struct {
		labels, want []string
	}{{[]string{"b"}, []string{"b"}}, {[]string{"a"}, []string{"a", "b"}}, {[]string{"b"}, []string{"a", "b"}}} {
		m := only(t, first, part.labels...)
		if err := m.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		written, err := cells.Read(m.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var ran []string
		for _, cell := range written.Cells {
			ran = append(ran, cell.Label)
		}
		if !slices.Equal(written.Labels, part.want) || !slices.Equal(ran, part.want) {
			t.Errorf("--only %s: labels %s, ran %s, want %s of both", part.labels, written.Labels, ran, part.want)
		}
		if part.want[0] == "a" && written.Command != "peer compare small --only b && peer compare small --only a" {
			t.Errorf("command %q, want that of each part once", written.Command)
		}
		if _, err := os.Stat(filepath.Join(m.Dir, cells.ReportFolder, runsFolder, "b.n.1.yaml")); err != nil {
			t.Error(err)
		}
	}
	runs, err := os.ReadFile(filepath.Join(filepath.Dir(first.Process.Program), "runs"))
	if err != nil || string(runs) != "run\nrun\n" {
		t.Errorf("%q, error %v, want one run of each cell", runs, err)
	}
}

func TestCellsWithOtherSettingsAreNoPart(t *testing.T) {
	first := smallMatrix(t, "exit 5\n")
	if err := only(t, first, "a").all(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Set = []string{"train.rounds=7"}
	if got := only(t, first, "b").result.Labels; !slices.Equal(got, []string{"b"}) {
		t.Errorf("labels %s, want b alone: a had other rounds", got)
	}
	first.Set = nil
	if got := only(t, first, "b").result.Labels; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("labels %s, want both again", got)
	}
}

// A value that was searched is no setting of a label whose file has another value now, or another grid.
func TestOldSearchesAreNoSettings(t *testing.T) {
	m := smallMatrix(t, "exit 5\n")
	m.before.Trials = []cells.Trial{{Label: "a", Settings: []string{"topology.slack=0.3"}, Chosen: true}}
	for _, c := range []struct {
		grid []string
		want bool
	}{{nil, false}, {[]string{"0.1", "0.5"}, false}, {[]string{"0.1", "0.3"}, true}} {
		cell := m.cells[0]
		if c.grid != nil {
			cell.Tune = []configs.Choice{{Key: "topology.slack", Values: c.grid}}
		}
		delete(m.tuned, "a")
		if _, err := m.finishedBefore(cell); err != nil {
			t.Fatal(err)
		}
		if got := m.tuned["a"] != nil; got != c.want {
			t.Errorf("grid %s: takes the old value %v, want %v", c.grid, got, c.want)
		}
	}
}

// Cells of another version stay in the report when other labels are made again.
func TestRemakingAPartKeepsTheOthers(t *testing.T) {
	first := smallMatrix(t, "exit 5\n")
	if err := only(t, first, "a").all(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(first.Dir, cells.CellsFolder, "a.n.1", cells.CellFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(text), `"results_version": `, `"results_version": 1`, 1)
	if err := os.WriteFile(file, []byte(old), 0o666); err != nil || old == string(text) {
		t.Fatal(err, old)
	}
	first.Remake = true
	m := only(t, first, "b")
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != old {
		t.Errorf("%s, error %v, want the cell as it was", text, err)
	}
	said := m.Talk.(*strings.Builder).String()
	if len(m.result.Cells) != 2 || !strings.Contains(said, "a on n, seed 1, was") {
		t.Errorf("%d cells, want 2, and that one is of another version:\n%s", len(m.result.Cells), said)
	}
}

// Costs are measured once for each label, whichever labels a start runs.
func TestCostsOutliveStarts(t *testing.T) {
	m := smallMatrix(t, "exit 5\n")
	m.file.Compute = "measured"
	costs := map[string]string{"a": "gradient=1ms encode=10us mix=20us", "b": "gradient=2ms encode=30us mix=40us"}
	for label, text := range costs {
		compute, err := cost.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		costs[label] = compute.String()
	}
	m.result.Measured, m.result.Costs = true, costs
	if err := m.Save(); err != nil {
		t.Fatal(err)
	}
	m.Process.Links = func(context.Context) (cost.Costs, error) { return cost.Costs{}, errors.New("measured again") }
	hashes := map[string]string{}
	for _, labels := range [][]string{{"a", "b"}, {"b"}, {"a"}, {"b", "a"}} {
		m = only(t, m, labels...)
		if err := m.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Save(); err != nil {
			t.Fatal(err)
		}
		for _, cell := range m.cells {
			hash, err := m.hash("sim", cell)
			if known := hashes[cell.Label]; err != nil || known != "" && known != hash {
				t.Errorf("--only %s: %s has other settings, error %v", labels, cell.Label, err)
			}
			hashes[cell.Label] = hash
		}
	}
	if hashes["a"] == hashes["b"] {
		t.Error("both labels have the same settings")
	}
}

// A stopper stops a comparison as soon as it shows progress.
type stopper struct {
	silence
	stop func()
}

func (s stopper) Tell(string, time.Time) { s.stop() }

// A start that is stopped before it runs a cell leaves the report of the finished cells.
func TestAStopDuringPreparationLosesNoCell(t *testing.T) {
	first := smallMatrix(t, "exit 5\n")
	if err := only(t, first, "a").all(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := only(t, first, "a", "b")
	stopped, stop := context.WithCancel(t.Context())
	m.Progress = func() Progress { return stopper{stop: stop} }
	if err := m.Do(stopped, "peer compare small"); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that it was stopped", err)
	}
	if said := m.Talk.(*strings.Builder).String(); !strings.Contains(said, "1 of 2 cells is finished") {
		t.Errorf("no finished cell in\n%s", said)
	}
	found, _, err := study.WriteFiles(m.Dir)
	if err != nil || len(found.Cells) != 1 || len(found.Setups) != 1 {
		t.Errorf("%+v, error %v, want the report of one cell", found, err)
	}
}
