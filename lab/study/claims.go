package study

import (
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// A Claim is a statement about an algorithm and the reference, judged by the cells of both.
type Claim struct {
	Network, Label string
	Kind           string // the claim without its target
	Claim          string
	Measured       string // with its interval
	Verdict        Verdict
}

// A Verdict says whether the intervals support a claim.
type Verdict string

// The verdicts.
const (
	supported    Verdict = "supported"     // the whole interval is on the side of the claim
	notSupported Verdict = "not supported" // the whole interval is on the other side
	open         Verdict = "open"          // the interval has both sides, or there is none
	notTested    Verdict = "not tested"    // cells are missing, or miss the target
)

// points is the difference of accuracies below which two algorithms count as equally accurate, as a share.
const points = 0.005

// Claims compares every algorithm with the reference of its network: whether it is sooner at each target, sends fewer
// bytes to it, and is as accurate at the end.
func (s *Study) Claims() []Claim {
	var all []Claim
	for _, network := range s.Networks {
		groups := s.on(network.Name)
		if len(groups) < 2 {
			continue
		}
		for _, g := range groups {
			base := reference(alike(groups, g))
			if g == base {
				continue
			}
			for _, target := range s.Goals() {
				all = append(all, sooner(g, base, target), cheaper(g, base, target))
			}
			if c, measured := accurate(g, base); measured {
				if c.Verdict != notTested {
					c.Measured += ", " + evidence(g, base)
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// sooner judges whether g reaches a target before base.
func sooner(g, base *Group, target record.Target) Claim {
	return earlier(g, base, target, span{"sooner", timeOf(target), afterOf(target), seenOf(target)})
}

// cheaper judges whether g reaches a target with fewer bytes than base.
func cheaper(g, base *Group, target record.Target) Claim {
	return earlier(g, base, target, bytesUntil(target))
}

// bytesUntil is the megabytes that a peer sends until a target.
func bytesUntil(target record.Target) span {
	return span{"with fewer bytes", megabytesTo(target),
		sentAt(target, func(r record.Reached) float64 { return r.After }),
		sentAt(target, func(r record.Reached) float64 { return r.Seen })}
}

// A span is the cost of reaching a target, with those of the records before and after it.
type span struct {
	how             string
	at, after, seen func(cells.Cell, *trace) *float64
}

// sentAt returns the megabytes that a peer had sent at a time.
func sentAt(t record.Target, when func(record.Reached) float64) func(cells.Cell, *trace) *float64 {
	return func(c cells.Cell, run *trace) *float64 {
		r := c.To(t)
		if r == nil {
			return nil
		}
		var before record.Moment
		for _, m := range run.moments {
			if m.Time.Seconds() >= when(*r) {
				share := (when(*r) - before.Time.Seconds()) / (m.Time - before.Time).Seconds()
				return record.Number((float64(before.Sent.Wire) + share*float64(m.Sent.Wire-before.Sent.Wire)) / 1e6)
			}
			before = m
		}
		return record.Number(float64(before.Sent.Wire) / 1e6)
	}
}

// earlier judges whether g reaches a target at less cost than base. Its interval is never narrower than the records.
func earlier(g, base *Group, target record.Target, cost span) Claim {
	c := Claim{Network: g.Network.Name, Label: g.Label, Verdict: notTested, Measured: untested(g, base, target),
		Kind:  fmt.Sprintf("reaches targets %s than %s", cost.how, base.Label),
		Claim: fmt.Sprintf("reaches %s %s than %s", target, cost.how, base.Label)}
	if c.Measured == "" {
		least := ratioOf(base.values(cost.after), g.values(cost.seen))
		most := ratioOf(base.values(cost.seen), g.values(cost.after))
		r := ratioOf(base.values(cost.at), g.values(cost.at)).Within(least.Mean, most.Mean)
		c.Measured, c.Verdict = factor(r), judge(r, 1)
	}
	return c
}

// untested returns why two groups cannot be compared at a target, "" if they can.
func untested(g, base *Group, target record.Target) string {
	for _, one := range []*Group{g, base} {
		if why := one.missing(target); why != "" {
			return one.Label + ": " + why
		}
	}
	return ""
}

// factor writes a ratio for a table.
func factor(r stats.Interval) string {
	switch {
	case r.Low == 0 && math.IsInf(r.High, 0):
		return "unknown: both reach it before records can tell"
	case r.IsBound():
		return r.Range() + " times"
	}
	return r.String() + " times"
}

// judge compares the interval of a ratio with a bound.
func judge(r stats.Interval, bound float64) Verdict {
	return []Verdict{notSupported, open, supported}[1+r.Against(bound)]
}

// accurate judges whether g ends within half a point of the accuracy of base, or above. It returns false if no accuracy
// is on record.
func accurate(g, base *Group) (Claim, bool) {
	c := Claim{Network: g.Network.Name, Label: g.Label, Verdict: notTested,
		Kind: fmt.Sprintf("ends at most %.1f points below the accuracy of %s", 100*points, base.Label)}
	c.Claim = c.Kind
	mine, theirs := g.values(g.finalAccuracy), base.values(base.finalAccuracy)
	if len(theirs) == 0 || len(mine) == 0 && len(g.runs) > 0 {
		return c, false
	}
	if len(g.runs) < len(g.Cells) {
		c.Measured = g.fate()
		return c, true
	}
	d := differenceOf(mine, theirs)
	c.Measured, c.Verdict = pointsOf(d), open
	switch {
	case d.N == 0:
		c.Measured, c.Verdict = "no seed in common", notTested
	case d.N < 2:
	case d.Low >= -points:
		c.Verdict = supported
	case d.High < -points:
		c.Verdict = notSupported
	}
	return c, true
}

// evidence says on how much a claim about accuracies rests: seeds, and rows of the test set if they are known.
func evidence(groups ...*Group) string {
	seeds, rows := math.MaxInt, math.MaxInt
	for _, g := range groups {
		if n := len(g.values(g.finalAccuracy)); n > 0 {
			seeds, rows = min(seeds, n), min(rows, g.TestRows())
		}
	}
	text := human.Count(seeds, "seed")
	if rows > 0 {
		text += ", " + human.Count(rows, "test row")
	}
	return text
}

// TestRows returns the number of rows on which the replicas of a group were tested, the least; 0: unknown.
func (g *Group) TestRows() int {
	least := 0
	for _, cell := range g.Cells {
		if cell.Summary == nil || cell.Summary.Data == nil {
			continue
		}
		for _, n := range cell.Summary.Data.Test {
			if n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// ratioOf returns the geometric mean of the ratios of two algorithms, paired by seed. A ratio to 0 is infinite.
func ratioOf(a, b map[uint64]float64) stats.Interval {
	return stats.Ratio(stats.Paired(a, b, func(x, y float64) float64 { return x / y }))
}

// differenceOf returns the mean of a minus b, paired by seed.
func differenceOf(a, b map[uint64]float64) stats.Interval {
	return stats.Mean(stats.Paired(a, b, func(x, y float64) float64 { return x - y }))
}

// pointsOf writes a difference of accuracies in points.
func pointsOf(d stats.Interval) string {
	if d.N < 2 {
		return fmt.Sprintf("%+.2f points", 100*d.Mean)
	}
	n := places(100 * d.Half())
	return fmt.Sprintf("%+.*f ± %.*f points", n, 100*d.Mean, n, 100*d.Half())
}

// claimTable has a row for each claim at each target.
func claimTable(s *Study) table {
	t := table{Name: "claims-by-target", Texts: 4, Head: []string{"Algorithm", "network", "claim", "verdict", "measured"},
		Caption: "Claims at each target, each judged by the 95 % interval over the seeds"}
	for _, c := range s.Claims() {
		t.Rows = append(t.Rows, []string{c.Label, c.Network, c.Claim, string(c.Verdict), c.Measured})
	}
	return t
}

// verdictTable has a row for each claim over all targets, with the number at the hardest.
func verdictTable(s *Study) table {
	t := table{Name: "claims", Texts: 4,
		Head:    []string{"Algorithm", "network", "claim", "verdict", "at the hardest target"},
		Caption: "Claims over all targets, each judged by the 95 % interval over the seeds; claims-by-target.csv has all"}
	all := s.Claims()
	for len(all) > 0 {
		first := all[0]
		alike := func(c Claim) bool {
			return c.Network == first.Network && c.Label == first.Label && c.Kind == first.Kind
		}
		var same []Claim
		for _, c := range all {
			if alike(c) {
				same = append(same, c)
			}
		}
		all = slices.DeleteFunc(all, alike)
		hardest := same[len(same)-1]
		t.Rows = append(t.Rows, []string{first.Label, first.Network, first.Kind, overall(same), hardest.Measured})
	}
	return t
}

// overall sums up the verdicts of a claim over several targets.
func overall(claims []Claim) string {
	count, n := verdicts(claims), len(claims)
	share := func(v Verdict) string {
		if count[v] == n {
			return string(v)
		}
		return fmt.Sprintf("%s at %s", v, human.Part(count[v], n, "target"))
	}
	switch {
	case count[supported] > 0 && count[notSupported] > 0:
		return fmt.Sprintf("depends on the target: supported at %d, not at %d of %d", count[supported], count[notSupported],
			n)
	case count[supported] > 0:
		return share(supported)
	case count[notSupported] > 0:
		return share(notSupported)
	case count[open] > 0:
		return string(open)
	}
	return string(notTested)
}

// verdicts counts the claims by verdict.
func verdicts(claims []Claim) map[Verdict]int {
	count := map[Verdict]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	return count
}
