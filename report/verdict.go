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
	base, fastest := reference(groups), fastestOf(groups)
	if fastest == nil {
		return fmt.Sprintf("On %s no algorithm reached %s in every run.", network, target)
	}
	text := fmt.Sprintf("On %s %s is the first to reach %s, in %s s", network, fastest.Label, target, fastest.estimate(toTarget))
	switch {
	case fastest == base:
		text += "."
	case base.estimate(toTarget).N < len(base.Cells):
		text += fmt.Sprintf("; %s does not reach it in every run.", base.Label)
	default:
		text += s.ahead(fastest, base)
	}
	if rivals := s.rivals(fastest, groups); len(rivals) > 0 {
		text += fmt.Sprintf(" These seeds do not tell it from %s.", strings.Join(rivals, ", "))
	}
	return text
}

// ahead says by how much the fastest group is faster than the reference.
func (s *Study) ahead(fastest, base *Group) string {
	r := ratioOf(fastest.values(toTarget), base.values(toTarget), s.Seeds)
	text := fmt.Sprintf(": %.1f %% of the time of %s, %.2f times sooner", 100*r.Mean, base.Label, 1/r.Mean)
	switch {
	case r.N < 2:
		return text + "; one seed says nothing about how certain that is."
	case r.certain():
		return text + fmt.Sprintf(" (95 %% interval over %d seeds: %.2f to %.2f times).", r.N, 1/r.High, 1/r.Low)
	}
	return text + fmt.Sprintf("; over %d seeds that is not certain (95 %% interval: %.2f to %.2f times).", r.N, 1/r.High, 1/r.Low)
}

// rivals names the groups, other than the reference, of which it is not certain
// that the fastest is faster.
func (s *Study) rivals(fastest *Group, groups []*Group) []string {
	var all []string
	for _, g := range groups {
		if g == fastest || g == reference(groups) {
			continue
		}
		r := ratioOf(fastest.values(toTarget), g.values(toTarget), s.Seeds)
		if r.N > 1 && r.N == len(g.Cells) && !r.certain() {
			all = append(all, g.Label)
		}
	}
	return all
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
	if missing := s.Missing(); len(missing) > 0 {
		add("%d of %d cells have not been run: %s: means are over fewer seeds, or rows are missing",
			len(missing), len(missing)+len(s.Cells), someOf(missing))
	}
	easy := 0
	for _, g := range s.Groups {
		where := fmt.Sprintf("%s on %s", g.Label, g.Network.Name)
		if n := g.ended(CellDiverged); n > 0 {
			add("%s: %d of %d runs diverged", where, n, len(g.Cells))
		}
		if n := g.ended(CellFailed); n > 0 {
			add("%s: %d of %d runs failed", where, n, len(g.Cells))
		}
		if reached := g.estimate(toTarget).N; s.Targets.String() != "" && reached < len(g.runs) {
			add("%s: %d of %d runs did not reach %s", where, len(g.runs)-reached, len(g.runs), s.Targets)
		}
		if s.tooEasy(g) {
			easy++
		}
		all = append(all, s.suspicious(g, where)...)
	}
	if easy > 0 {
		add("%s is reached as soon as it can be seen, after %d records, in %d of %d rows: a lower target or output.every tells more", s.Targets, smoothing, easy, len(s.Groups))
	}
	if s.Until != "" {
		add("runs end at %s: loss, accuracy and bytes are those of different rounds", s.Until)
	}
	if s.Mode == "sim" {
		all = append(all, s.virtual())
	}
	return all
}

// tooEasy reports whether a run was below the target before that counts.
func (s *Study) tooEasy(g *Group) bool {
	for _, cell := range g.Cells {
		run := g.runs[cell.Seed]
		if run == nil || s.Targets.Loss <= 0 || len(run.moments) < smoothing || cell.TimeToTarget == nil {
			continue
		}
		if *cell.TimeToTarget <= run.moments[smoothing-1].Time.Seconds() {
			return true
		}
	}
	return false
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
	link := g.estimate(func(c Cell, _ *trace) *float64 { return Number(1e3 * onLink(c, g.Network)) })
	const tooFast, tooSlow = 0.95, 1.5
	switch {
	case took.Mean < tooFast*link.Mean:
		return []string{fmt.Sprintf("%s: rounds took %.0f %% of what the link allows: the limit was not kept", where, 100*took.Mean/link.Mean)}
	case took.Mean > tooSlow*least.Mean:
		return []string{fmt.Sprintf("%s: rounds took %.1f times what gradient and link need: coding, waiting for others or a saturated machine", where, took.Mean/least.Mean)}
	}
	return nil
}

// Reproduce says how the comparison was made, and what was chosen for it.
func (s *Study) Reproduce() string {
	lines := []string{
		"command: " + s.Command,
		"version: " + s.Version,
		"machine: " + s.Machine,
		fmt.Sprintf("mode:    %s from %s, seeds %v", s.Mode, s.Base, s.Seeds),
	}
	for _, g := range s.on(s.Groups[0].Network.Name) {
		if tuned := g.Cells[0].Tuned; len(tuned) > 0 {
			lines = append(lines, fmt.Sprintf("tuned:   %s: %s, in short runs of another seed", g.Label, strings.Join(tuned, " ")))
		}
	}
	return strings.Join(lines, "\n")
}
