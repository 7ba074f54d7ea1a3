package plan

import (
	"context"
	"errors"
	"sync"
	"time"

	"gossiptrainer/internal/build"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/lab/rehearse"
	"gossiptrainer/topology"
)

// An end is where a simulation ends: after some rounds, at a time, or at a target if there is one.
type end struct {
	rounds   int
	deadline time.Time
	until    Target
}

// simulate simulates the first rounds of a trial and keeps its curve. A run that diverges is a result.
func (p *planner) simulate(ctx context.Context, t *trial, e end) error {
	run, err := p.assemble(t.Candidate)
	if err != nil {
		return err
	}
	costs, err := p.costsOf(t.Candidate, run)
	if err != nil {
		return err
	}
	workers, err := build.All(run)
	if err != nil {
		return err
	}
	log := &events{}
	tasks := build.Tasks(workers)
	means := run.Scorer().NewAverager(log.add)
	for i, w := range workers {
		tasks[i].Gradient = means.Watched(w.Rank, build.Scored(w, w.Gradient, log.add))
	}
	goal := record.NewGoal(e.until.targets(), run.N())
	opt := p.options(run, p.scaled(costs))
	opt.Observe = log.add
	opt.Ending.Until = func(s record.Step) bool {
		for _, score := range log.scores() {
			goal.See(score)
		}
		return s.Round >= e.rounds || !p.Clock().Before(e.deadline) ||
			s.Round%t.every == 0 && e.until.Metric != "" && goal.See(record.Event{Step: &s})
	}
	_, err = sim.Run(ctx, tasks, opt)
	if errors.Is(err, train.ErrDiverged) {
		t.diverged = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	t.curve = newCurve(log.all, t.every, cycleOf(run), int(run.Config().Train.Rounds))
	return nil
}

// options are those of a simulation with some costs.
func (p *planner) options(run *experiment.Run, costs cost.Costs) sim.Options {
	return sim.Options{
		Network: run.Network(),
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(float64(costs.Gradient) * run.Config().Train.Slowdown(rank))
		},
		Costs: costs, Cores: p.shared(),
	}
}

// cycleOf returns after how many rounds graph and local steps repeat, 1 if never.
func cycleOf(run *experiment.Run) int {
	return max(1, run.Config().Algorithm.LocalSteps*max(1, run.Rows()[0].Period()))
}

// pacing returns the seconds of a round of a run by its costs alone. Gradients are zero and take their virtual time.
func (p *planner) pacing(ctx context.Context, t *trial, costs cost.Costs, rounds int) (float64, error) {
	run, err := p.assemble(t.Candidate)
	if err != nil {
		return 0, err
	}
	log, opt := &events{}, p.options(run, costs)
	opt.Observe = log.add
	if err := rehearse.Simulate(ctx, run, rounds, opt); err != nil {
		return 0, err
	}
	seconds, _ := newCurve(log.all, 1, cycleOf(run), rounds).steady()
	return seconds, nil
}

// events collects those of a simulation, whose scores come from several goroutines.
type events struct {
	mu  sync.Mutex
	all []record.Event
	new []record.Event // scores
}

func (l *events) add(e record.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	if e.Score != nil {
		l.new = append(l.new, e)
	}
}

// scores returns those since the last call.
func (l *events) scores() []record.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := l.new
	l.new = nil
	return some
}
