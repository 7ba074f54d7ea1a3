package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/screen"
	"gossiptrainer/app/script"
	"gossiptrainer/configs"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// cellLog is the file with the output of a cell's process.
const cellLog = "log.txt"

// cellGrace is how long a cell may take to stop.
const cellGrace = 5 * time.Second

// runTogether runs cells that differ only in their network in one process and keeps the results. It returns only errors
// that concern all cells of the comparison.
func (m *Matrix) runTogether(ctx context.Context, mode string, planned []configs.Cell, run *running) ([]cells.Cell,
	error) {
	all := make([]cells.Cell, len(planned))
	for i, cell := range planned {
		hash, err := m.hash(mode, cell)
		if err != nil {
			return nil, err
		}
		all[i] = cells.Cell{Label: cell.Label, Network: cell.Network, Seed: cell.Seed, Config: hash,
			Tuned: m.tuned[cell.Label], Results: resultsOf(m, cell.Label), Program: m.Process.Version}
	}
	resume, err := m.begin(mode, planned, all)
	if err != nil {
		return nil, err
	}
	summaries, exit, failure := m.child(ctx, mode, run, resume)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if failure != nil && exit >= 0 {
		_ = os.Remove(filepath.Join(m.folder(planned[0]), begunFile)) // it would fail again: it begins again
	}
	for i, cell := range planned {
		if failure == nil {
			failure, exit = m.keep(&all[i], cell, summaries[i]), m.Process.Failed
		}
		if failure != nil {
			all[i].Exit, all[i].Status, all[i].Error = exit, cells.Failed, withoutHome(failure.Error())
			if exit == m.Process.Diverged {
				all[i].Status = cells.Diverged
			}
		}
		if err := writeResult(filepath.Join(m.folder(cell), cells.CellFile), all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// keep completes the result of a successful cell.
func (m *Matrix) keep(done *cells.Cell, cell configs.Cell, summary *record.Summary) error {
	folder := m.folder(cell)
	runs, err := filepath.Glob(filepath.Join(folder, "*", record.EventsFile))
	if err != nil || len(runs) != 1 {
		return fmt.Errorf("%d run folders in %s, want 1", len(runs), folder)
	}
	to := filepath.Join(folder, "run")
	if err := os.Rename(filepath.Dir(runs[0]), to); err != nil {
		return err
	}
	run, err := record.Open(to)
	if err != nil {
		return err
	}
	if done.Folder, err = filepath.Rel(m.Dir, to); err != nil {
		return err
	}
	done.Summary, done.Status = summary, cells.Done
	done.Reach(run, m.result.Targets)
	done.ReachLevels(run, m.result.Levels)
	return nil
}

// child runs "peer lab" or "peer sim" of the base with the overrides of the cells, and returns their summaries. The
// error is the reason why the run failed.
func (m *Matrix) child(ctx context.Context, mode string, run *running, resume bool) ([]*record.Summary, int, error) {
	cells := run.cells
	log, err := os.Create(filepath.Join(m.folder(cells[0]), cellLog))
	if err != nil {
		return nil, m.Process.Failed, err
	}
	defer log.Close()
	args, err := m.command(mode, cells, resume)
	if err != nil {
		return nil, m.Process.Failed, err
	}
	var out bytes.Buffer
	cmd := exec.Command(m.Process.Program, args...)
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(log, &listener{tell: func(at screen.Progress) {
		m.pace.tell(run, at, time.Now())
		m.mu.Lock()
		defer m.mu.Unlock()
		m.shown.Tell("  "+m.pace.line(time.Now()), time.Now())
	}})
	if m.Jobs > 1 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.GOMAXPROCS(0)/m.Jobs)))
	}
	grace := cellGrace
	if len(m.Script) > 0 {
		grace += bridge.Ending
	}
	err = fleet.RunTied(ctx, cmd, grace)
	m.talk(func() {})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, exit.ExitCode(), errors.New(lastError(log.Name()))
	}
	if err != nil {
		return nil, m.Process.Failed, err
	}
	summaries := make([]*record.Summary, len(cells))
	for i, results := 0, json.NewDecoder(&out); i < len(cells); i++ {
		if err := results.Decode(&summaries[i]); err != nil {
			return nil, m.Process.Failed, fmt.Errorf("its summary: %w", err)
		}
	}
	return summaries, 0, nil
}

// command returns the arguments of the process that runs cells, or goes on with them.
func (m *Matrix) command(mode string, cells []configs.Cell, resume bool) ([]string, error) {
	settings, err := m.arguments(cells[0])
	if err != nil {
		return nil, err
	}
	args := []string{mode, m.file.Base, "--json"}
	if resume {
		args = append(args, "--resume")
	}
	for _, s := range append(settings, "output.dir="+m.folder(cells[0])) {
		args = append(args, "--set", s)
	}
	for _, cell := range cells[1:] {
		network, _, err := m.split(cell)
		if err != nil {
			return nil, err
		}
		args = append(args, "--also", joinSettings(append(network, "output.dir="+m.folder(cell))))
	}
	for _, s := range configs.Arguments(cells[0].Until) {
		args = append(args, "--until", s)
	}
	if costs := (cost.Compute{Costs: m.costs[cells[0].Label]}); mode == "sim" && costs.Given() {
		args = append(args, "--compute", costs.String())
		if m.file.Cores > 0 {
			args = append(args, "--cores", strconv.Itoa(m.file.Cores))
		}
	}
	return append(args, script.After(m.Script)...), nil
}

// lastError returns the error at the end of a process's log.
func lastError(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range slices.Backward(lines) {
		if why, ok := strings.CutPrefix(line, "peer: "); ok {
			return why
		}
	}
	return "it said nothing: see " + log
}

// maxResult bounds the file of a cell.
const maxResult = 64 << 20

// finished returns the result of a cell that has already run with the same settings. A failed cell runs again, and with
// --remake one whose results may differ now.
func (m *Matrix) finished(mode string, cell configs.Cell) (*cells.Cell, error) {
	text, err := safefile.Read(filepath.Join(m.folder(cell), cells.CellFile), maxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	var done cells.Cell
	if err := json.Unmarshal(text, &done); err != nil || done.Status == cells.Failed {
		return nil, nil // treat it as not run
	}
	hash, err := m.hash(mode, cell)
	if err != nil || done.Config != hash {
		return nil, err
	}
	if bool(m.Remake) && other(m, done) && slices.Contains(m.Only, cell.Label) {
		return nil, nil
	}
	if done.Status == cells.Done {
		run, err := record.Open(filepath.Join(m.Dir, done.Folder))
		if err != nil {
			return nil, nil
		}
		done.Reach(run, m.result.Targets)
		done.ReachLevels(run, m.result.Levels)
	}
	return &done, nil
}
