package plan

import (
	"context"
	"fmt"
	"math"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/session"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// aim reads the target that the user has given.
func (p *planner) aim(run *experiment.Run) error {
	until, err := session.ParseUntil("plan", p.Until)
	if err != nil {
		return err
	}
	goals := until.Targets.List()
	switch {
	case until.Time > 0 || len(goals) > 1:
		return advice.Usagef("plan: --until: want one target, loss=0.5 or accuracy=0.9")
	case len(goals) == 0:
		return nil
	}
	if err := until.Check(run); err != nil {
		return p.base.Locate(err)
	}
	p.result.Target = Target{goals[0], "as --until says"}
	return nil
}

// derive takes as target the loss that the reference has after three quarters of its rounds. So candidates that learn a
// little more slowly reach it, too.
func (p *planner) derive(reference *curve) {
	if p.result.Target.Metric != "" {
		return
	}
	p.result.Target = Target{record.Target{Metric: record.TrainingLoss, Value: roundUp(reference.end())},
		fmt.Sprintf("that of D-PSGD at 32 bit after %d of %d rounds", reference.length()*3/4, reference.rounds)}
}

// roundUp rounds a positive number up to two digits.
func roundUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	digits := math.Ceil(v/unit - 1e-9)
	if unit < 1 { // so that 0.04 is not 0.040000000000000001
		return digits / math.Round(1/unit)
	}
	return digits * unit
}

// A pace is how long simulations take on this machine.
type pace struct {
	round time.Duration // of one candidate
}

// measured notes a simulation of some rounds.
func (s *pace) measured(took time.Duration, rounds int) {
	s.round = took / time.Duration(max(1, rounds))
}

// affords returns how many rounds fit into a time.
func (s *pace) affords(left time.Duration) int { return int(max(0, left) / max(1, s.round)) }

// refer simulates the reference: a few rounds for the pace, then as many as a share of the budget affords.
func (p *planner) refer(ctx context.Context) (*trial, *pace, error) {
	t, speed := &trial{Candidate: p.reference(full), every: p.every}, &pace{}
	deadline := p.Clock().Add(left(p) / 2) // a slow machine must not spend all on it
	rounds := min(p.result.Rounds, first)
	for range 2 {
		p.tell(fmt.Sprintf("simulates D-PSGD for %d of %d rounds", rounds, p.result.Rounds))
		began := p.Clock()
		if err := p.simulate(ctx, t, end{rounds, deadline, p.result.Target}); err != nil {
			return nil, nil, err
		}
		if t.diverged != "" {
			return nil, nil, advice.With(fmt.Errorf("plan: D-PSGD in full precision, the reference, diverges: %s", t.diverged),
				"try a smaller train.step_size")
		}
		speed.measured(p.Clock().Sub(began), t.curve.length())
		rounds = min(p.result.Rounds, max(rounds, speed.affords(left(p)/referenceShare)))
		if rounds <= t.curve.length() || !p.Clock().Before(deadline) ||
			p.result.Target.Metric != "" && t.curve.reach(p.result.Target.Target) > 0 {
			break
		}
	}
	p.derive(t.curve)
	return t, speed, nil
}

const (
	// first is the number of rounds of the shortest simulations: some exchanges and the first losses.
	first = 16
	// referenceShare is the part of the remaining budget, 1/4, that the reference takes at most.
	referenceShare = 4
)
