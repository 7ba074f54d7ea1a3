package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
)

// silentConsole is one whose words go to files.
func silentConsole(t *testing.T) *console {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "talk"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	c := newConsole()
	c.out, c.err = newOutput(file), newOutput(file)
	return c
}

// smallMatrix is one whose cells are run by a program that does what a script
// says.
func smallMatrix(t *testing.T, script string) *matrix {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	file := &configs.Comparison{
		Name: "small", Base: "ring8", Mode: "sim", Compute: time.Millisecond,
		Networks: []configs.NetworkCase{{Name: "n"}}, Algorithms: []configs.Variant{{Label: "a"}, {Label: "b"}}, Seeds: []uint64{1},
	}
	m, err := newMatrix(silentConsole(t), file, compareFlags{dir: filepath.Join(dir, "out")})
	if err != nil {
		t.Fatal(err)
	}
	m.program = program
	return m
}

func (m *matrix) all(ctx context.Context) error {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if err := m.runCells(ctx); err != nil {
		return err
	}
	return m.conclude()
}

func TestFailedCellsAreToldAndTriedAgain(t *testing.T) {
	m := smallMatrix(t, "echo 'peer: the disk is full' >&2\nexit 1\n")
	err := m.all(t.Context())
	var failed *cellsError
	if !errors.As(err, &failed) || failed.failed != 2 || exitCode(err) != exitCells || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error %v, exit %d, want that two cells failed and why", err, exitCode(err))
	}
	written, err := report.ReadComparison(m.dir)
	if err != nil || len(written.Cells) != 2 || written.Cells[1].Status != report.CellFailed || written.Cells[1].Exit != 1 {
		t.Fatalf("%+v, error %v, want two failed cells", written, err)
	}
	if done, err := m.finished("sim", m.cells[0]); done != nil || err != nil {
		t.Errorf("a failed cell counts as finished: %v, error %v", done, err)
	}
}

func TestDivergedCellsAreResults(t *testing.T) {
	m := smallMatrix(t, "echo 'peer: sim: worker 3 round 7: diverged' >&2\nexit 5\n")
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, cell := range m.result.Cells {
		if cell.Status != report.CellDiverged || cell.Error != "sim: worker 3 round 7: diverged" {
			t.Errorf("cell %d: %+v, want that it diverged and where", i, cell)
		}
	}
	again := smallMatrix(t, "exit 1\n")
	again.dir = m.dir
	if err := again.all(t.Context()); err != nil {
		t.Errorf("a diverged cell is run again: %v", err)
	}
}

func TestInterruptedComparisonSaysSo(t *testing.T) {
	m := smallMatrix(t, "exec sleep 60\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed ctrl-c")
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	if err := m.all(ctx); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

func TestAStoppedComparisonSaysHowItGoesOnAndWhatIsMissing(t *testing.T) {
	m := smallMatrix(t, "exit 1\n")
	if err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.result.Cells = []report.Cell{{Label: "a", Network: "n", Seed: 1, Status: report.CellDiverged}, {}}
	m.sayStopped()
	said, err := os.ReadFile(m.c.err.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 of 2 cells are finished, in " + m.dir + "; the others are run when the same command is started again\n",
		"next: peer ", "   go on\n", "next: peer report " + m.dir + "   ",
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	written, err := report.ReadComparison(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := written.Missing(); !slices.Equal(got, []string{"b on n, seed 1"}) {
		t.Errorf("missing %q, want the other cell", got)
	}
}

// What is interrupted has a report of the cells that are finished: the last cell
// sees the others.
func TestComparisonIsWrittenAfterEveryCell(t *testing.T) {
	m := smallMatrix(t, `cp "${0%/*}/out/comparison.json" "${0%/*}/out/cells"; exit 5`+"\n")
	m.file.Seeds = []uint64{1, 2}
	m.cells = m.file.Cells()
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	sofar, err := report.ReadComparison(filepath.Join(m.dir, report.CellsFolder))
	if err != nil || len(sofar.Cells) != 3 || sofar.Cells[2].Status != report.CellDiverged {
		t.Errorf("%+v, error %v, want the three cells that had ended", sofar, err)
	}
}

func TestTwoComparisonsInOneFolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); err == nil && runtime.GOOS == "linux" {
		t.Error("a second one is let in")
	} else if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "another peer compare is writing into") {
		t.Errorf("error %v, exit %d, want that there is another", err, exitCode(err))
	}
	unlock()
	if unlock, err = lockFolder(dir); err != nil {
		t.Fatalf("when the first has ended: %v", err)
	}
	unlock()
}

// What a cell is read back as is what was written.
func TestCellSurvivesItsFile(t *testing.T) {
	seven := &record.Reached{Time: 7.5, After: 7, Seen: 8, Bytes: 9}
	cell := report.Cell{
		Label: "a", Network: "n", Seed: 3, Status: report.CellDone, Tuned: []string{"algorithm.gamma=1"}, Folder: "f",
		ToLoss: seven, Summary: &record.Summary{Mode: "sim", Rounds: 4, Seed: 3, Digest: "d"},
	}
	text, err := json.Marshal(cell)
	if err != nil {
		t.Fatal(err)
	}
	var read report.Cell
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	read.Summary.Seed = 3 // one key for both
	if !reflect.DeepEqual(cell, read) {
		t.Errorf("%s became %+v", text, read)
	}
}

// The embedded comparisons are runs that can be assembled.
func TestEmbeddedComparisonsAssemble(t *testing.T) {
	for _, p := range configs.Comparisons() {
		file, err := configs.LoadComparison(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &matrix{file: file, tuned: map[string][]string{}}
		for _, cell := range file.Cells() {
			if cell.Seed != file.Seeds[0] || cell.Network != file.Networks[0].Name {
				continue
			}
			for _, choice := range configs.Combinations(cell.Tune) {
				tried := cell
				tried.Set = slices.Concat(cell.Set, choice)
				loaded, err := m.load(tried)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := assemble(loaded); err != nil && !isA[*data.MissingError](err) {
					t.Errorf("%s: %s: %v", p.Name, tried, err)
				}
			}
		}
	}
}
