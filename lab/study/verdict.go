package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// on returns the groups of a network.
func (s *Study) on(network string) []*Group {
	var all []*Group
	for _, g := range s.Groups {
		if g.Network.Name == network {
			all = append(all, g)
		}
	}
	return all
}

// reference returns the group with which the others are compared: D-PSGD in full precision if it is among them, else
// the first.
func reference(groups []*Group) *Group {
	const full = 32
	for _, g := range groups {
		for _, cell := range g.Cells {
			if cell.Summary != nil && cell.Algorithm == "dpsgd" && cell.Bits == full {
				return g
			}
		}
	}
	return groups[0]
}

// Conclusions names the fastest algorithm in a sentence per network and target, from the data alone.
func (s *Study) Conclusions() []string {
	var all []string
	for _, network := range s.Networks {
		groups := s.on(network.Name)
		if len(groups) == 0 {
			continue
		}
		if len(s.Targets.List()) == 0 {
			all = append(all, fmt.Sprintf("On %s no target was set.", network.Name))
		}
		all = append(all, orders(s, network.Name, groups)...)
	}
	return all
}

// orders names the fastest algorithm of a network at each target, among those with equally many workers.
func orders(s *Study, network string, groups []*Group) []string {
	var all []string
	for _, c := range classes(network, groups) {
		for _, target := range s.Targets.List() {
			all = append(all, conclude(s, c.name, c.groups, target))
		}
	}
	return all
}

func conclude(s *Study, network string, groups []*Group, target record.Target) string {
	if !slices.ContainsFunc(groups, func(g *Group) bool { return len(g.runs) > 0 && g.tells(target) }) {
		return concludeFinal(network, groups, target)
	}
	base := reference(groups)
	fastest, open := fastestOf(groups, target)
	if len(open) > 0 {
		return fmt.Sprintf("On %s the records do not show who is the first to reach %s: %s may be, in a time that is only "+
			"known to be at most %s s.", network, target, strings.Join(labelsOf(open), ", "), latestOf(open, target))
	}
	if fastest == nil {
		return fmt.Sprintf("On %s no algorithm reached %s in every run.", network, target)
	}
	time, verb := fastest.timeTo(target), "reach"
	if time.IsBound() {
		verb = "be seen at"
	}
	text := fmt.Sprintf("On %s %s is the first to %s %s, in %s s", network, fastest.Label, verb, target, time)
	switch {
	case fastest == base:
		text += "."
	case !base.tells(target):
		text += fmt.Sprintf("; it is not known when %s does.", base.Label)
	case !base.reaches(target):
		text += fmt.Sprintf("; %s does not reach it in every run.", base.Label)
	default:
		text += ahead(fastest, base, target)
	}
	if rivals := rivals(fastest, groups, target); len(rivals) > 0 {
		text += fmt.Sprintf(" These runs cannot distinguish it from %s.", strings.Join(rivals, ", "))
	}
	return text
}

// tells reports whether the records of all finished runs tell when they reached a target.
func (g *Group) tells(target record.Target) bool {
	return !slices.ContainsFunc(g.Cells, func(c cells.Cell) bool {
		run := g.runs[c.Seed]
		return run != nil && !run.tells(target)
	})
}

// concludeFinal names the groups that end at a target of accuracy, if there are no evaluations before the end.
func concludeFinal(network string, groups []*Group, target record.Target) string {
	var at []string
	for _, g := range groups {
		if n, all := g.endsAt(target); n > 0 && n == all {
			at = append(at, g.Label)
		}
	}
	text := fmt.Sprintf("On %s accuracy was measured at the end alone (output.evaluate is 0): ", network)
	if len(at) == 0 {
		return text + fmt.Sprintf("no algorithm ends at %s or above in every run.", target)
	}
	return text + fmt.Sprintf("%s end at %s or above in every run.", strings.Join(at, ", "), target)
}

// endsAt counts the runs whose last accuracy is at least that of the target.
func (g *Group) endsAt(target record.Target) (at, all int) {
	for _, v := range g.values(g.finalAccuracy) {
		if v >= target.Value {
			at++
		}
	}
	return at, len(g.Cells)
}

// ahead describes how much faster the fastest group is than the reference.
func ahead(fastest, base *Group, target record.Target) string {
	r := fastest.sooner(base, target)
	if r.IsBound() {
		return fmt.Sprintf("; whether that is before %s (%s s) these records do not tell.", base.Label, base.timeTo(target))
	}
	text := fmt.Sprintf(": %.1f %% of the time of %s, speedup %s×", 100/r.Mean, base.Label, human.Digits(r.Mean, 3))
	switch {
	case r.N < 2:
		return text + "; one seed says nothing about how certain that is."
	case r.Against(1) != 0:
		return text + fmt.Sprintf(" (95 %% interval over %d seeds: %s).", r.N, r.Range())
	}
	return text + fmt.Sprintf("; over %d seeds that is not certain (95 %% interval: %s).", r.N, r.Range())
}

// rivals names the groups, except for the reference, that may be as fast as the fastest.
func rivals(fastest *Group, groups []*Group, target record.Target) []string {
	var all []string
	for _, g := range groups {
		if g == fastest || g == reference(groups) {
			continue
		}
		r := fastest.sooner(g, target)
		if r.N > 1 && r.N == len(g.Cells) && r.Against(1) == 0 {
			all = append(all, g.Label)
		}
	}
	return all
}

// fastestOf returns the group with the least mean time to the target among those that reached it in every run; nil if
// there is none. A group whose time is only a bound may have been there at any earlier time. So it is the fastest only
// if no other is bounded and its bound lies below the times of all others. Else none is, and these groups may be first.
func fastestOf(groups []*Group, target record.Target) (fastest *Group, open []*Group) {
	for _, g := range groups {
		switch {
		case !g.reaches(target):
		case g.timeTo(target).IsBound():
			open = append(open, g)
		case fastest == nil || g.timeTo(target).Mean < fastest.timeTo(target).Mean:
			fastest = g
		}
	}
	if len(open) == 0 {
		return fastest, nil
	}
	earliest := slices.MinFunc(open, func(a, b *Group) int {
		return cmp.Compare(a.timeTo(target).High, b.timeTo(target).High)
	}).timeTo(target).High
	switch {
	case fastest != nil && fastest.timeTo(target).Mean <= earliest:
		return nil, append(open, fastest)
	case len(open) == 1:
		return open[0], nil
	}
	return nil, open
}

// latestOf writes the largest bound of groups on their time to a target.
func latestOf(groups []*Group, target record.Target) string {
	latest := 0.0
	for _, g := range groups {
		latest = max(latest, g.timeTo(target).High)
	}
	return human.Digits(latest, 3)
}

// labelsOf returns the labels of groups.
func labelsOf(groups []*Group) []string {
	var all []string
	for _, g := range groups {
		all = append(all, g.Label)
	}
	return all
}
