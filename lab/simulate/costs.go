package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/session"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/lab/rehearse"
)

// Measure replaces a request for measured costs by those of this machine. Runs that differ in their networks have the
// same: those of the quickest network, because slow links hide them.
func (t *Timing) Measure(ctx context.Context, runs []*experiment.Run, links rehearse.Links) error {
	if !t.Compute.Measured {
		return nil
	}
	quickest := slices.MinFunc(runs, func(a, b *experiment.Run) int {
		return cmp.Compare(forecast.OnLinks(a), forecast.OnLinks(b))
	})
	costs, err := rehearse.Measure(ctx, quickest, links)
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	t.Compute = cost.Compute{Costs: costs}
	return nil
}

// costs returns the costs of a run: those of the checkpoint from which it goes on, as given, or a gradient's alone.
func (t *Timing) costs(s *Run) (cost.Costs, error) {
	if s.From != nil {
		return t.again(s.From)
	}
	if t.Compute.Given() {
		return t.Compute.Costs, nil
	}
	took, err := rehearse.Gradient(s.Session.Run, session.Gradients)
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
