package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/lab"
	"gossiptrainer/report"
)

// cellLog is what the process of a cell said.
const cellLog = "log.txt"

// cellGrace is how long a cell may take to stop.
const cellGrace = 5 * time.Second

// runCell runs a cell in a process of its own and keeps the result. Only what
// concerns all cells is an error.
func (m *matrix) runCell(ctx context.Context, mode string, cell configs.Cell) (report.Cell, error) {
	folder := m.folder(cell)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
		return report.Cell{}, fmt.Errorf("compare: %w", err)
	}
	hash, err := m.hash(mode, cell)
	if err != nil {
		return report.Cell{}, err
	}
	done := report.Cell{
		Label: cell.Label, Network: cell.Network, Seed: cell.Seed, Config: hash, Tuned: m.tuned[cell.Label],
	}
	result, err := m.child(ctx, mode, m.arguments(cell), folder)
	if ctx.Err() != nil {
		return report.Cell{}, context.Cause(ctx)
	}
	done.Summary, done.Exit, done.Status = result.summary, result.exit, result.status
	if err != nil {
		done.Error = err.Error()
	}
	if done.Status == report.CellDone {
		run, err := report.Open(result.run)
		if err != nil {
			return report.Cell{}, err
		}
		if done.Folder, err = filepath.Rel(m.dir, result.run); err != nil {
			return report.Cell{}, fmt.Errorf("compare: %w", err)
		}
		done.Reach(run, m.result.Targets)
	}
	return done, writeResult(filepath.Join(folder, report.CellFile), done)
}

// A childResult is what came of a run in a process of its own.
type childResult struct {
	summary *report.Summary
	exit    int
	status  report.CellStatus
	run     string // its folder
}

// child runs "peer lab" or "peer sim" of the base with overrides. The error is
// what the run failed of.
func (m *matrix) child(ctx context.Context, mode string, set []string, folder string) (childResult, error) {
	log, err := os.Create(filepath.Join(folder, cellLog))
	if err != nil {
		return childResult{status: report.CellFailed, exit: exitOther}, err
	}
	defer log.Close()
	args := []string{mode, m.file.Base, "--json"}
	// Without checkpoints: a cell that is stopped begins anew.
	for _, s := range slices.Concat(set, []string{"output.dir=" + folder, "checkpoint.every=0", "checkpoint.seconds=0"}) {
		args = append(args, "--set", s)
	}
	if mode == "sim" && m.result.Compute > 0 {
		args = append(args, "--compute", seconds(m.result.Compute).String())
	}
	var out bytes.Buffer
	cmd := exec.Command(m.program, args...)
	cmd.Stdout, cmd.Stderr = &out, log
	err = lab.RunTied(ctx, cmd, cellGrace)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		result := childResult{status: report.CellFailed, exit: exit.ExitCode()}
		if result.exit == exitTraining {
			result.status = report.CellDiverged
		}
		return result, errors.New(lastError(log.Name()))
	}
	if err != nil {
		return childResult{status: report.CellFailed, exit: exitOther}, err
	}
	result := childResult{status: report.CellDone, summary: new(report.Summary)}
	if err := json.Unmarshal(out.Bytes(), result.summary); err != nil {
		return childResult{status: report.CellFailed, exit: exitOther}, fmt.Errorf("its summary: %w", err)
	}
	runs, err := filepath.Glob(filepath.Join(folder, "*", report.EventsFile))
	if err != nil || len(runs) != 1 {
		return childResult{status: report.CellFailed, exit: exitOther}, fmt.Errorf("%d run folders in %s, want 1", len(runs), folder)
	}
	result.run = filepath.Join(folder, "run")
	if err := os.Rename(filepath.Dir(runs[0]), result.run); err != nil {
		return childResult{status: report.CellFailed, exit: exitOther}, err
	}
	return result, nil
}

// lastError returns the error that a process ended its log with.
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

// tune searches the values that algorithms leave open, each on its first network
// in sim with the seed of the search, and takes those of the least training loss.
func (m *matrix) tune(ctx context.Context) error {
	for _, cell := range m.cells {
		if _, known := m.tuned[cell.Label]; known || len(cell.Tune) == 0 {
			continue
		}
		best, least := []string(nil), math.Inf(1)
		combinations := configs.Combinations(cell.Tune)
		for i, choice := range combinations {
			loss, err := m.try(ctx, cell, i, choice)
			if err != nil {
				return err
			}
			chosen := configs.Arguments(choice)
			m.c.say("tuning %s: %s: training loss %s", cell.Label, strings.Join(chosen, " "), short(loss))
			if loss < least {
				best, least = chosen, loss
			}
		}
		if best == nil {
			return fmt.Errorf("compare: tuning %s: it diverged with all %d settings", cell.Label, len(combinations))
		}
		m.tuned[cell.Label] = best
	}
	return nil
}

// try returns the final training loss of a short run, infinite if it diverges.
// The run is a cell beside those that are asked for.
func (m *matrix) try(ctx context.Context, cell configs.Cell, i int, choice []configs.Override) (float64, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return 0, err
	}
	const share = 4 // of the rounds
	rounds := m.file.Tuning.Rounds
	if rounds == 0 {
		rounds = max(1, loaded.Config.Train.Rounds/share)
	}
	cell.Network, cell.Seed = fmt.Sprintf("tuning-%d", i), m.file.Tuning.Seed
	cell.Set = slices.Concat(cell.Set, choice, []configs.Override{
		{Key: "seed", Value: fmt.Sprint(cell.Seed)}, {Key: "train.rounds", Value: fmt.Sprint(rounds)},
	})
	const mode = "sim"
	done, err := m.finished(mode, cell)
	if err == nil && done == nil {
		done = new(report.Cell)
		*done, err = m.runCell(ctx, mode, cell)
	}
	switch {
	case err != nil:
		return 0, err
	case done.Status == report.CellDiverged:
		return math.Inf(1), nil
	case done.Status == report.CellFailed:
		return 0, fmt.Errorf("compare: %s: %s", cell, done.Error)
	}
	return done.TrainLoss, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func short(loss float64) string {
	if math.IsInf(loss, 0) {
		return "diverged"
	}
	return fmt.Sprintf("%.4f", loss)
}
