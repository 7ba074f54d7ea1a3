package study

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// A check is one point on the checklist of reviewers.
type check struct {
	Point  string
	Answer answer
	Reason string // with the numbers from which the answer follows
}

// An answer says whether a comparison meets a point.
type answer string

// The answers.
const (
	met           answer = "met"
	notMet        answer = "not met"
	notApplicable answer = "does not apply"
)

// checklist answers the questions that reviewers of comparisons ask, from the cells and settings alone.
func (s *Study) checklist() []check {
	points := []struct {
		name   string
		answer func(*Study) (answer, string)
	}{
		{"Every algorithm is tuned with the same budget; default and chosen values are reported", tunedAlike},
		{"Three seeds at least, paired, with intervals; peers are no samples", seeded},
		{"IID data, and non-IID data", bothData},
		{"Accuracy of the average model and of the worst replica", bothModels},
		{"Three axes: rounds, bytes on the wire, seconds", threeAxes},
		{"Bytes on the wire are at most 5 % above those that papers count", honestBytes},
		{"A second instrument verifies the limits of the links", verifiedLinks},
		{"Simulated times are marked, with their error against real peers", markedTimes},
		{"Compute is measured, and each algorithm says whether messages overlap it", statedOverlap},
		{"Extra memory is measured, not counted", measuredMemory},
		{"Runs that do not converge are shown", shownFailures},
		{"Claims are judged by intervals", judgedClaims},
		{"Baselines are checked against the code of their authors", foreignCode},
		{"Strong centralized baselines: all-reduce of at most 16 bit, and one that overlaps", strongBaselines},
		{"Scaling from 4 to 64 workers against the formula", scaled},
		{"Raw records, command, settings and version; figures can be made again without a network", repeatable},
		{"The limits are stated: machine, size of the model", statedLimits},
		{"Attempts that did not work are reported", reportedAttempts},
	}
	all := make([]check, len(points))
	for i, p := range points {
		all[i].Point = p.name
		all[i].Answer, all[i].Reason = p.answer(s)
	}
	return all
}

// checkTable has a row for each point of the checklist.
func checkTable(s *Study) table {
	t := table{Name: "checklist", Texts: 4, Head: []string{"Point", "question", "answer", "reason"},
		Caption: "Questions of reviewers, answered from the cells and settings"}
	for i, c := range s.checklist() {
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), c.Point, string(c.Answer), c.Reason})
	}
	return t
}

// unless returns met if there are no objections, else notMet with them.
func unless(objections []string, reason string) (answer, string) {
	if len(objections) > 0 {
		return notMet, someOf(objections)
	}
	return met, reason
}

// first returns the groups of the first network, one for each algorithm.
func (s *Study) first() []*Group { return s.on(s.Groups[0].Network.Name) }

func tunedAlike(s *Study) (answer, string) {
	var budgets, objections []string
	most, least := 0, -1
	for _, g := range s.first() {
		trials := trials(s, g.Label)
		n := candidates(trials)
		if n == 0 && len(g.Cells[0].Tuned) > 0 {
			return notMet, "the searches are not on record: an earlier program made the comparison"
		}
		budgets = append(budgets, fmt.Sprintf("%s %d", g.Label, n))
		if most = max(most, n); least < 0 || n < least {
			least = n
		}
		if n > 0 && !slices.ContainsFunc(trials, func(t cells.Trial) bool { return t.Default }) {
			objections = append(objections, g.Label+": the default was not tried")
		}
	}
	if most == 0 {
		return notMet, "no value was searched: all algorithms run with the values of the file"
	}
	if most != least {
		objections = slices.Insert(objections, 0, "settings tried: "+strings.Join(budgets, ", "))
	}
	rounds, seed := s.Trials[0].Rounds, s.Trials[0].Seed
	return unless(objections, fmt.Sprintf("%s for each algorithm, in runs of %s with seed %d on %s; the table of "+
		"searches has grid, default and winner", human.Count(most, "setting"), human.Count(rounds, "round"), seed,
		s.Trials[0].Network))
}

func seeded(s *Study) (answer, string) {
	var objections []string
	for _, g := range s.Groups {
		if len(g.Cells) < enoughSeeds {
			objections = append(objections, fmt.Sprintf("%s on %s: %s", g.Label, g.Network.Name,
				human.Count(len(g.Cells), "seed")))
		}
	}
	return unless(objections, fmt.Sprintf("%s in every row; ratios are paired by seed, intervals are over seeds",
		human.Count(len(s.Seeds), "seed")))
}

// partition returns how the workers of g divide the samples, "" if that is unknown.
func partition(s *Study, g *Group) string {
	for _, cell := range g.Cells {
		if cell.Summary != nil && cell.Summary.Data != nil {
			text := cell.Summary.Data.Partition
			if alpha := s.setting(g, "data.alpha"); text == "dirichlet" && alpha != "" {
				text += " " + alpha
			}
			return text
		}
	}
	return ""
}

// setting returns the value of a key in the cells of g, "" if it is the default or unknown.
func (s *Study) setting(g *Group, key string) string {
	if setup := setup(s, g); setup != nil {
		if value, own := setup.Settings[key]; own {
			return value
		}
	}
	return s.Settings[key]
}

func bothData(s *Study) (answer, string) {
	var kinds []string
	for _, g := range s.Groups {
		if kind := partition(s, g); kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) == 0:
		return notApplicable, "the objective has no data"
	case len(kinds) > 1 && slices.Contains(kinds, "iid"):
		return met, "workers divide the samples in these ways: " + strings.Join(kinds, ", ")
	}
	return notMet, "workers divide the samples in one way: " + strings.Join(kinds, ", ")
}

func bothModels(s *Study) (answer, string) {
	var objections []string
	rows := 0
	for _, g := range s.Groups {
		if len(g.runs) == 0 {
			continue
		}
		rows++
		if len(g.values(averageAccuracy)) < len(g.runs) || len(g.values(leastAccuracy)) < len(g.runs) {
			objections = append(objections, fmt.Sprintf("%s on %s lacks one of them", g.Label, g.Network.Name))
		}
	}
	if rows == 0 {
		return notApplicable, "no run has finished"
	}
	return unless(objections, "both are columns of the tables, for "+human.Count(rows, "row"))
}

func threeAxes(s *Study) (answer, string) {
	var axes []string
	for _, x := range abscissae() {
		if slices.ContainsFunc(s.first(), func(g *Group) bool { return g.spans(x) }) {
			axes = append(axes, string(x.axis))
		}
	}
	reason := "curves have these axes: " + orNone(strings.Join(axes, ", "))
	if len(axes) < len(abscissae()) {
		return notMet, reason
	}
	return met, reason
}

// spans reports whether a run of g has values above 0 on an axis.
func (g *Group) spans(x abscissa) bool {
	for _, run := range g.runs {
		if n := len(run.moments); n > 0 && x.of(run.moments[n-1]) > 0 {
			return true
		}
	}
	return false
}
