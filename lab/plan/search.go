package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// admit builds the run of every candidate, without its workers, and refuses those that cannot be built. Candidates with
// the same settings are one.
func (p *planner) admit() ([]*trial, error) {
	all, refused := p.Axes.candidates(p.base.Config)
	p.result.Refused = append(p.result.Refused, refused...)
	var trials []*trial
	var files [][]byte
	for _, c := range all {
		var sends traffic
		loaded, err := p.load(c)
		if err == nil {
			c.Method = loaded.Config.Method().String()
			var run *experiment.Run
			if run, err = session.AssembleHere(loaded, p.mode()); err == nil {
				sends = trafficOf(run)
			}
		}
		if err != nil {
			if c.File {
				return nil, err
			}
			p.refuse(c, err)
			continue
		}
		file := loaded.Config.YAML()
		if i := slices.IndexFunc(files, func(f []byte) bool { return bytes.Equal(f, file) }); i >= 0 {
			if trials[i].File {
				c.File = true
				trials[i].Candidate = c
			}
			continue
		}
		if c.File {
			c = ofFile(loaded)
		}
		trials, files = append(trials, &trial{Candidate: c, every: p.every, sends: sends}), append(files, file)
	}
	return trials, nil
}

// mode is the command that the candidates are for.
func (p *planner) mode() string {
	if p.result.Machines == 1 {
		return "lab"
	}
	return "sim"
}

// ofFile describes the run file as it is.
func ofFile(l *configs.Loaded) Candidate {
	a := l.Config.Algorithm
	c := Candidate{Algorithm: a.Name, Method: l.Config.Method().String(), Bits: a.Bits, Graph: l.Config.Topology.Kind,
		Steps: a.LocalSteps, File: true}
	if run, err := session.Assemble(l); err == nil {
		c.Bits = run.Bits()
		c.Graph = string(run.Graph().Spec().Kind)
	}
	return c
}

// refuse notes why a candidate cannot run.
func (p *planner) refuse(c Candidate, err error) {
	why := err.Error()
	if e, ok := errors.AsType[*configs.Error](err); ok && len(e.Problems) > 0 {
		why = strings.TrimSpace(e.Problems[0].Key + " " + e.Problems[0].Message)
	}
	r := Refusal{c.String(), why}
	p.result.Refused = append(p.result.Refused, r)
}

// search simulates the reference, and then the candidates by successive halving.
func (p *planner) search(ctx context.Context, trials []*trial) (*forecaster, error) {
	reference, speed, err := p.refer(ctx)
	if err != nil {
		return nil, err
	}
	f := &forecaster{target: p.result.Target.Target, reference: reference.curve, rehearsal: p.result.Rehearsal,
		error: p.error()}
	p.result.Costs = p.costs[reference.class()].String()
	for _, t := range trials {
		if slices.Equal(t.Set, reference.Set) || t.String() == reference.String() {
			t.curve, t.halvingStage = reference.curve, finished
		}
	}
	if err := estimateAll(p, reference, trials); err != nil {
		return nil, err
	}
	return f, p.halve(ctx, f, trials, speed)
}

// estimateAll estimates the trials by bytes and links, with the gradient of the reference.
func estimateAll(p *planner, reference *trial, trials []*trial) error {
	run, err := p.assemble(reference.Candidate)
	if err != nil {
		return err
	}
	gradient := p.scaled(p.costs[reference.class()]).Gradient
	if cores := p.shared(); cores > 0 && run.N() > cores {
		gradient = gradient * time.Duration(run.N()) / time.Duration(cores)
	}
	for _, t := range trials {
		if t.sends.payload > 0 {
			t.guess = &estimate{}
			t.guess.seconds, t.guess.bytes = t.sends.round(gradient, run.Network().Uplink)
		}
	}
	return nil
}

// finished is the rung of a trial that needs no further simulation.
const finished = 1 << 20

// error returns the relative error of the predicted time of a round. With a rehearsal it follows from the scatter, but
// is at least what docs/results/plan.md finds.
func (p *planner) error() float64 {
	if p.result.Machines == 1 {
		return max(leastError, 2*p.result.Rehearsal.scatter())
	}
	return 2 * leastError
}

// leastError is the relative error that 19 of 20 predictions keep on an idle machine.
const leastError = 0.1

// halve carries out the rungs.
func (p *planner) halve(ctx context.Context, f *forecaster, trials []*trial, speed *pace) error {
	open := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.halvingStage == finished })
	deadline := p.began.Add(p.Budget)
	affordable := speed.affords(deadline.Sub(p.Clock()))
	steps := rungs(len(open), first, p.result.Rounds, max(affordable, first))
	for i, step := range steps {
		open = f.best(open, step.keep)
		for k, t := range open {
			if !p.Clock().Before(deadline) {
				return nil // the others keep their estimates or shorter curves
			}
			p.tell(fmt.Sprintf("simulates %d candidates for %d rounds, %d done%s", len(open), step.rounds, k,
				stage(i, len(steps))))
			if err := p.simulate(ctx, t, end{step.rounds, deadline, p.result.Target}); err != nil {
				return fmt.Errorf("plan: %s: %w", t, err)
			}
			t.halvingStage = i + 1
			if t.diverged != "" || t.curve.reach(f.target) > 0 || t.curve.complete() {
				t.halvingStage = finished
			}
		}
		open = slices.DeleteFunc(open, func(t *trial) bool { return t.halvingStage == finished })
	}
	return nil
}

func stage(i, of int) string {
	if of == 1 {
		return ""
	}
	return fmt.Sprintf(", step %d of %d", i+1, of)
}

// best returns the best of some trials, by bytes and links before any simulation. The run file as it is always goes on.
func (f *forecaster) best(trials []*trial, keep int) []*trial {
	points := make([]point, len(trials))
	for i, t := range trials {
		r := f.row(t)
		points[i] = r.point()
	}
	var kept []*trial
	for _, i := range ranked(points) {
		if t := trials[i]; len(kept) < keep || t.File {
			kept = append(kept, t)
		}
	}
	return kept
}

// conclude makes the rows, the best first, and marks the frontier. A prediction from a rung before the last one is too
// uncertain for the frontier, and so is an estimate, unless there is nothing else.
func (p *planner) conclude(trials []*trial, f *forecaster) {
	last, tried := 0, 0
	for _, t := range trials {
		if t.curve != nil && t.curve != f.reference {
			tried++
		}
		if t.halvingStage != finished {
			last = max(last, t.halvingStage)
		}
	}
	var rows []Row
	var points []point
	for _, t := range trials {
		r := f.row(t)
		at := r.point()
		if t.halvingStage < last || r.Outcome == outcomeEstimated && tried > 0 {
			at = point{inf, inf}
		}
		rows, points = append(rows, r), append(points, at)
		p.result.Counts.count(r.Outcome)
	}
	layer := fronts(points)
	for i := range rows {
		rows[i].Frontier = layer[i] == 0
	}
	p.result.Rows = arrange(rows)
}

// keepBest keeps the run file of the best candidate, and what its peers take of their disks.
func (p *planner) keepBest() error {
	if !p.result.reaches() {
		return nil
	}
	loaded, err := p.load(p.result.Rows[0].Candidate)
	if err != nil {
		return err
	}
	p.result.Best.RunFile = string(loaded.Config.WithoutSecrets().YAML())
	run, err := session.Assemble(loaded)
	if err != nil {
		return err
	}
	p.result.Best.Disk = describe.DiskOf(run)
	return nil
}
