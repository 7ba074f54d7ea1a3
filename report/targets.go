package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// WriteTargets prints the time to the target of every algorithm on every network
// and, in brackets, how many times sooner than the reference that is, paired by
// seed: means over the seeds where all runs reached it.
func (s *Study) WriteTargets(w io.Writer) error {
	target := s.Targets.String()
	if target == "" {
		return nil
	}
	base := reference(s.Groups)
	fmt.Fprintf(w, "\nseconds to %s (how many times sooner than %s):\n\n", target, base.Label)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "ALGORITHM\t")
	for _, network := range s.Networks {
		fmt.Fprintf(t, "%s\t", network.Name)
	}
	fmt.Fprintln(t)
	for _, label := range s.Labels {
		fmt.Fprintf(t, "%s\t", label)
		for _, network := range s.Networks {
			groups := s.on(network.Name)
			at := slices.IndexFunc(groups, func(g *Group) bool { return g.Label == label })
			if at < 0 {
				fmt.Fprint(t, "\t")
				continue
			}
			fmt.Fprintf(t, "%s\t", s.timeToTarget(groups[at], reference(groups)))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// timeToTarget writes the time of g and by how much it is sooner than base.
func (s *Study) timeToTarget(g, base *Group) string {
	own := g.estimate(toTarget)
	if own.N == 0 || own.N < len(g.Cells) {
		return "-"
	}
	if sooner := s.speedup(g, base); sooner != "-" {
		return fmt.Sprintf("%s (%s)", own, sooner)
	}
	return own.String()
}
