package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/live"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
)

// cellLog is what the process of a cell said.
const cellLog = "log.txt"

// cellGrace is how long a cell may take to stop.
const cellGrace = 5 * time.Second

// runCell runs a cell in a process of its own.
func (m *matrix) runCell(ctx context.Context, mode string, cell configs.Cell) (report.Cell, error) {
	done, err := m.runTogether(ctx, mode, []configs.Cell{cell})
	if err != nil {
		return report.Cell{}, err
	}
	return done[0], nil
}

// runTogether runs cells that differ in their network alone in one process and
// keeps the results. Only what concerns all cells of the comparison is an error.
func (m *matrix) runTogether(ctx context.Context, mode string, cells []configs.Cell) ([]report.Cell, error) {
	all := make([]report.Cell, len(cells))
	for i, cell := range cells {
		folder := m.folder(cell)
		if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		hash, err := m.hash(mode, cell)
		if err != nil {
			return nil, err
		}
		all[i] = report.Cell{Label: cell.Label, Network: cell.Network, Seed: cell.Seed, Config: hash, Tuned: m.tuned[cell.Label]}
	}
	summaries, exit, failure := m.child(ctx, mode, cells)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, cell := range cells {
		if failure == nil {
			failure, exit = m.keep(&all[i], cell, summaries[i]), exitOther
		}
		if failure != nil {
			all[i].Exit, all[i].Status, all[i].Error = exit, report.CellFailed, withoutHome(failure.Error())
			if exit == exitTraining {
				all[i].Status = report.CellDiverged
			}
		}
		if err := writeResult(filepath.Join(m.folder(cell), report.CellFile), all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// keep completes a cell that went to its end.
func (m *matrix) keep(done *report.Cell, cell configs.Cell, summary *record.Summary) error {
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
	if done.Folder, err = filepath.Rel(m.dir, to); err != nil {
		return err
	}
	done.Summary, done.Status = summary, report.CellDone
	done.Reach(run, m.result.Targets)
	return nil
}

// child runs "peer lab" or "peer sim" of the base with what the cells override, and
// returns their summaries. The error is what the run failed of.
func (m *matrix) child(ctx context.Context, mode string, cells []configs.Cell) ([]*record.Summary, int, error) {
	log, err := os.Create(filepath.Join(m.folder(cells[0]), cellLog))
	if err != nil {
		return nil, exitOther, err
	}
	defer log.Close()
	args, err := m.command(mode, cells)
	if err != nil {
		return nil, exitOther, err
	}
	var out bytes.Buffer
	shown := m.c.newProgress()
	cmd := exec.Command(m.program, args...)
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(log, &listener{tell: func(at live.Standing) {
		m.pace.share = at.Share
		shown.tell("  "+at.Text+m.pace.words(time.Now()), time.Now())
	}})
	err = lab.RunTied(ctx, cmd, cellGrace)
	shown.clear()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, exit.ExitCode(), errors.New(lastError(log.Name()))
	}
	if err != nil {
		return nil, exitOther, err
	}
	summaries := make([]*record.Summary, len(cells))
	for i, results := 0, json.NewDecoder(&out); i < len(cells); i++ {
		if err := results.Decode(&summaries[i]); err != nil {
			return nil, exitOther, fmt.Errorf("its summary: %w", err)
		}
	}
	return summaries, exitOK, nil
}

// command returns the arguments of the process that runs cells.
func (m *matrix) command(mode string, cells []configs.Cell) ([]string, error) {
	settings, err := m.arguments(cells[0])
	if err != nil {
		return nil, err
	}
	args := []string{mode, m.file.Base, "--json"}
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
	if mode == "sim" && m.result.Compute > 0 {
		args = append(args, "--compute", seconds(m.result.Compute).String())
	}
	return args, nil
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
	cell.Network, cell.Seed, cell.Until = fmt.Sprintf("tuning-%d", i), m.file.Tuning.Seed, nil
	cell.Set = slices.Concat(cell.Set, choice)
	short := *m
	short.pace = pace{} // of all cells nothing is known yet
	short.set = slices.Concat(m.set, []string{fmt.Sprintf("seed=%d", cell.Seed), fmt.Sprintf("train.rounds=%d", rounds)})
	const mode = "sim"
	done, err := short.finished(mode, cell)
	if err == nil && done == nil {
		done = new(report.Cell)
		*done, err = short.runCell(ctx, mode, cell)
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
