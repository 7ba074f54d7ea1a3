package simulate

import (
	"context"
	"fmt"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/session"
	"gossiptrainer/internal/cost"
)

// costs returns the costs of a run: those of the checkpoint from which it goes on, as given, or as measured now.
func (t *Timing) costs(ctx context.Context, s *Run, links func(context.Context) (cost.Costs, error)) (
	cost.Costs, error) {
	if from := s.From; from != nil {
		return t.again(from)
	}
	run := s.Session.Run
	switch {
	case t.Compute.Measured:
		costs, err := run.MeasureCosts()
		if err != nil {
			return costs, err
		}
		ends, err := links(ctx)
		if err != nil {
			return costs, fmt.Errorf("sim: measure links: %w", err)
		}
		costs.Frame, costs.Link, costs.Late = ends.Frame, ends.Link, ends.Late
		return costs, nil
	case t.Compute.Given():
		return t.Compute.Costs, nil
	}
	took, err := run.MeasureGradient(session.Gradients)
	return cost.Costs{Gradient: took}, err
}

// again returns the costs with which a run began. Others would make another run of it.
func (t *Timing) again(from *Resumed) (cost.Costs, error) {
	began := from.costs()
	if t.Compute.Given() && !t.Compute.Measured && t.Compute.Costs != began {
		return began, advice.Usagef("sim: --compute %v: the run began with %v: leave the flag out", t.Compute,
			cost.Compute{Costs: began})
	}
	if t.Cores > 0 && int(t.Cores) != from.Cores {
		return began, advice.Usagef("sim: --cores %d: the run began with %d: leave the flag out", t.Cores, from.Cores)
	}
	t.Cores = uint(from.Cores)
	return began, nil
}

// costs returns the costs of the run of a checkpoint.
func (k *kept) costs() cost.Costs {
	costs := k.Costs
	costs.Gradient = k.Compute
	return costs
}
