package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
)

// A trial is a short run of a search for values.
type trial struct {
	cells.Trial
	cell configs.Cell
	of   *Matrix // of short runs with the seed of the search; nil: the settings are refused
}

// tune searches the open values of algorithms and takes those with the least training loss. It uses sim, the first
// network of each, and the seed of the search. Trials run side by side, as cells do.
func (m *Matrix) tune(ctx context.Context) error {
	var searches [][]*trial
	seen := map[string]bool{}
	progress := &pace{jobs: 1} // of all cells nothing is known yet
	m.shown = m.Progress()
	for _, cell := range m.cells {
		if _, known := m.tuned[cell.Label]; known || seen[cell.Label] || len(cell.Tune) == 0 {
			continue
		}
		seen[cell.Label] = true
		trials, err := m.search(cell, progress)
		if err != nil {
			return err
		}
		searches = append(searches, trials)
	}
	if err := m.try(ctx, slices.Concat(searches...), progress); err != nil {
		return err
	}
	for _, trials := range searches {
		m.choose(trials)
	}
	return nil
}

// choose takes the values of the best trial in the grid. It keeps the trials of all labels in the order of the file.
func (m *Matrix) choose(trials []*trial) {
	label, best := trials[0].Label, -1
	all := make([]cells.Trial, len(trials))
	for i, t := range trials {
		all[i] = t.Trial
		if t.InGrid && t.Loss != nil && (best < 0 || *t.Loss < *all[best].Loss) {
			best = i
		}
	}
	if best < 0 { // a result, too: its cells show it
		best = 0
		m.say("tuning %s: it diverged with the whole grid: its cells run with the first setting", label)
	}
	all[best].Chosen = true
	m.tuned[label] = all[best].Settings
	others := slices.DeleteFunc(m.result.Trials, func(t cells.Trial) bool { return t.Label == label })
	place := func(t cells.Trial) int {
		return slices.IndexFunc(m.file.Algorithms, func(v configs.Variant) bool { return v.Label == t.Label })
	}
	m.result.Trials = append(others, all...)
	slices.SortStableFunc(m.result.Trials, func(a, b cells.Trial) int { return cmp.Compare(place(a), place(b)) })
}

// search returns the trials of all combinations of the open values of a cell, and of the values that its run file has
// without the search. Reports show these beside the chosen ones.
func (m *Matrix) search(cell configs.Cell, progress *pace) ([]*trial, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return nil, err
	}
	const share = 4 // of the rounds
	one := cells.Trial{Label: cell.Label, Network: cell.Network, Seed: m.file.Tuning.Seed,
		Rounds: cmp.Or(m.file.Tuning.Rounds, max(1, int(loaded.Config.Train.Rounds)/share))}
	short := *m
	short.pace = progress
	// The training loss decides, so tests of the models would be wasted.
	short.Set = slices.Concat(m.Set, []string{fmt.Sprintf("seed=%d", one.Seed)}, loaded.Config.Shortened(one.Rounds),
		loaded.Config.Untested())
	with := func(name string, choice []configs.Override) *trial {
		c := cell
		c.Network, c.Seed, c.Until, c.Set = "tuning-"+name, one.Seed, nil, slices.Concat(cell.Set, choice)
		t := &trial{one, c, &short}
		t.Settings = configs.Arguments(choice)
		for _, o := range choice {
			if configs.AtBound(o) {
				t.Bounds = append(t.Bounds, o.Key)
			}
		}
		return t
	}
	var all []*trial
	for i, choice := range configs.Combinations(cell.Tune) {
		t := with(fmt.Sprint(i), choice)
		t.InGrid = true
		all = append(all, t)
	}
	if _, err := session.Assemble(loaded); err != nil {
		one.Rounds, one.Default, one.Why = 0, true, "refused: "+firstProblem(err)
		return append(all, &trial{Trial: one}), nil
	}
	var values []configs.Override
	settings := loaded.Config.Settings()
	for _, choice := range cell.Tune {
		values = append(values, configs.Override{Key: choice.Key, Value: settings[choice.Key]})
	}
	standard := with("default", nil)
	standard.Settings, standard.Default = configs.Arguments(values), true
	for _, t := range all {
		if slices.Equal(t.Settings, standard.Settings) {
			t.Default = true
			return all, nil
		}
	}
	return append(all, standard), nil
}

// try makes the trials that are not made yet.
func (m *Matrix) try(ctx context.Context, trials []*trial, progress *pace) error {
	const mode = "sim"
	var todo []*trial
	for _, t := range trials {
		if t.of == nil {
			continue
		}
		done, err := t.of.finished(mode, t.cell)
		if err != nil {
			return err
		}
		if done == nil {
			todo = append(todo, t)
			progress.rest = append(progress.rest, t.cell)
		} else if err := m.end(t, done); err != nil {
			return err
		}
	}
	progress.jobs = max(1, min(m.Jobs, len(todo)))
	for _, t := range todo {
		t.of.Jobs = progress.jobs
	}
	return sideBySide(ctx, progress.jobs, len(todo), func(i int) func(context.Context) error {
		t, cells := todo[i], []configs.Cell{todo[i].cell}
		run := progress.begin(t.name(), cells, time.Now())
		return func(ctx context.Context) error {
			done, err := t.of.runTogether(ctx, mode, cells, run)
			progress.end(run, time.Now())
			if err != nil {
				return err
			}
			m.talk(func() { err = m.end(t, &done[0]) })
			return err
		}
	})
}

// end notes and tells how a trial ended. It has no loss if the run diverged. A trial in the grid must not fail.
func (m *Matrix) end(t *trial, done *cells.Cell) error {
	switch {
	case done.Status == cells.Done:
		t.Loss = done.TrainLoss
	case done.Status == cells.Diverged:
		t.Why = "diverged"
	case t.InGrid:
		return fmt.Errorf("compare: tuning %s: %s: %s", t.Label, strings.Join(t.Settings, " "), done.Error)
	default:
		t.Why = done.Error
		return nil
	}
	m.say("tuning %s: training loss %s", t.name(), lossOf(t.Trial))
	return nil
}

// name returns the label and the values of a trial.
func (t *trial) name() string {
	values := "default"
	if t.InGrid {
		values = strings.Join(t.Settings, " ")
	}
	return t.Label + ": " + values
}

// firstProblem returns the first of several problems.
func firstProblem(err error) string {
	if e, ok := errors.AsType[*configs.Error](err); ok && len(e.Problems) > 0 {
		p := e.Problems[0]
		return strings.TrimSpace(p.Key + " " + p.Message)
	}
	return err.Error()
}

func lossOf(t cells.Trial) string {
	if t.Loss == nil {
		return cmp.Or(t.Why, "unknown")
	}
	return fmt.Sprintf("%.4f", *t.Loss)
}
