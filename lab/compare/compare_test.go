package compare

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

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
	"gossiptrainer/lab/study"
)

// smallMatrix is one whose cells are run by a program that does what a script
// says.
func smallMatrix(t *testing.T, script string) *Matrix {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	file := &configs.Comparison{
		Name: "small", Base: "ring8", Mode: "sim", Compute: "1ms",
		Networks: []configs.NetworkCase{{Name: "n"}}, Algorithms: []configs.Variant{{Label: "a"}, {Label: "b"}},
		Seeds: []uint64{1},
	}
	m, err := New(file, Options{
		Dir: filepath.Join(dir, "out"), Jobs: 1, Talk: new(strings.Builder),
		Progress: func() Progress { return silence{} },
		Process:  Process{Program: program, Failed: 1, Diverged: 5, Command: "peer compare small", Version: "v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A silence shows nothing.
type silence struct{}

func (silence) Tell(string, time.Time) {}
func (silence) Clear()                 {}

func (m *Matrix) all(ctx context.Context) error {
	if err := m.Run(ctx); err != nil {
		return err
	}
	if err := m.Save(); err != nil {
		return err
	}
	if _, _, err := study.WriteFiles(m.Dir); err != nil {
		return err
	}
	return m.Failed()
}

// A disk without room for the results of a cell is refused before the first cell, with the way out.
func TestAFullDiskIsRefusedBeforeTheFirstCell(t *testing.T) {
	m := smallMatrix(t, "echo 'a cell has started' >&2\nexit 1\n")
	m.room.leaves = 1 << 60
	err := m.Do(t.Context(), "")
	full, ok := errors.AsType[*runfolder.SpaceError](err)
	if !ok || full.Dir != m.Dir || !strings.Contains(full.Hint(), "set --output to a folder on a disk with more") {
		t.Errorf("error %v, want that there is no room, and --output", err)
	}
	if said := m.Talk.(*strings.Builder).String(); said != "" {
		t.Errorf("said before: %s", said)
	}
}

func TestFailedCellsAreToldAndTriedAgain(t *testing.T) {
	m := smallMatrix(t, "echo 'peer: the disk is full' >&2\nexit 1\n")
	err := m.all(t.Context())
	var failed *CellsError
	if !errors.As(err, &failed) || failed.failed != 2 || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("error %v, want that two cells failed and why", err)
	}
	written, err := cells.Read(m.Dir)
	if err != nil || len(written.Cells) != 2 || written.Cells[1].Status != cells.Failed ||
		written.Cells[1].Exit != 1 {
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
		if cell.Status != cells.Diverged || cell.Error != "sim: worker 3 round 7: diverged" {
			t.Errorf("cell %d: %+v, want that it diverged and where", i, cell)
		}
	}
	again := smallMatrix(t, "exit 1\n")
	again.Dir = m.Dir
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
	m.result.Cells = []cells.Cell{{Label: "a", Network: "n", Seed: 1, Status: cells.Diverged}, {}}
	if err := m.Save(); err != nil {
		t.Fatal(err)
	}
	m.SayStopped("peer compare small")
	said := m.Talk.(*strings.Builder).String()
	for _, want := range []string{
		"1 of 2 cells is finished, in " + m.Dir + "; the others are run when the same command is started again\n",
		"next: peer compare small   go on\n", "next: peer report " + m.Dir + "   ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	written, err := cells.Read(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := written.Missing(); !slices.Equal(got, []string{"b on n, seed 1"}) {
		t.Errorf("missing %q, want the other cell", got)
	}
}

// An interrupted comparison has a report of the finished cells: the last cell sees the others.
func TestComparisonIsWrittenAfterEveryCell(t *testing.T) {
	m := smallMatrix(t, `cp "${0%/*}/out/comparison.json" "${0%/*}/out/cells"; exit 5`+"\n")
	m.file.Seeds = []uint64{1, 2}
	m.cells = m.file.Cells()
	if err := m.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	sofar, err := cells.Read(filepath.Join(m.Dir, cells.CellsFolder))
	if err != nil || len(sofar.Cells) != 3 || sofar.Cells[2].Status != cells.Diverged {
		t.Errorf("%+v, error %v, want the three cells that had ended", sofar, err)
	}
}

func TestTwoComparisonsInOneFolder(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil && runtime.GOOS == "linux" {
		t.Error("a second one is let in")
	} else if !errors.As(err, new(*advice.UsageError)) ||
		!strings.Contains(err.Error(), "another peer compare is writing into") {
		t.Errorf("error %v, want that there is another", err)
	}
	unlock()
	if unlock, err = lock(dir); err != nil {
		t.Fatalf("when the first has ended: %v", err)
	}
	unlock()
}

// A cell is read back as it has been written.
func TestCellSurvivesItsFile(t *testing.T) {
	seven := &record.Reached{Time: 7.5, After: 7, Seen: 8, Bytes: 9}
	cell := cells.Cell{
		Label: "a", Network: "n", Seed: 3, Status: cells.Done, Tuned: []string{"algorithm.gamma=1"}, Folder: "f",
		ToLoss: seven, Summary: &record.Summary{Mode: "sim", Rounds: 4, Seed: 3, Digest: "d"},
	}
	text, err := json.Marshal(cell)
	if err != nil {
		t.Fatal(err)
	}
	var read cells.Cell
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	read.Summary.Seed = 3 // one key for both
	if !reflect.DeepEqual(cell, read) {
		t.Errorf("%s became %+v", text, read)
	}
}
