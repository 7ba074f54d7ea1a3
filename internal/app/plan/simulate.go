package plan

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/preflight"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A trial is a candidate with what simulations have shown of it.
type trial struct {
	Candidate
	every    int    // rounds between records of the run file
	curve    *curve // nil before the first simulation
	rung     int    // of the last simulation
	diverged string // why the run has no end; "" if it has one
}

// load loads the run file with the changes of a candidate, and then with more. The changes are a layer of their own
// above the settings of the user, which may lose their effect by them.
func (p *planner) load(c Candidate, more ...string) (*configs.Loaded, error) {
	from := p.Source
	from.Flags = map[string]any{}
	for _, set := range [][]string{c.Set, more} {
		for _, s := range set {
			key, value, _ := strings.Cut(s, "=")
			from.Flags[key] = valueOf(value)
		}
	}
	return configs.Load(from)
}

// valueOf returns the number, the truth value, the empty list or the word that a text stands for.
func valueOf(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch text {
	case "true":
		return true
	case "[]":
		return []any{}
	}
	return text
}

// simulated are the settings of simulations: each round is recorded, and only targets of accuracy need evaluations.
func (p *planner) simulated() []string {
	set := append([]string{"output.every=1", "faults.script=[]"}, p.limits...)
	if p.result.Target.Metric != record.TestAccuracy {
		set = append(set, "output.evaluate=0")
	}
	return set
}

// assemble builds the run of a candidate for simulations.
func (p *planner) assemble(c Candidate) (*experiment.Run, error) {
	loaded, err := p.load(c, p.simulated()...)
	if err != nil {
		return nil, err
	}
	return preflight.AssembleHere(loaded, "sim")
}

// simulate simulates the first rounds of a trial and keeps its curve. It ends where the target is reached. A run that
// diverges is a result.
func (p *planner) simulate(ctx context.Context, t *trial, rounds int) error {
	run, err := p.assemble(t.Candidate)
	if err != nil {
		return err
	}
	costs, err := p.costsOf(t.Candidate, run)
	if err != nil {
		return err
	}
	workers, err := run.Workers()
	if err != nil {
		return err
	}
	log := &events{}
	tasks := experiment.Tasks(workers)
	means := run.NewAverager(log.add)
	for i, w := range workers {
		tasks[i].Gradient = means.Watched(w.Rank, run.Scored(w, w.Gradient, log.add))
	}
	goal := record.NewGoal(p.result.Target.targets(), run.N())
	opt := p.options(run, p.scaled(costs))
	opt.Observe = log.add
	opt.Ending.Until = func(s record.Step) bool {
		for _, e := range log.scores() {
			goal.Score(e)
		}
		return s.Round >= rounds || s.Round%t.every == 0 && p.result.Target.Metric != "" && goal.Reached(s)
	}
	_, err = sim.Run(ctx, tasks, opt)
	if errors.Is(err, train.ErrDiverged) {
		t.diverged = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	t.curve = newCurve(log.all, t.every, cycleOf(run), run.Config().Train.Rounds)
	return nil
}

// options are those of a simulation with some costs.
func (p *planner) options(run *experiment.Run, costs cost.Costs) sim.Options {
	return sim.Options{
		Network: run.Network(),
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(float64(costs.Gradient) * run.Slowdown(rank))
		},
		Costs: costs, Cores: p.shared(),
	}
}

// shared returns the cores that all workers share, 0 if each has a machine.
func (p *planner) shared() int {
	if p.result.Machines == 1 {
		return p.result.Cores
	}
	return 0
}

// cycleOf returns after how many rounds graph and local steps repeat, 1 if never.
func cycleOf(run *experiment.Run) int {
	return max(1, run.Config().Algorithm.LocalSteps*max(1, run.Sequence(0).Period()))
}

// pacing returns the seconds of a round of a run by its costs alone. Gradients are zero and take their virtual time.
func (p *planner) pacing(ctx context.Context, t *trial, costs cost.Costs, rounds int) (float64, error) {
	run, err := p.assemble(t.Candidate)
	if err != nil {
		return 0, err
	}
	workers, err := run.Workers()
	if err != nil {
		return 0, err
	}
	tasks, log := experiment.Tasks(workers), &events{}
	for i := range tasks {
		tasks[i].Gradient = still
	}
	opt := p.options(run, costs)
	opt.Observe = log.add
	opt.Ending.Until = func(s record.Step) bool { return s.Round >= rounds }
	if _, err := sim.Run(ctx, tasks, opt); err != nil {
		return 0, err
	}
	seconds, _ := newCurve(log.all, 1, cycleOf(run), rounds).steady()
	return seconds, nil
}

// still is a gradient of zero.
var still work.Gradient = func(g []float32, _ int, _ []float32) (float32, error) {
	clear(g)
	return 0, nil
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
