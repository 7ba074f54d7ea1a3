package reproduce

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
	"gossiptrainer/lab/study"
)

// made returns a part with the rows of labels on a network.
func made(rows ...*study.Group) *part {
	s := &study.Study{Comparison: cells.Comparison{Targets: record.Targets{Loss: 0.5}}}
	s.Groups = rows
	return &part{"made", s}
}

// rowOf returns the cells of a label, one per seed, that change makes different.
func rowOf(label string, seeds int, change func(seed int, c *cells.Cell)) *study.Group {
	g := &study.Group{Network: cells.Network{Name: "slow"}, Label: label}
	for seed := 1; seed <= seeds; seed++ {
		c := cells.Cell{Label: label, Network: "slow", Seed: uint64(seed), Status: cells.Done,
			Summary: &record.Summary{Rounds: 10, Time: 100}}
		change(seed, &c)
		if c.Status != cells.Done {
			c.Summary = nil
		}
		g.Cells = append(g.Cells, c)
	}
	return g
}

// accurate returns a row of final accuracies, those of its average models and of all replicas.
func accurate(label string, values ...float64) *study.Group {
	return rowOf(label, len(values), func(seed int, c *cells.Cell) {
		c.Accuracy.AverageModel, c.Accuracy.Mean = &values[seed-1], &values[seed-1]
		c.Summary.Data = &record.Split{Test: []int{250, 200}}
	})
}

// older returns a row of final accuracies, each the mean over replicas. Every cell but the first has an average model
// of accuracy 0.99.
func older(label string, values ...float64) *study.Group {
	return rowOf(label, len(values), func(seed int, c *cells.Cell) {
		if c.Accuracy.Mean = &values[seed-1]; seed > 1 {
			c.Accuracy.AverageModel = record.Number(0.99)
		}
	})
}

// timed returns a row of times to the target, each exact up to a record of a second. 0 stands for never.
func timed(label string, values ...float64) *study.Group {
	return rowOf(label, len(values), func(seed int, c *cells.Cell) {
		if v := values[seed-1]; v > 0 {
			c.ToLoss = &record.Reached{Time: v, After: v - 0.5, Seen: v + 0.5, Bytes: int64(v * 1e6)}
		}
	})
}

// ended returns a row whose runs ended in a way.
func ended(label string, how ...cells.Status) *study.Group {
	return rowOf(label, len(how), func(seed int, c *cells.Cell) { c.Status = how[seed-1] })
}

// heavy returns a row of bytes per peer and of extra memory.
func heavy(label string, sent, memory int64) *study.Group {
	return rowOf(label, 3, func(_ int, c *cells.Cell) { c.BytesPerPeer.Wire, c.ExtraMemory = sent, memory })
}

// hashed returns a row of two runs that found wrong messages and repaired some.
func hashed(label string, found, repaired int64) *study.Group {
	return rowOf(label, 2, func(_ int, c *cells.Cell) { c.Theta = record.Theta{Violations: &found, Repaired: repaired} })
}

// apart returns a row of distances between replicas.
func apart(label string, values ...float64) *study.Group {
	return rowOf(label, len(values), func(seed int, c *cells.Cell) { c.Consensus = &values[seed-1] })
}

// Results of the paper stand beside ours, with the difference where both are numbers.
func TestResultsBesideThePaper(t *testing.T) {
	parts := map[string]*part{"made": made(accurate("A", 0.9, 0.92), ended("B", diverged, diverged), heavy("C", 1, 2e6),
		timed("D", 5, 7), timed("E", 2, 3), timed("F", 1, 0), older("G", 0.9, 0.92))}
	ninety := record.Number(90)
	for _, test := range []struct {
		printed              Printed
		measured, difference string
	}{
		{Printed{What: accuracy, Label: "A", Number: ninety}, "91.00 % [78.29, 103.71], 2 seeds, 200 test rows", "+1.00"},
		{Printed{What: accuracy, Label: "G", Number: ninety}, "91.00 % [78.29, 103.71], 2 seeds, means over replicas",
			"+1.00"},
		{Printed{What: accuracy, Label: "B"}, "2 of 2 runs diverged", ""},
		{Printed{What: memory, Label: "C", Number: record.Number(16.48)}, "2.00 MB, 3 seeds", "-14.48"},
		{Printed{What: accuracy, Label: "D", Number: ninety}, "no result", ""},
		{Printed{What: accuracy, Label: "Z", Number: ninety}, "no run of this size", ""},
		{Printed{What: order, Network: "slow"},
			"E 2.5 s, D 6 s, A not in all runs, B not in all runs, C not in all runs, F not in all runs, G not in all runs",
			""},
	} {
		test.printed.In = []string{"later", "made"}
		got := test.printed.beside(parts)
		if !strings.HasSuffix(got.Measured, test.measured) || got.Difference != test.difference {
			t.Errorf("%+v: measured %q, difference %q, want %q and %q", test.printed, got.Measured, got.Difference,
				test.measured, test.difference)
		}
	}
}

const diverged, failed, done = cells.Diverged, cells.Failed, cells.Done

func TestKinds(t *testing.T) {
	near := accurate("b", 0.880, 0.884, 0.882)
	for name, test := range map[string]struct {
		kind Kind
		by   float64
		a, b *study.Group
		want Verdict
		says string
	}{
		"within": {Within, 0.5, accurate("a", 0.879, 0.883, 0.882), near, Supported,
			"a 88.13 %, b 88.20 %: -0.07 points [-0.21, +0.08], 3 seeds, 200 test rows"},
		"older program": {Within, 0.5, accurate("a", 0.879, 0.883, 0.882), older("b", 0.880, 0.884, 0.882), Supported,
			"a 88.13 %, b 88.20 %, means over replicas: -0.07 points [-0.21, +0.08], 3 seeds"},
		"better is within": {Within, 0.5, accurate("a", 0.9, 0.91, 0.905), near, Supported, ""},
		"far below":        {Within, 0.5, accurate("a", 0.85, 0.853, 0.852), near, Contradicted, ""},
		"perhaps below":    {Within, 0.5, accurate("a", 0.87, 0.89, 0.88), near, Undecided, ""},
		"one seed":         {Within, 0.5, accurate("a", 0.88), near, Untested, "(one seed is not judged)"},
		"no accuracy":      {Within, 0.5, ended("a", done, done), near, Untested, ""},
		"diverged":         {Within, 0.5, ended("a", diverged, diverged), near, Contradicted, "2 of 2 runs of a diverged"},
		"some diverged":    {Within, 0.5, ended("a", diverged, done), near, Undecided, ""},
		"failed":           {Within, 0.5, ended("a", done, failed), near, Untested, "1 of 2 runs of a failed"},

		"above":               {Above, 0, accurate("a", 0.89, 0.894, 0.893), near, Supported, ""},
		"interval holds 0":    {Above, 0, accurate("a", 0.879, 0.885, 0.883), near, Undecided, ""},
		"below":               {Above, 0, accurate("a", 0.87, 0.874, 0.871), near, Contradicted, ""},
		"above, not so far":   {Above, 3, accurate("a", 0.89, 0.894, 0.893), near, Contradicted, ""},
		"above what diverged": {Above, 0, near, ended("x", diverged, diverged), Supported, "2 of 2 runs of x diverged"},

		"sooner": {Sooner, 0, timed("a", 50, 55, 60), timed("b", 100, 112, 118), Supported,
			"to training loss 0.5 a 54.8 s, b 110 s: 2× faster"},
		"slow": {Sooner, 0, timed("a", 1500, 1510), timed("b", 6000, 6040), Supported,
			"a 1505 s, b 6020 s: 4× faster [4, 4], 2 seeds"},
		"at once": {Sooner, 0, timed("a", 0.5, 0.5, 0.5), timed("b", 100, 112, 118), Supported,
			"to training loss 0.5 a at most 0.5 s, b 110 s"},
		"not twice as soon": {Sooner, 3, timed("a", 50, 55, 60), timed("b", 100, 112, 118), Contradicted, ""},
		"later": {Sooner, 0, timed("a", 100, 112, 118), timed("b", 50, 55, 60), Contradicted,
			"a 110 s, b 54.8 s: 2× slower [1."},
		"as soon": {Sooner, 0, timed("a", 50, 55, 60), timed("b", 51, 54, 61), Undecided, ""},
		// Ratios of 1.02 agree among the seeds, but the records are a second apart.
		"between records": {Sooner, 0, timed("a", 50, 50, 50), timed("b", 50.5, 50.5, 50.5), Undecided, "[0.99"},
		"never": {Sooner, 0, timed("a", 50, 55, 60), timed("b", 0, 0, 0), Supported,
			"3 of 3 runs of b did not reach training loss 0.5"},
		"never itself":     {Sooner, 0, timed("a", 0, 0, 0), timed("b", 50, 55, 60), Contradicted, ""},
		"never, cut short": {Sooner, 0, timed("a", 150, 155, 160), timed("b", 0, 0, 0), Undecided, ""},
		"sometimes":        {Sooner, 0, timed("a", 50, 0, 60), timed("b", 90, 99, 91), Undecided, ""},
		"fewer to it": {FewerTo, 0, timed("a", 50, 55, 60), timed("b", 100, 112, 118), Supported,
			"a 54.8 MB, b 110 MB: 2× fewer"},
		"alike":     {Alike, 1.1, timed("a", 50, 55, 60), timed("b", 51, 55, 60), Supported, ""},
		"not alike": {Alike, 1.1, timed("a", 50, 55, 60), timed("b", 75, 83, 91), Contradicted, ""},

		"fewer": {Fewer, 3.9, heavy("a", 25e6, 0), heavy("b", 100e6, 0), Supported,
			"a 2.5 MB per round and worker, b 10 MB: 4× fewer [4, 4], 3 seeds"},
		"not so few": {Fewer, 4.1, heavy("a", 25e6, 0), heavy("b", 100e6, 0), Contradicted, ""},
		"less memory": {LessMemory, 0, heavy("a", 1, 1e6), heavy("b", 1, 3e6), Supported,
			"a 1 MB, b 3 MB: 2 MB less [2, 2], 3 seeds"},
		"more memory":       {LessMemory, 0, heavy("a", 1, 3e6), heavy("b", 1, 1e6), Contradicted, ""},
		"memory, diverged":  {LessMemory, 0, heavy("a", 1, 1e6), ended("b", diverged, diverged, diverged), Undecided, ""},
		"no memory":         {NoMemory, 0, heavy("a", 1, 0), nil, Supported, "a needs at most 0 MB in 3 of 3 runs"},
		"some memory":       {NoMemory, 0, heavy("a", 1, 1000), nil, Contradicted, ""},
		"memory, one seed":  {NoMemory, 0, ended("a", done), nil, Untested, "one seed is not judged"},
		"converges":         {Converges, 0, timed("a", 50, 55), nil, Supported, "2 of 2 runs of a reached training loss 0.5"},
		"converges, partly": {Converges, 0, timed("a", 50, 0), nil, Undecided, "1 of 2 runs"},
		"no convergence":    {Converges, 0, ended("a", diverged, done), nil, Contradicted, "1 of 2 runs of a diverged"},
		"misses":            {Misses, 0, timed("a", 0, 0), nil, Supported, "2 of 2 runs of a did not reach training"},
		"one reaches":       {Misses, 0, timed("a", 0, 50), nil, Contradicted, "1 of 2 runs"},
		"misses, diverged":  {Misses, 0, ended("a", diverged, diverged), nil, Supported, ""},
		"misses, failed":    {Misses, 0, ended("a", failed, done), nil, Untested, ""},
		"misses, one seed":  {Misses, 0, timed("a", 0), nil, Untested, "one seed is not judged"},
		"no bits":           {Rises, 0, timed("a", 50, 55), nil, Untested, "have no record of bits"},
		"repairs": {Repairs, 0, hashed("a", 4, 4), nil, Supported,
			"a found 8 wrong messages in 2 runs and repaired 8"},
		"repairs some":      {Repairs, 0, hashed("a", 4, 3), nil, Contradicted, ""},
		"nothing to repair": {Repairs, 0, hashed("a", 0, 0), nil, Untested, ""},
		"unhashed":          {Repairs, 0, timed("a", 50, 55), nil, Untested, "do not look for wrong messages"},
		"closer":            {Closer, 0, apart("a", 0.1, 0.11, 0.09), apart("b", 0.2, 0.22, 0.18), Supported, "2× closer"},
		"not so close":      {Closer, 3, apart("a", 0.1, 0.11, 0.09), apart("b", 0.2, 0.22, 0.18), Contradicted, ""},
		"no distance":       {Closer, 0, timed("a", 1, 2), near, Untested, "have no distance between replicas"},
		"no curves":         {AboveThen, 0, accurate("a", 0.9, 0.91), near, Untested, "no accuracy at equal times"},
		"diverges":          {Diverges, 0.15, ended("a", diverged, diverged), nil, Supported, "2 of 2 runs of a diverged"},
		"at chance": {Diverges, 0.15, accurate("a", 0.1, 0.15), nil, Supported,
			"0 of 2 runs of a diverged, 2 ended at 15 % accuracy or less"},
		"learned":  {Diverges, 0.15, accurate("a", 0.1, 0.42), nil, Contradicted, "1 learned, up to 42.00 %"},
		"unscored": {Diverges, 0.15, ended("a", diverged, failed), nil, Untested, ""},
	} {
		t.Run(name, func(t *testing.T) {
			check := Check{Kind: test.kind, A: []string{test.a.Label}, By: test.by}
			rows := []*study.Group{test.a}
			if test.b != nil {
				check.B, rows = []string{test.b.Label}, append(rows, test.b)
			}
			all := made(rows...).examine(check)
			if len(all) != 1 {
				t.Fatalf("%d comparisons, want 1", len(all))
			}
			if got := all[0]; got.Verdict != test.want || !strings.Contains(got.Words, test.says) {
				t.Errorf("%s: %s; want %s: %s", got.Verdict, got.Words, test.want, test.says)
			}
		})
	}
}

// The worst comparison decides about a claim, and a row that is missing leaves it open.
func TestJudge(t *testing.T) {
	good, even, bad := accurate("good", 0.90, 0.904, 0.903), accurate("even", 0.88, 0.885, 0.879),
		accurate("bad", 0.85, 0.854, 0.851)
	base := accurate("base", 0.880, 0.884, 0.882)
	parts := map[string]*part{"made": made(good, even, bad, base)}
	for _, test := range []struct {
		a    []string
		in   string
		want Verdict
		n    int
	}{
		{[]string{"good"}, "made", Supported, 1},
		{[]string{"good", "even"}, "made", Undecided, 2},
		{[]string{"good", "even", "bad"}, "made", Contradicted, 3},
		{[]string{"good", "gone"}, "made", Undecided, 2},
		{[]string{"gone"}, "made", Untested, 1},
		{[]string{"good"}, "elsewhere", Untested, 0},
	} {
		t.Run(fmt.Sprint(test.a, test.in), func(t *testing.T) {
			j := judge(Claim{Checks: []Check{{Kind: Above, In: []string{test.in}, A: test.a, B: []string{"base"}}}}, parts)
			if j.Verdict != test.want || len(j.Evidence) != test.n {
				t.Errorf("%s by %+v, want %s by %d comparisons", j.Verdict, j.Evidence, test.want, test.n)
			}
		})
	}
}

// A comparison names the cells from which it has its numbers.
func TestEvidenceNamesItsCells(t *testing.T) {
	all := made(accurate("A 8b", 0.5, 0.6), accurate("b", 0.4, 0.5)).examine(Check{Kind: Above, Network: "slow",
		A: []string{"A 8b"}, B: []string{"b"}})
	want := []string{"made/cells/a-8b.slow.1", "made/cells/a-8b.slow.2", "made/cells/b.slow.1", "made/cells/b.slow.2"}
	if got := all[0].Cells; !slices.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
	if other := made(accurate("a", 0.5)).examine(Check{Network: "fast", A: []string{"a"}}); other[0].Verdict != Untested {
		t.Errorf("cells of another network: %+v", other)
	}
}

// Every kind of check says in words what counts for a claim and what counts against it.
func TestRules(t *testing.T) {
	for _, kind := range kinds {
		rule := Check{Kind: kind, By: 0.15}.Rule()
		if !strings.Contains(rule, "supported if") || !strings.Contains(rule, "not supported if") {
			t.Errorf("%s: %q", kind, rule)
		}
	}
	for _, test := range []struct {
		check Check
		want  string
	}{
		{Check{Kind: Within, By: 0.5}, "accuracies lies above -0.5 points; not"},
		{Check{Kind: Sooner, By: 2}, "lies above 2; not"},
		{Check{Kind: Diverges, By: 0.15}, "15 % accuracy"},
	} {
		if got := test.check.Rule(); !strings.Contains(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// A page says how many of its verdicts chance alone may have made.
func TestChance(t *testing.T) {
	var page Page
	if got := page.chance(); got != "No comparison is decided." {
		t.Error(got)
	}
	page.Claims = []Judgement{{Evidence: []Evidence{{Verdict: Supported}, {Verdict: Untested}}},
		{Evidence: []Evidence{{Verdict: Contradicted}, {Verdict: Undecided}}}}
	got := page.chance()
	for _, want := range []string{"2 comparisons are decided", "about 0.1 would", "probability of 10 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
