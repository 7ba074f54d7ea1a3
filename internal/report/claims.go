package report

import (
	"fmt"
	"math"

	"gossiptrainer/internal/record"
)

// A Claim is a statement about an algorithm and the reference, judged by the cells of both.
type Claim struct {
	Network, Label string
	Claim          string
	Measured       string // with its interval
	Verdict        Verdict
}

// A Verdict says whether the intervals support a claim.
type Verdict string

// The verdicts.
const (
	Supported    Verdict = "supported"     // the whole interval is on the side of the claim
	NotSupported Verdict = "not supported" // the whole interval is on the other side
	Open         Verdict = "open"          // the interval has both sides, or there is none
	NotTested    Verdict = "not tested"    // cells are missing, or miss the target
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
				all = append(all, c)
			}
		}
	}
	return all
}

// sooner judges whether g reaches a target before base.
func sooner(g, base *Group, target record.Target) Claim {
	c := Claim{Network: g.Network.Name, Label: g.Label, Verdict: NotTested, Measured: untested(g, base, target),
		Claim: fmt.Sprintf("reaches %s sooner than %s", target, base.Label)}
	if c.Measured == "" {
		r := g.sooner(base, target)
		c.Measured, c.Verdict = factor(r), judge(r, 1)
	}
	return c
}

// cheaper judges whether g reaches a target with fewer bytes than base.
func cheaper(g, base *Group, target record.Target) Claim {
	c := Claim{Network: g.Network.Name, Label: g.Label, Verdict: NotTested, Measured: untested(g, base, target),
		Claim: fmt.Sprintf("reaches %s with fewer bytes than %s", target, base.Label)}
	if c.Measured == "" {
		r := ratioOf(base.values(megabytesTo(target)), g.values(megabytesTo(target)))
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
func factor(r geomean) string {
	if r.unbounded() {
		return r.interval() + " times"
	}
	return r.String() + " times"
}

// judge compares the interval of a ratio with a bound.
func judge(r geomean, bound float64) Verdict {
	switch {
	case r.N < 2 || math.IsNaN(r.High-r.Low):
		return Open
	case r.Low > bound:
		return Supported
	case r.High < bound:
		return NotSupported
	}
	return Open
}

// accurate judges whether g ends within half a point of the accuracy of base, or above. It returns false if no accuracy
// is on record.
func accurate(g, base *Group) (Claim, bool) {
	c := Claim{Network: g.Network.Name, Label: g.Label, Verdict: NotTested,
		Claim: fmt.Sprintf("ends at most %.1f points below the accuracy of %s", 100*points, base.Label)}
	mine, theirs := g.values(finalAccuracy), base.values(finalAccuracy)
	if len(theirs) == 0 || len(mine) == 0 && len(g.runs) > 0 {
		return c, false
	}
	if len(g.runs) < len(g.Cells) {
		c.Measured = g.fate()
		return c, true
	}
	d := differenceOf(mine, theirs)
	c.Measured, c.Verdict = pointsOf(d), Open
	switch {
	case d.N == 0:
		c.Measured, c.Verdict = "no seed in common", NotTested
	case d.N < 2:
	case d.Mean-d.Half >= -points:
		c.Verdict = Supported
	case d.Mean+d.Half < -points:
		c.Verdict = NotSupported
	}
	return c, true
}

// differenceOf returns the estimate of a minus b, paired by seed.
func differenceOf(a, b map[uint64]float64) estimate {
	var all []float64
	for _, seed := range sortedKeys(a) {
		if y, both := b[seed]; both {
			all = append(all, a[seed]-y)
		}
	}
	return estimateOf(all)
}

// pointsOf writes a difference of accuracies in points.
func pointsOf(d estimate) string {
	if d.N < 2 {
		return fmt.Sprintf("%+.2f points", 100*d.Mean)
	}
	return fmt.Sprintf("%+.2f ± %.2f points", 100*d.Mean, 100*d.Half)
}

// claimTable has a row for each claim.
func (s *Study) claimTable() Table {
	t := Table{Name: "claims", Texts: 4, Head: []string{"Algorithm", "network", "claim", "verdict", "measured"},
		Caption: "Claims, each judged by the 95 % interval over the seeds"}
	for _, c := range s.Claims() {
		t.Rows = append(t.Rows, []string{c.Label, c.Network, c.Claim, string(c.Verdict), c.Measured})
	}
	return t
}

// verdicts counts the claims by verdict.
func verdicts(claims []Claim) map[Verdict]int {
	count := map[Verdict]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	return count
}
