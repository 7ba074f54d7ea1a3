package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/record"
)

const (
	// rehearsed is the share of the budget that one run of the rehearsal takes.
	rehearsed = 1.0 / 16
	// paced is how many rounds are simulated without gradients, for the time of a round alone.
	paced = 24
	// The work of a peer takes between a quarter and 32 times as long as measured alone.
	quickest, slowest = 0.25, 32.0
)

// rehearse runs real peers, with short and with long messages, and finds out how much longer work takes among them.
func (p *planner) rehearse(ctx context.Context) error {
	var r Rehearsal
	for _, bits := range []int{1, full} {
		part, lead, err := p.part(ctx, p.reference(bits))
		if err != nil {
			return err
		}
		if bits == 1 { // long messages hide the start
			r.Start = lead
		}
		r.Parts = append(r.Parts, part)
	}
	r.Processor = 1
	if real := r.Parts[0].Gradient; real > 0 && p.gradient > 0 {
		r.Processor = min(slowest, max(quickest, real/p.gradient.Seconds()))
	}
	p.result.Rehearsal = Rehearsal{Processor: r.Processor}
	for i := range r.Parts {
		part := &r.Parts[i]
		p.tell(fmt.Sprintf("simulates what real peers did: %s", part.Candidate))
		t := &trial{Candidate: part.Candidate, every: p.every}
		if err := p.simulate(ctx, t, end{part.Rounds, p.Clock().Add(left(p) / 4), Target{}}); err != nil {
			return err
		}
		if t.diverged != "" {
			return advice.With(fmt.Errorf("plan: %s diverges: %s", t, t.diverged), "a smaller train.step_size")
		}
		if part.Simulated, _ = blocks(t.curve.all); part.Simulated == 0 {
			part.Simulated, _ = t.curve.steady()
		}
		if i == 0 {
			r.Start = max(0, r.Start-lead(t.curve.all, part.Simulated))
		}
	}
	p.result.Rehearsal = r
	return nil
}

// lead returns the seconds by which the first fifth of the moments took longer than as many steady rounds.
func lead(moments []record.Moment, steady float64) float64 {
	if len(moments) == 0 {
		return 0
	}
	m := moments[len(moments)/5]
	return m.Time.Seconds() - m.Round*steady
}

// part runs one candidate as a lab, for a short time. It also returns the lead of the first rounds.
func (p *planner) part(ctx context.Context, c Candidate) (Part, float64, error) {
	p.tell(fmt.Sprintf("rehearses with real peers: %s", c))
	run, err := p.assemble(c)
	if err != nil {
		return Part{}, 0, err
	}
	costs, err := p.costsOf(c, run)
	if err != nil {
		return Part{}, 0, err
	}
	part := Part{Candidate: c}
	if part.Simulated, err = p.pacing(ctx, &trial{Candidate: c}, costs, paced); err != nil {
		return part, 0, err
	}
	cfg := run.Config()
	took := min(6*time.Second, max(1500*time.Millisecond, time.Duration(rehearsed*float64(p.Budget))))
	every := max(1, min(p.every, int(0.05/part.Simulated)))
	short := cfg.Shortened(int(10*took.Seconds()/part.Simulated) + 100)
	done, err := p.lab(ctx, c, labTask{flags: []string{"time=" + took.String()},
		set: slices.Concat(short, cfg.Untested(), []string{fmt.Sprint("output.every=", every)})})
	if err != nil {
		return part, 0, err
	}
	part.Rounds, part.Measured, part.Scatter = done.Summary.Rounds, done.steady, done.scatter
	part.Gradient = done.Round(run.Config().Train.Slowdown).Compute.Seconds()
	return part, lead(done.Run.Progress(), done.steady), nil
}
