package plan

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// rehearsed is the share of the budget that one run of the rehearsal takes.
	rehearsed = 1.0 / 16
	// paced is how many rounds are simulated without gradients, for the time of a round alone.
	paced = 24
	// tolerable is a relative difference of times that needs no correction.
	tolerable = 0.01
	// The work of a peer takes between a quarter and 32 times as long as measured alone.
	quickest, slowest = 0.25, 32.0
)

// rehearse runs real peers, with short and with long messages, and fits the time of their work.
func (p *planner) rehearse(ctx context.Context) error {
	short, long := p.reference(1), p.reference(full)
	var parts []Part
	for _, c := range []Candidate{short, long} {
		part, err := p.part(ctx, c)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	factor, err := p.fit(ctx, &parts[0])
	if err != nil {
		return err
	}
	run, err := p.assemble(long)
	if err != nil {
		return err
	}
	costs, err := p.costsOf(long, run)
	if err != nil {
		return err
	}
	if parts[1].Simulated, err = p.pacing(ctx, &trial{Candidate: long}, times(costs, factor), paced); err != nil {
		return err
	}
	p.result.Rehearsal = Rehearsal{Processor: factor, Parts: parts}
	return nil
}

// part runs one candidate as a lab, for a short time.
func (p *planner) part(ctx context.Context, c Candidate) (Part, error) {
	p.tell(fmt.Sprintf("rehearses with real peers: %s", c))
	run, err := p.assemble(c)
	if err != nil {
		return Part{}, err
	}
	costs, err := p.costsOf(c, run)
	if err != nil {
		return Part{}, err
	}
	part := Part{Candidate: c}
	if part.Simulated, err = p.pacing(ctx, &trial{Candidate: c}, costs, paced); err != nil {
		return part, err
	}
	cfg := run.Config()
	took := min(6*time.Second, max(3*time.Second, time.Duration(rehearsed*float64(p.Budget))))
	every := max(1, min(p.every, int(0.05/part.Simulated)))
	done, err := p.lab(ctx, c, labTask{flags: []string{"time=" + took.String()}, set: append(
		cfg.Shortened(int(10*took.Seconds()/part.Simulated)+100), fmt.Sprint("output.every=", every),
		"output.evaluate=0", "output.evaluate_samples=32")})
	if err != nil {
		return part, err
	}
	part.Rounds, part.Measured, part.Scatter = done.rounds, done.steady, done.scatter
	return part, nil
}

// fit returns the factor on the time of work with which the simulated round is as long as the measured one, and notes
// the simulated time. A round that links decide says nothing about work: then the factor is 1.
func (p *planner) fit(ctx context.Context, part *Part) (float64, error) {
	run, err := p.assemble(part.Candidate)
	if err != nil {
		return 0, err
	}
	costs, err := p.costsOf(part.Candidate, run)
	if err != nil {
		return 0, err
	}
	at := func(factor float64) (float64, error) {
		return p.pacing(ctx, &trial{Candidate: part.Candidate}, times(costs, factor), paced)
	}
	return fitted(part, at)
}

// fitted searches the factor by bisection of its logarithm.
func fitted(part *Part, at func(factor float64) (float64, error)) (float64, error) {
	if math.Abs(part.Simulated/part.Measured-1) < tolerable {
		return 1, nil
	}
	low, high := math.Log(quickest), math.Log(slowest)
	const steps = 9
	factor := 1.0
	for range steps {
		factor = math.Exp((low + high) / 2)
		seconds, err := at(factor)
		if err != nil {
			return 0, err
		}
		part.Simulated = seconds
		if seconds < part.Measured {
			low = math.Log(factor)
		} else {
			high = math.Log(factor)
		}
	}
	return factor, nil
}
