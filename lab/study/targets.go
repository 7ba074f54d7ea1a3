package study

import (
	"fmt"
	"io"
	"slices"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// WriteTargets prints the time of every algorithm to every target on every network, with its 95 % interval in square
// brackets. If all runs reached the target, the speedup over the reference, paired by seed, stands in round brackets.
func (s *Study) WriteTargets(w io.Writer) error {
	for _, target := range s.Goals() {
		if err := s.writeTarget(w, target); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

func (s *Study) writeTarget(w io.Writer, target record.Target) error {
	fmt.Fprintf(w, "\nseconds to %s [95 %% interval] (speedup over %s):\n\n", target,
		referenceOf(s.first()))
	t := human.AlignRight(w)
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
			fmt.Fprintf(t, "%s\t", timeToTarget(groups[at], reference(alike(groups, groups[at])), target))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// timeToTarget writes the time of g and its speedup over base.
func timeToTarget(g, base *Group, target record.Target) string {
	switch {
	case len(g.runs) > 0 && !g.tells(target):
		return "not known"
	case !g.reaches(target):
		return "-"
	}
	text := g.timeTo(target).String()
	if sooner := g.speedup(base, target); sooner.N > 0 {
		text += fmt.Sprintf(" (%s)", human.Digits(sooner.Mean, 3))
	}
	return text
}
