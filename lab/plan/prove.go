package plan

import (
	"context"
	"fmt"

	"gossiptrainer/internal/record"
)

// proved is how many candidates are proved.
const proved = 3

// prove runs the best candidates with real peers. Their predictions are those for peers that share this machine, which
// may be others than those of the plan.
func (p *planner) prove(ctx context.Context, f *forecaster, trials []*trial) error {
	rows := p.result.Rows[:min(proved, len(p.result.Rows))]
	for i, r := range rows {
		if r.Simulated == 0 {
			break
		}
		p.tell(fmt.Sprintf("proves %d of %d with real peers: %s", i+1, len(rows), r.Candidate))
		row := &r
		if p.result.Machines != 1 {
			var err error
			if row, err = p.here(ctx, f, r.Candidate, trials); err != nil {
				return err
			}
		}
		done, err := p.lab(ctx, r.Candidate, p.proof())
		if err != nil {
			return err
		}
		p.result.Proofs = append(p.result.Proofs, proofOf(row, done, p.result.Target.Target))
	}
	return nil
}

// proof ends a run with real peers at the target, or when its time is up.
func (p *planner) proof() labTask {
	metric, set := "loss", []string{"output.evaluate=0"}
	if p.result.Target.Metric == record.TestAccuracy {
		metric, set = "accuracy", nil
	}
	return labTask{set: set, flags: []string{"time=" + proving.String(),
		fmt.Sprintf("%s=%v", metric, p.result.Target.Value)}}
}

// here predicts a candidate for peers that share the cores of this machine.
func (p *planner) here(ctx context.Context, f *forecaster, c Candidate, trials []*trial) (*Row, error) {
	machines := p.result.Machines
	p.result.Machines = 1
	defer func() { p.result.Machines = machines }()
	t := &trial{Candidate: c, every: p.every}
	for _, known := range trials {
		if known.String() == c.String() && known.curve != nil {
			if err := p.simulate(ctx, t, end{known.curve.length(), p.Clock().Add(proving), p.result.Target}); err != nil {
				return nil, err
			}
		}
	}
	r := f.row(t)
	return &r, nil
}

// proofOf compares a prediction with what real peers have done. A round is the mean of all rounds that they did.
func proofOf(r *Row, done *labRun, target record.Target) Proof {
	proof := Proof{Candidate: r.Candidate, Rounds: done.Summary.Rounds, Predicted: r.Round, Measured: done.whole}
	if at := done.Run.Reach(target); at != nil && at.Known() && r.Time != nil {
		proof.Time = &Compare{Predicted: *r.Time, Measured: at.Time}
	}
	return proof
}
