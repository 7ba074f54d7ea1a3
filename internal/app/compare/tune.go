package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/preflight"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
)

// tune searches the open values of algorithms and takes those with the least training loss. It uses sim, the first
// network of each, and the seed of the search.
func (m *Matrix) tune(ctx context.Context) error {
	for _, cell := range m.cells {
		if _, known := m.tuned[cell.Label]; known || len(cell.Tune) == 0 {
			continue
		}
		trials, err := m.search(ctx, cell)
		if err != nil {
			return err
		}
		best := least(trials)
		if best < 0 { // a result, too: its cells show it
			best = 0
			m.say("tuning %s: it diverged with all %d settings: its cells run with the first", cell.Label, len(trials))
		}
		trials[best].Chosen = true
		def, err := m.standard(ctx, cell, trials)
		if err != nil {
			return err
		}
		m.tuned[cell.Label] = trials[best].Settings
		m.noteTrials(cell.Label, slices.Concat(trials, def))
	}
	return nil
}

// noteTrials replaces the trials of a label, and keeps the labels in the order of the file.
func (m *Matrix) noteTrials(label string, trials []report.Trial) {
	all := slices.DeleteFunc(m.result.Trials, func(t report.Trial) bool { return t.Label == label })
	place := func(t report.Trial) int {
		return slices.IndexFunc(m.file.Algorithms, func(v configs.Variant) bool { return v.Label == t.Label })
	}
	m.result.Trials = append(all, trials...)
	slices.SortStableFunc(m.result.Trials, func(a, b report.Trial) int { return cmp.Compare(place(a), place(b)) })
}

// least returns the index of the first trial with the least loss, −1 if all diverged.
func least(trials []report.Trial) int {
	best := -1
	for i, t := range trials {
		if t.Loss != nil && (best < 0 || *t.Loss < *trials[best].Loss) {
			best = i
		}
	}
	return best
}

// search tries all combinations of the open values of a cell.
func (m *Matrix) search(ctx context.Context, cell configs.Cell) ([]report.Trial, error) {
	var trials []report.Trial
	for i, choice := range configs.Combinations(cell.Tune) {
		trial, done, err := m.try(ctx, cell, fmt.Sprint(i), choice)
		if err != nil {
			return nil, err
		}
		if done.Status == report.CellFailed {
			return nil, fmt.Errorf("compare: tuning %s: %s: %s", cell.Label, strings.Join(trial.Settings, " "), done.Error)
		}
		trial.InGrid = true
		trials = append(trials, trial)
	}
	return trials, nil
}

// standard tries the values that the run file of a cell has without the search, which reports show beside the chosen
// ones. It marks the trial that has them if they are in the grid, and else returns one more.
func (m *Matrix) standard(ctx context.Context, cell configs.Cell, trials []report.Trial) ([]report.Trial, error) {
	loaded, err := m.load(cell)
	if err == nil {
		_, err = preflight.Assemble(loaded)
	}
	if err != nil {
		return []report.Trial{{Label: cell.Label, Network: cell.Network, Seed: m.file.Tuning.Seed, Default: true,
			Why: "refused: " + firstProblem(err)}}, nil
	}
	var values []configs.Override
	all := loaded.Config.Settings()
	for _, choice := range cell.Tune {
		values = append(values, configs.Override{Key: choice.Key, Value: all[choice.Key]})
	}
	settings := configs.Arguments(values)
	for i := range trials {
		if slices.Equal(trials[i].Settings, settings) {
			trials[i].Default = true
			return nil, nil
		}
	}
	trial, done, err := m.try(ctx, cell, "default", nil)
	if err != nil {
		return nil, err
	}
	if done.Status == report.CellFailed {
		trial.Why = done.Error
	}
	trial.Settings, trial.Default = settings, true
	return []report.Trial{trial}, nil
}

// firstProblem returns the first of several problems.
func firstProblem(err error) string {
	if e, ok := errors.AsType[*configs.Error](err); ok && len(e.Problems) > 0 {
		p := e.Problems[0]
		return strings.TrimSpace(p.Key + " " + p.Message)
	}
	return err.Error()
}

// try runs a short cell beside the requested ones. Its trial has no loss if the run diverged.
func (m *Matrix) try(ctx context.Context, cell configs.Cell, name string, choice []configs.Override) (report.Trial,
	report.Cell, error) {
	trial := report.Trial{Label: cell.Label, Network: cell.Network, Seed: m.file.Tuning.Seed,
		Settings: configs.Arguments(choice)}
	loaded, err := m.load(cell)
	if err != nil {
		return trial, report.Cell{}, err
	}
	const share = 4 // of the rounds
	trial.Rounds = cmp.Or(m.file.Tuning.Rounds, max(1, loaded.Config.Train.Rounds/share))
	cell.Network, cell.Seed, cell.Until = "tuning-"+name, trial.Seed, nil
	cell.Set = slices.Concat(cell.Set, choice)
	short := *m
	short.pace = &pace{jobs: 1} // of all cells nothing is known yet
	short.Set = slices.Concat(m.Set, []string{fmt.Sprintf("seed=%d", cell.Seed)},
		loaded.Config.Shortened(trial.Rounds))
	const mode = "sim"
	done, err := short.finished(mode, cell)
	if err == nil && done == nil {
		done = new(report.Cell)
		*done, err = short.runCell(ctx, mode, cell)
	}
	if err != nil {
		return trial, report.Cell{}, err
	}
	switch done.Status {
	case report.CellDone:
		trial.Loss = record.Number(done.TrainLoss)
	case report.CellDiverged:
		trial.Why = "diverged"
	case report.CellFailed:
		return trial, *done, nil // its error says why
	}
	m.say("tuning %s: %s: training loss %s", cell.Label, cmp.Or(strings.Join(trial.Settings, " "), "default"),
		lossOf(trial))
	return trial, *done, nil
}

func lossOf(t report.Trial) string {
	if t.Loss == nil {
		return cmp.Or(t.Why, "unknown")
	}
	return fmt.Sprintf("%.4f", *t.Loss)
}
