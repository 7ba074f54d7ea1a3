// Package plan predicts, before a run, how long other settings of it would take and what they would send. It measures
// gradient, messages and links on this machine, rehearses with real peers, simulates the beginnings of many candidates,
// and simulates the better ones for longer. The result is the frontier of time against bytes until a target.
//
// The pure parts are the candidates (axes.go), the division of the budget (halving.go), the continuation of curves
// (curve.go), the prediction with its interval (predict.go) and the frontier (frontier.go).
package plan

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/doctor"
	"gossiptrainer/internal/app/live"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
)

// A Request says what to plan.
type Request struct {
	Source   configs.Source
	Axes     Axes
	Until    []string      // loss=0.5 or accuracy=0.9; none: derived from the run file
	Budget   time.Duration // for simulations; measuring and rehearsing come before
	Machines int           // that the workers have: 1, or one for each; 0: as the run file says
	Cores    int           // of the one machine; 0: those of this one
	// Probe measures the links to the other machines of the roster; nil: the limits of the run file hold.
	Probe    func(context.Context) (*doctor.Report, error)
	Prove    time.Duration // how long each of the three best runs with real peers; 0: not at all
	Process  Process
	Talk     io.Writer // gets warnings and notes
	Progress func(text string, now time.Time)
}

// A Process describes this program.
type Process struct {
	Program string // its file
	// Links measures the costs of links; nil: they cost nothing.
	Links func(context.Context) (cost.Costs, error)
}

// A Plan is the output of "peer plan".
type Plan struct {
	Run       string    `json:"run"`
	Workers   int       `json:"workers"`
	Machines  int       `json:"machines"`
	Cores     int       `json:"cores"` // of each machine
	Links     string    `json:"links"`
	Rounds    int       `json:"rounds"`
	Target    Target    `json:"target"`
	Costs     string    `json:"costs"` // of the reference on this machine, as peer sim --compute takes them
	Rehearsal Rehearsal `json:"rehearsal"`
	Rows      []Row     `json:"candidates"` // the best first
	Refused   []Refusal `json:"refused,omitempty"`
	Proofs    []Proof   `json:"proofs,omitempty"`
	Took      float64   `json:"took_s"`
	Counts    Counts    `json:"counts"`

	Best string `json:"best_run_file"` // of the first row
}

// A Target is what a run has to reach.
type Target struct {
	record.Target
	Why string `json:"why"`
}

// targets returns the target as a run watches it.
func (t Target) targets() record.Targets {
	if t.Metric == record.TestAccuracy {
		return record.Targets{Accuracy: t.Value}
	}
	return record.Targets{Loss: t.Value}
}

// Counts says what has become of the candidates.
type Counts struct {
	All      int `json:"all"`
	Reached  int `json:"reached"`
	Foreseen int `json:"foreseen"`
	Missed   int `json:"missed"`
	Diverged int `json:"diverged"`
	Untried  int `json:"untried"`
}

// A planner makes a plan.
type planner struct {
	Request
	base     *configs.Loaded
	every    int      // rounds between records of the run file
	limits   []string // settings of measured links
	gradient time.Duration
	links    cost.Costs
	costs    map[string]cost.Costs // by class of candidates
	began    time.Time             // of the simulations, which share the budget
	result   Plan
}

// Make makes a plan.
func Make(ctx context.Context, r Request) (*Plan, error) {
	began := time.Now()
	p := &planner{Request: r, costs: map[string]cost.Costs{}}
	if err := p.open(); err != nil {
		return nil, err
	}
	trials, err := p.admit()
	if err != nil {
		return nil, err
	}
	if p.Probe != nil {
		if err := p.probe(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.measureLinks(ctx); err != nil {
		return nil, err
	}
	if p.result.Machines == 1 {
		if err := p.rehearse(ctx); err != nil {
			return nil, err
		}
	}
	p.began = time.Now()
	f, err := p.search(ctx, trials)
	if err != nil {
		return nil, err
	}
	p.conclude(trials, f)
	if p.Prove > 0 {
		if err := p.prove(ctx, f, trials); err != nil {
			return nil, err
		}
	}
	p.result.Took = time.Since(began).Seconds()
	return &p.result, p.keepBest()
}

// open reads the run file and refuses what cannot be planned.
func (p *planner) open() error {
	if err := p.Axes.check(); err != nil {
		return err
	}
	if p.Budget <= 0 {
		return advice.Usagef("plan: --budget %v: want a time above 0", p.Budget)
	}
	loaded, err := configs.Load(p.Source)
	if err != nil {
		return err
	}
	cfg := loaded.Config
	if cfg.External() {
		return loaded.Locate(configs.Errorf("model.name", "plan simulates models that are built in, and the gradients of an "+
			"external one are in its script: use peer compare with mode lab, which starts the script"))
	}
	p.base, p.every = loaded, cfg.Output.Every
	run, err := p.assemble(Candidate{})
	if err != nil {
		return err
	}
	if err := run.FindData(); err != nil {
		return err
	}
	p.result = Plan{Run: cfg.Name, Workers: run.N(), Rounds: run.Config().Train.Rounds, Refused: []Refusal{}}
	p.base.Config.Topology.Size = run.N()
	if err := p.place(len(cfg.Peers) > 0); err != nil {
		return err
	}
	p.result.Links = linksOf(run.Network())
	return p.aim(run)
}

// place decides how many machines and cores the workers have.
func (p *planner) place(roster bool) error {
	n := p.result.Workers
	switch {
	case p.Machines == 0 && roster:
		p.Machines = n
	case p.Machines == 0:
		p.Machines = 1
	case p.Machines != 1 && p.Machines != n:
		return advice.Usagef("plan: --machines %d: want 1, which all %d workers share, or %d, one for each", p.Machines, n, n)
	}
	if p.Cores < 0 {
		return advice.Usagef("plan: --cores %d: want at least 1", p.Cores)
	}
	if p.Cores == 0 {
		p.Cores = runtime.NumCPU()
	}
	p.result.Machines, p.result.Cores = p.Machines, p.Cores
	return nil
}

// tell shows what is going on, and how much of the budget is left.
func (p *planner) tell(text string) {
	if p.Progress == nil {
		return
	}
	now := time.Now()
	left := ""
	if rest := p.Budget - now.Sub(p.began); !p.began.IsZero() && rest > 0 {
		left = fmt.Sprintf(", at most %s left", live.Clock(rest))
	}
	p.Progress("plan: "+text+left, now)
}

// say writes one line for the user.
func (p *planner) say(format string, args ...any) {
	if p.Talk != nil {
		fmt.Fprintf(p.Talk, format+"\n", args...)
	}
}
