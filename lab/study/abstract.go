package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// abstractOn returns the sentences about a network.
func abstractOn(s *Study, network string) []string {
	groups := s.on(network)
	if len(groups) == 0 {
		return nil
	}
	all := orders(s, network, groups)
	if len(classes(network, groups)) == 1 { // sentences on each of several classes would hide their growth
		all = append(all, steady(s, network, groups), accuracies(network, groups), lighter(network, groups))
	}
	all = append(all, growth(s, network), failures(network, groups))
	return slices.DeleteFunc(all, func(sentence string) bool { return sentence == "" })
}

// scope says how large the comparison is.
func scope(s *Study) string {
	text := fmt.Sprintf("%s: %s on %s with %s", human.Count(len(s.Cells), "cell"),
		human.Count(len(s.first()), "algorithm"), human.Count(len(s.Networks), "network"), human.Count(len(s.Seeds), "seed"))
	if s.Mode == "sim" {
		text += ", in virtual time"
	} else {
		text += ", with real peers"
	}
	var workers, sizes []string
	for _, setup := range s.Setups {
		if n := fmt.Sprint(setup.Workers); !slices.Contains(workers, n) {
			workers = append(workers, n)
		}
		if n := grouped(setup.Parameters); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	if len(s.Setups) > 0 {
		text += fmt.Sprintf("; %s workers train a model of %s parameters", strings.Join(workers, ", "),
			strings.Join(sizes, " or "))
	}
	var sets []string
	for _, f := range s.Data {
		if f.Set != "script" && !slices.Contains(sets, f.Set) {
			sets = append(sets, f.Set)
		}
	}
	if len(sets) > 0 {
		text += " on " + strings.Join(sets, ", ")
	}
	return text + "."
}

// accuracies says which algorithms of a network end as accurate as the reference, as far as the intervals tell.
func accuracies(network string, groups []*Group) string {
	said := map[Verdict][]string{}
	base := reference(groups)
	for _, g := range groups {
		if g == base {
			continue
		}
		if c, measured := accurate(g, base); measured && c.Verdict != notTested {
			said[c.Verdict] = append(said[c.Verdict], fmt.Sprintf("%s (%s)", g.Label, c.Measured))
		}
	}
	if len(said) == 0 {
		return ""
	}
	text := fmt.Sprintf("On %s these end at most %.1f points below the accuracy of %s (%s): %s.", network, 100*points,
		base.Label, evidence(groups...), orNone(strings.Join(said[supported], ", ")))
	if lower := said[notSupported]; len(lower) > 0 {
		text += fmt.Sprintf(" These end further below: %s.", strings.Join(lower, ", "))
	}
	if labels := said[open]; len(labels) > 0 {
		text += fmt.Sprintf(" Inconclusive: %s.", strings.Join(labels, ", "))
	}
	return text
}

// lighter says how many times fewer bytes a round of each algorithm sends than one of the reference.
func lighter(network string, groups []*Group) string {
	base := reference(groups)
	var names []string
	for _, g := range groups {
		r := ratioOf(base.values(bytesPerRound), g.values(bytesPerRound))
		if g != base && r.N > 0 && (r.Mean >= 1.05 || r.Mean <= 0.95) {
			names = append(names, fmt.Sprintf("%s %s", g.Label, r))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("On %s a round sends fewer bytes on the wire than one of %s, by these factors: %s.", network,
		base.Label, strings.Join(names, ", "))
}

func bytesPerRound(c cells.Cell, _ *trace) *float64 {
	v := float64(c.BytesPerPeer.Wire) / float64(max(1, c.Rounds))
	return &v
}

// growth says how the time of a round grows with the number of workers, and how far the formula is off.
func growth(s *Study, network string) string {
	var names []string
	off := 0.0
	for _, f := range families(s, network) {
		first, last := f.at[0], f.at[len(f.at)-1]
		if first.took.N == 0 || last.took.N == 0 {
			continue
		}
		names = append(names, fmt.Sprintf("%s %.2f times (%d to %d)", f.name, last.took.Mean/first.took.Mean,
			first.workers, last.workers))
		for _, p := range f.at {
			if r := p.ratio(); !math.IsNaN(r) {
				off = max(off, math.Abs(r-1))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("On %s the time of a round grows so with the number of workers: %s. The formula is off by at most "+
		"%.1f %%.", network, strings.Join(names, "; "), 100*off)
}

// failures names the algorithms of a network that did not finish every run.
func failures(network string, groups []*Group) string {
	var names []string
	for _, g := range groups {
		if n := g.ended(cells.Diverged) + g.ended(cells.Failed); n > 0 {
			names = append(names, fmt.Sprintf("%s (%s %s)", g.Label, human.Part(n, len(g.Cells), "run"), g.fate()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("On %s not every run ends: %s.", network, strings.Join(names, ", "))
}

// answered counts the points of the checklist.
func answered(s *Study) string {
	good, apply := 0, 0
	for _, c := range s.checklist() {
		if c.Answer != notApplicable {
			apply++
		}
		if c.Answer == met {
			good++
		}
	}
	return fmt.Sprintf("Of the %d points of the checklist that apply, %d %s met.", apply, good,
		human.Verb(good, "is", "are"))
}
