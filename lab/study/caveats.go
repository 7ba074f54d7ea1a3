package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// enoughSeeds are needed before an interval says much.
const enoughSeeds = 3

// Caveats lists the limits of the numbers, which a reader must know first.
func (s *Study) Caveats() []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(s.Seeds) < enoughSeeds {
		add("%d of at least %d seeds: intervals are wide or missing", len(s.Seeds), enoughSeeds)
	}
	if missing := s.Missing(); len(missing) > 0 {
		add("%s %s not been run: %s: means are over fewer seeds, or rows are missing",
			human.Part(len(missing), len(missing)+len(s.Cells), "cell"), human.Verb(len(missing), "has", "have"),
			someOf(missing))
	}
	for _, g := range s.Groups {
		all = append(all, doubts(s, g)...)
	}
	for _, target := range s.Targets.List() {
		all = slices.Concat(all, unknown(s, target), resolution(s, target))
	}
	all = slices.Concat(all, tested(s), searches(s), chance(s))
	if s.Until != "" {
		add("runs end at %s: loss, accuracy and bytes are those of different rounds", s.Until)
	}
	if s.Mode == "sim" {
		all = append(all, virtual(s))
	}
	return all
}

// With fewRows test rows, one row changes an accuracy by a hundredth of a point.
const fewRows = 10000

// tested says how much one row of the test set changes an accuracy.
func tested(s *Study) []string {
	rows := 0
	for _, g := range s.Groups {
		if n := g.TestRows(); n > 0 && (rows == 0 || n < rows) {
			rows = n
		}
	}
	if rows == 0 || rows >= fewRows {
		return nil
	}
	return []string{fmt.Sprintf("accuracies are those of %s: each changes an accuracy by %.2g points",
		human.Count(rows, "test row"), 100/float64(rows))}
}

// doubts lists the failures of the runs of a group.
func doubts(s *Study, g *Group) []string {
	where := fmt.Sprintf("%s on %s", g.Label, g.Network.Name)
	var all []string
	add := func(format string, args ...any) {
		all = append(all, where+": "+fmt.Sprintf(format, args...))
	}
	if n := g.ended(cells.Diverged); n > 0 {
		add("%s %s", human.Part(n, len(g.Cells), "run"), g.fate())
	}
	if n := g.ended(cells.Failed); n > 0 {
		add("%s failed", human.Part(n, len(g.Cells), "run"))
	}
	if n := g.count((*trace).open); n > 0 {
		add("%s without encryption", human.Part(n, len(g.Cells), "run"))
	}
	for _, target := range s.Targets.List() {
		missed := len(g.runs) - len(g.values(timeOf(target)))
		late := g.count(func(t *trace) bool { return t.late(target) })
		switch {
		case missed == 0 || !g.tells(target):
		case target.Metric == record.TrainingLoss && g.count((*trace).short) == missed:
			add("%s cannot show %s, which takes the mean of %d records: a smaller %s makes more",
				human.Part(missed, len(g.runs), "run"), target, record.Smoothing, recordedBy(target))
		case missed > late:
			add("%s did not reach %s", human.Part(missed-late, len(g.runs), "run"), target)
		}
		if late > 0 {
			add("%s %s at %s only in the last two records, where no mean covers %d: more rounds tell",
				human.Part(late, len(g.runs), "run"), human.Verb(late, "is", "are"), target, record.Smoothing)
		}
	}
	return append(all, suspicious(s, g, where)...)
}

// open reports whether the links of a run were not encrypted.
func (t *trace) open() bool { return t.Summary != nil && t.Summary.Security != "" }

// short reports whether a run has fewer records than a loss target takes.
func (t *trace) short() bool { return len(t.moments) < record.Smoothing }

// late reports whether a run reaches a loss only in its last records, where means cover fewer records than a target
// takes.
func (t *trace) late(target record.Target) bool {
	if target.Metric != record.TrainingLoss || t.short() || t.ReachLoss(target.Value) != nil {
		return false
	}
	losses := record.Smooth(t.moments)
	last := slices.Min(losses[len(losses)-record.Smoothing/2:])
	return last <= target.Value
}

// count returns the number of finished runs that meet a condition.
func (g *Group) count(of func(*trace) bool) int {
	n := 0
	for _, run := range g.runs {
		if of(run) {
			n++
		}
	}
	return n
}

// unknown counts the runs of which it is not known when they reached a target.
func unknown(s *Study, target record.Target) []string {
	at, all := 0, 0
	for _, g := range s.Groups {
		if !g.tells(target) {
			there, runs := g.endsAt(target)
			at, all = at+there, all+runs
		}
	}
	if all == 0 {
		return nil
	}
	return []string{fmt.Sprintf("when runs reached %s is not known where output.evaluate is 0: %d of %d such runs end "+
		"there or above", target, at, all)}
}

// resolution tells how far apart the records are between which runs reached a target. It also counts the rows that
// reach it before the first record can tell.
func resolution(s *Study, target record.Target) []string {
	least, most, share, easy := math.Inf(1), 0.0, 0.0, 0
	for _, g := range s.Groups {
		known := true
		for _, cell := range g.Cells {
			r := cell.To(target)
			if r == nil {
				continue
			}
			if r.After == 0 {
				known = false
				continue
			}
			least, most = min(least, r.Seen-r.After), max(most, r.Seen-r.After)
			share = max(share, (r.Seen-r.After)/r.Seen)
		}
		if !known {
			easy++
		}
	}
	var all []string
	if most > 0 {
		apart := human.Digits(least, 2)
		if most > (1+chart.Narrow)*least {
			apart += " to " + human.Digits(most, 2)
		}
		all = append(all, fmt.Sprintf("times to %s are interpolated between records %s s apart, which is up to %.0f %% of "+
			"a time", target, apart, 100*share))
	}
	if easy > 0 {
		first := fmt.Sprintf("after %d records", record.Smoothing)
		if target.Metric == record.TestAccuracy {
			first = "in the first evaluation"
		}
		all = append(all, fmt.Sprintf("%s is reached as soon as it can be seen, %s, in %s: a harder target or "+
			"a smaller %s tells more",
			target, first, human.Part(easy, len(s.Groups), "row"), recordedBy(target)))
	}
	return all
}

// recordedBy names the key that sets how often a metric is recorded.
func recordedBy(target record.Target) string {
	if target.Metric == record.TestAccuracy {
		return "output.evaluate"
	}
	return "output.every"
}

// virtual explains the times of the simulator.
func virtual(s *Study) string {
	how := "was given"
	if s.Measured {
		how = "was measured once on the machine below"
	}
	coding := "coding takes no time"
	if len(s.Costs) > 0 {
		coding = "coding and links take the times in comparison.yaml"
	}
	if s.Cores > 0 {
		coding += fmt.Sprintf(", all workers share %s", human.Count(s.Cores, "core"))
	}
	return fmt.Sprintf("times are virtual: a gradient takes %.4g ms, which %s; %s, and links are "+
		"used to the full without congestion control",
		1e3*s.Compute, how, coding)
}

// suspicious compares the time of rounds with the least time that gradient and link allow.
func suspicious(s *Study, g *Group, where string) []string {
	took, least := g.geomean(perRound), g.geomean(s.leastPerRound(g))
	if took.N == 0 || least.Mean <= 0 || s.Mode == "sim" {
		return nil
	}
	link := g.geomean(func(c cells.Cell, _ *trace) *float64 { return record.Number(1e3 * onLink(c, g.Network)) })
	const tooFast, tooSlow = 0.95, 1.5
	switch {
	case took.Mean < tooFast*link.Mean:
		return []string{fmt.Sprintf("%s: rounds took %.0f %% of what the link allows: the limit was not kept", where,
			100*took.Mean/link.Mean)}
	case took.Mean > tooSlow*least.Mean:
		return []string{fmt.Sprintf("%s: rounds took %.1f times what gradient and link need: coding, waiting for others "+
			"or a saturated machine",
			where, took.Mean/least.Mean)}
	}
	return nil
}

// Reproduce describes how the comparison was made, with the settings that the search chose.
func (s *Study) Reproduce() string {
	lines := []string{
		"command: " + s.Command,
		"version: " + s.Version,
		"machine: " + s.Machine,
		fmt.Sprintf("mode:    %s from %s, seeds %v", s.Mode, s.Base, s.Seeds),
	}
	if s.Made != "" {
		again := "peer compare comparison.yaml -o again"
		for _, more := range []string{s.Find, s.Script} {
			if more != "" {
				again += " " + more
			}
		}
		lines = append(lines, "made:    "+s.Made,
			"again:   "+again+", in the folder of this report; digests are in data/digests.csv")
		if s.Find != "" {
			lines = append(lines, "         where the data have moved, --data names their folder now")
		}
	}
	if s.Mode == "lab" {
		lines = append(lines,
			"         real peers have the same digests where the algorithm is synchronous and the rounds are the same")
	}
	for _, file := range s.Data {
		lines = append(lines, "data:    "+file.String())
	}
	for _, g := range s.on(s.Groups[0].Network.Name) {
		if tuned := g.Cells[0].Tuned; len(tuned) > 0 {
			lines = append(lines, fmt.Sprintf("tuned:   %s: %s, in short runs of another seed", g.Label, strings.Join(tuned,
				" ")))
		}
	}
	return strings.Join(lines, "\n")
}

// mostNamed bounds the number of names in one line.
const mostNamed = 5

// someOf lists the first few names and counts the others.
func someOf(names []string) string {
	text := strings.Join(names[:min(mostNamed, len(names))], "; ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
