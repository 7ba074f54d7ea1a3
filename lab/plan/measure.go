package plan

import (
	"context"
	"fmt"

	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/lab/rehearse"
)

// costsOf returns the costs of a candidate on this machine. They are measured once for each kind of message. The
// gradient is that of the first measurement: it depends on no algorithm.
func (p *planner) costsOf(c Candidate, run *experiment.Run) (cost.Costs, error) {
	class := c.class()
	if known, ok := p.costs[class]; ok {
		return known, nil
	}
	costs, err := rehearse.Costs(run)
	if err != nil {
		return costs, fmt.Errorf("plan: measure %s: %w", c, err)
	}
	if p.gradient == 0 {
		p.gradient = costs.Gradient
	}
	costs.Gradient = p.gradient
	costs.Frame, costs.Link, costs.Late = p.links.Frame, p.links.Link, p.links.Late
	p.costs[class] = costs
	return costs, nil
}

// measureLinks measures what links cost the processor. Processes of this program exchange messages over loopback.
func (p *planner) measureLinks(ctx context.Context) error {
	if p.Links == nil {
		return nil
	}
	p.tell("measures frames between processes")
	var err error
	if p.links, err = p.Links(ctx); err != nil {
		return fmt.Errorf("plan: measure links: %w", err)
	}
	return nil
}

// scaled returns costs as they are among all peers of this machine. Lateness is no processor time.
func (p *planner) scaled(c cost.Costs) cost.Costs {
	if factor := p.result.Rehearsal.Processor; factor != 0 {
		return c.Times(factor)
	}
	return c
}
