package report

import (
	"fmt"
	"strings"
)

// Target says what times are taken to, "" if there is no target.
func (t Targets) String() string {
	switch {
	case t.Loss > 0:
		return fmt.Sprintf("training loss %g", t.Loss)
	case t.Accuracy > 0:
		return fmt.Sprintf("accuracy %g", t.Accuracy)
	}
	return ""
}

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

// reference returns the group that the others are measured against: D-PSGD in
// full precision where it is one of them, else the first.
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

// Conclusions says in a sentence per network who was fastest, from the data
// alone.
func (s *Study) Conclusions() []string {
	var all []string
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			all = append(all, s.conclude(network.Name, groups))
		}
	}
	return all
}

func (s *Study) conclude(network string, groups []*Group) string {
	target := s.Targets.String()
	if target == "" {
		return fmt.Sprintf("On %s no target was set.", network)
	}
	base := reference(groups)
	fastest := fastestOf(groups)
	switch {
	case fastest == nil:
		return fmt.Sprintf("On %s no algorithm reached %s in every run.", network, target)
	case fastest == base:
		return fmt.Sprintf("On %s %s is the first to reach %s, in %s s.", network, base.Label, target, base.estimate(toTarget))
	case base.estimate(toTarget).N < len(base.Cells):
		return fmt.Sprintf("On %s %s is the first to reach %s, in %s s; %s does not reach it in every run.",
			network, fastest.Label, target, fastest.estimate(toTarget), base.Label)
	}
	r := RatioOf(fastest.values(toTarget), base.values(toTarget), s.Seeds)
	text := fmt.Sprintf("On %s %s is the first to reach %s, in %s s: %.1f %% of the time of %s, %.2f times sooner",
		network, fastest.Label, target, fastest.estimate(toTarget), 100*r.Mean, base.Label, 1/r.Mean)
	switch {
	case r.N < 2:
		return text + "; one seed says nothing about how certain that is."
	case r.Certain():
		return text + fmt.Sprintf(" (95 %% interval over %d seeds: %.2f to %.2f times).", r.N, 1/r.High, 1/r.Low)
	}
	return text + fmt.Sprintf("; over %d seeds that is not certain (95 %% interval: %.2f to %.2f times).", r.N, 1/r.High, 1/r.Low)
}

// fastestOf returns the group with the least mean time to the target among
// those that reached it in every run.
func fastestOf(groups []*Group) *Group {
	var fastest *Group
	for _, g := range groups {
		e := g.estimate(toTarget)
		if e.N < len(g.Cells) {
			continue
		}
		if fastest == nil || e.Mean < fastest.estimate(toTarget).Mean {
			fastest = g
		}
	}
	return fastest
}

// enoughSeeds are needed before an interval says much.
const enoughSeeds = 3

// Caveats lists what a reader must know before believing the numbers.
func (s *Study) Caveats() []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(s.Seeds) < enoughSeeds {
		add("%d of at least %d seeds: intervals are wide or missing", len(s.Seeds), enoughSeeds)
	}
	for _, g := range s.Groups {
		where := fmt.Sprintf("%s on %s", g.Label, g.Network.Name)
		if n := g.ended(CellDiverged); n > 0 {
			add("%s: %d of %d runs diverged", where, n, len(g.Cells))
		}
		if n := g.ended(CellFailed); n > 0 {
			add("%s: %d of %d runs failed", where, n, len(g.Cells))
		}
		if reached := g.estimate(toTarget).N; s.Targets.String() != "" && reached < len(g.Runs) {
			add("%s: %d of %d runs did not reach %s", where, len(g.Runs)-reached, len(g.Runs), s.Targets)
		}
		all = append(all, s.suspicious(g, where)...)
	}
	if s.Mode == "sim" {
		all = append(all, s.virtual())
	}
	return all
}

// virtual says what sim's times are made of.
func (s *Study) virtual() string {
	how := "was given"
	if s.Measured {
		how = "was measured once on the machine below"
	}
	return fmt.Sprintf("times are virtual: a gradient takes %.4g ms, which %s; coding takes no time, and links are used to the full without congestion control", 1e3*s.Compute, how)
}

// suspicious compares what rounds took with what they take at least.
func (s *Study) suspicious(g *Group, where string) []string {
	took, least := g.estimate(perRound), g.estimate(s.leastPerRound(g))
	if took.N == 0 || least.Mean <= 0 || s.Mode == "sim" {
		return nil
	}
	const tooFast, tooSlow = 0.95, 1.5
	switch ratio := took.Mean / least.Mean; {
	case ratio < tooFast:
		return []string{fmt.Sprintf("%s: rounds took %.0f %% of what the link allows: the limit was not kept", where, 100*ratio)}
	case ratio > tooSlow:
		return []string{fmt.Sprintf("%s: rounds took %.1f times what gradient and link need: coding, waiting for others or a saturated machine", where, ratio)}
	}
	return nil
}

// Reproduce says how the comparison was made.
func (s *Study) Reproduce() string {
	return strings.Join([]string{
		"command: " + s.Command,
		"version: " + s.Version,
		"machine: " + s.Machine,
		fmt.Sprintf("mode:    %s from %s, seeds %v", s.Mode, s.Base, s.Seeds),
	}, "\n")
}
