package study

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

var update = flag.Bool("update", false, "write the golden files again")

// paper returns a comparison on two networks, whose data differ, with searches, levels and a run that diverges. Its
// cells are made: every number on its page can be checked by hand.
func paper(t *testing.T) *Study {
	t.Helper()
	s := golden(t, record.Targets{Loss: 0.9, Accuracy: 0.8}, []string{"D-PSGD", "Moniqua 8b", "DCD 1b"},
		map[string][]planned{
			"D-PSGD": {{losses: falling, scores: rising, final: 0.9, gap: 0.1, pace: 4},
				{losses: falling, scores: rising, final: 0.91, gap: 0.1, pace: 4.1},
				{losses: falling, scores: rising, final: 0.92, gap: 0.1, pace: 4.2}},
			"Moniqua 8b": {{losses: falling, scores: rising, final: 0.901, gap: 0.1, pace: 1},
				{losses: falling, scores: rising, final: 0.909, gap: 0.1, pace: 1.02},
				{losses: falling, scores: rising, final: 0.92, gap: 0.1, pace: 1.04}},
			"DCD 1b": {{diverged: "sim: worker 3 round 7: diverged"}, {diverged: "sim: worker 3 round 8: diverged"},
				{diverged: "sim: worker 3 round 9: diverged"}},
		})
	s.Name, s.Mode, s.Compute, s.Measured, s.Base = "paper", "sim", 0.01, true, "ring8"
	s.Command, s.Version, s.Machine, s.Made = "peer compare paper", "v1", "a machine", "2026-11-23T00:00:00Z"
	s.Levels = []record.Target{{Metric: record.TrainingLoss, Value: 3}, {Metric: record.TrainingLoss, Value: 2},
		{Metric: record.TestAccuracy, Value: 0.5}}
	loss := func(v float64) *float64 { return &v }
	s.Settings = map[string]string{"data.name": "glyphs", "train.momentum": "0.9"}
	for _, label := range s.Labels {
		chosen := []string{"train.step_size=0.1"}
		s.Trials = append(s.Trials, cells.Trial{Label: label, Settings: chosen, Loss: loss(0.5), Rounds: 20, Seed: 1000,
			Network: "n", InGrid: true, Default: true, Chosen: true},
			cells.Trial{Label: label, Settings: []string{"train.step_size=0.3"}, Why: "diverged", Rounds: 20, Seed: 1000,
				Network: "n", InGrid: true})
		s.Setups = append(s.Setups, cells.Setup{Label: label, Network: "n", Algorithm: "rule of " + label,
			Paper:    "Author, 2020",
			Messages: "8 bit", Overlap: cells.Overlaps, Graph: "ring", Workers: 8, Parameters: 50890, Claim: 100_000,
			Exchange: 0.08, Every: 1, Settings: map[string]string{"algorithm.name": label}})
	}
	s.again(t)
	return s
}

var rising = []float64{0.4, 0.6, 0.82, 0.9}

// again fills in what a study computes from its runs when it is opened.
func (s *Study) again(t *testing.T) {
	t.Helper()
	for _, g := range s.Groups {
		for i := range g.Cells {
			c := &g.Cells[i]
			c.Config, c.Tuned = "hash", []string{"train.step_size=0.1"}
			run := g.runs[c.Seed]
			if run == nil {
				continue
			}
			c.ReachLevels(run.Run, s.Levels)
			least := *c.Accuracy.AverageModel - 0.02
			c.Accuracy.Min = &least
			c.BytesPerPeer.Wire = int64(c.Rounds) * 102_000
			c.Data = &record.Split{Partition: "iid"}
		}
	}
	s.Cells = nil
	for _, g := range s.Groups {
		s.Cells = append(s.Cells, g.Cells...)
	}
}

// The whole page of a made comparison, with words in place of the pictures.
func TestGoldenPage(t *testing.T) {
	var page bytes.Buffer
	if err := paper(t).writeHTML(&page); err != nil {
		t.Fatal(err)
	}
	picture := regexp.MustCompile(`(?s)<svg role="img" aria-label="([^"]*)".*?</svg>`)
	text := picture.ReplaceAll(page.Bytes(), []byte("[picture: $1]\n"))
	text = regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAll(text, []byte("<style></style>"))
	file := filepath.Join("testdata", "page.html")
	if *update {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(string(text), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			t.Fatalf("line %d of the page is\n%s\nwant\n%s\n(go test -update writes it again)", i+1,
				strings.Join(lines[min(i, len(lines)):min(i+1, len(lines))], ""),
				strings.Join(wanted[min(i, len(wanted)):min(i+1, len(wanted))], ""))
		}
	}
}

// Each answer follows from the cells: a change of one number changes it.
func TestChecklistFollowsTheCells(t *testing.T) {
	for name, test := range map[string]struct {
		point  int
		change func(*Study)
		answer answer
		reason string
	}{
		"as it is":         {1, func(*Study) {}, met, "2 settings for each algorithm, in runs of 20 rounds with seed 1000"},
		"an unequal grid":  {1, func(s *Study) { s.Trials = s.Trials[1:] }, notMet, "settings tried: D-PSGD 1, Moniqua 8b 2"},
		"no default":       {1, func(s *Study) { s.Trials[0].Default = false }, notMet, "D-PSGD: the default was not tried"},
		"no search":        {1, untuned, notMet, "values of the file"},
		"three seeds":      {2, func(*Study) {}, met, "3 seeds in every row"},
		"two seeds":        {2, func(s *Study) { s.Groups[1].Cells = s.Groups[1].Cells[:2] }, notMet, "n: 2 seeds"},
		"iid alone":        {3, func(*Study) {}, notMet, "in one way: iid"},
		"and by label":     {3, func(s *Study) { partitioned(s.Groups[1], "labels") }, met, "iid, labels"},
		"both models":      {4, func(*Study) {}, met, "for 2 rows"},
		"one of them":      {4, func(s *Study) { s.Groups[0].Cells[0].Accuracy.Min = nil }, notMet, "D-PSGD on n lacks"},
		"three axes":       {5, func(*Study) {}, met, "seconds, bytes, rounds"},
		"no bytes":         {5, silent, notMet, "these axes: seconds, rounds"},
		"few bytes more":   {6, func(*Study) {}, met, "at most 1.020 times"},
		"many bytes more":  {6, func(s *Study) { s.Setups[0].Claim = 90_000 }, notMet, "D-PSGD on n: 1.133 times"},
		"simulated links":  {7, func(*Study) {}, notApplicable, "computes the links"},
		"virtual times":    {8, func(*Study) {}, notMet, "--mode lab"},
		"measured compute": {9, func(*Study) {}, met, "3 algorithms overlap"},
		"given compute":    {9, func(s *Study) { s.Measured = false }, notMet, "10 ms was given"},
		"counted memory":   {10, func(*Study) {}, notMet, "share one process"},
		"shown failures":   {11, func(*Study) {}, met, "3 of 9 cells diverged"},
		"a missing cell":   {11, func(s *Study) { s.Cells = s.Cells[1:] }, notMet, "1 of 9 cells has not been run"},
		"judged claims":    {12, func(*Study) {}, met, "supported"},
		"no reduction":     {14, func(*Study) {}, notMet, "all-reduce: none"},
		"strong baseline": {14, func(s *Study) { s.Setups[1].Algorithm = "all-reduce, early"; halved(s.Groups[1]) }, met,
			"that overlaps: Moniqua 8b"},
		"one size":         {15, func(*Study) {}, notMet, "one number of workers"},
		"repeatable":       {16, func(*Study) {}, met, "version v1, 6 records"},
		"without settings": {16, func(s *Study) { s.Cells[0].Config = "" }, notMet, "hash of its settings"},
		"stated limits":    {17, func(*Study) {}, met, "50\u00a0890 parameters"},
		"attempts":         {18, func(*Study) {}, met, "0 lost, 3 diverged, 0 refused; 3 of 9 cells diverged"},
	} {
		s := paper(t)
		test.change(s)
		c := s.checklist()[test.point-1]
		if c.Answer != test.answer || !strings.Contains(c.Reason, test.reason) {
			t.Errorf("%s: point %d is %s: %q, want %s: %q", name, test.point, c.Answer, c.Reason, test.answer, test.reason)
		}
	}
	if n := len(paper(t).checklist()); n != 18 {
		t.Errorf("%d points, want 18", n)
	}
}

func untuned(s *Study) {
	s.Trials = nil
	for _, g := range s.Groups {
		g.Cells[0].Tuned = nil
	}
}

// silent takes the bytes out of all records.
func silent(s *Study) {
	for _, g := range s.Groups {
		for _, run := range g.runs {
			for i := range run.moments {
				run.moments[i].Sent.Wire = 0
			}
		}
	}
}

func partitioned(g *Group, how string) {
	for i := range g.Cells {
		g.Cells[i].Data = &record.Split{Partition: how}
	}
}

func halved(g *Group) {
	for i := range g.Cells {
		g.Cells[i].Bits = 16
	}
}

// A claim is decided only where its whole interval is on one side.
func TestClaimsAreJudgedByTheirIntervals(t *testing.T) {
	for _, test := range []struct {
		r    stats.Interval
		want Verdict
	}{
		{stats.Interval{Mean: 2, Low: 1.5, High: 3, N: 3}, supported},
		{stats.Interval{Mean: 0.5, Low: 0.3, High: 0.9, N: 3}, notSupported},
		{stats.Interval{Mean: 2, Low: 0.9, High: 4, N: 3}, open},
		{stats.Ratio([]float64{2}), open}, {stats.Ratio(nil), open},
	} {
		if got := judge(test.r, 1); got != test.want {
			t.Errorf("%+v is %s, want %s", test.r, got, test.want)
		}
	}
	s := paper(t)
	told := map[string]Claim{}
	for _, c := range s.Claims() {
		told[c.Label+" "+c.Claim] = c
	}
	for claim, want := range map[string]Verdict{
		"Moniqua 8b reaches training loss 0.9 sooner than D-PSGD":           supported,
		"Moniqua 8b reaches training loss 0.9 with fewer bytes than D-PSGD": open, // equally many
		"Moniqua 8b reaches training loss 3 with fewer bytes than D-PSGD":   open, // in the first records
		"Moniqua 8b ends at most 0.5 points below the accuracy of D-PSGD":   supported,
		"DCD 1b reaches training loss 3 sooner than D-PSGD":                 notTested,
	} {
		if got, there := told[claim]; !there || got.Verdict != want {
			t.Errorf("%s: %q, measured %q, want %s", claim, got.Verdict, got.Measured, want)
		}
	}
	if got := told["DCD 1b reaches training loss 3 sooner than D-PSGD"].Measured; !strings.Contains(got, "diverged") {
		t.Errorf("an untested claim says %q", got)
	}
}

// A claim over several targets says where it holds.
func TestClaimsOverAllTargets(t *testing.T) {
	for want, claims := range map[string][]Verdict{
		"supported":                   {supported, supported},
		"supported at 1 of 2 targets": {open, supported},
		"not supported":               {notSupported},
		"depends on the target: supported at 1, not at 1 of 3": {supported, notSupported, open},
		"open":       {open, notTested},
		"not tested": {notTested},
	} {
		var all []Claim
		for _, v := range claims {
			all = append(all, Claim{Verdict: v})
		}
		if got := overall(all); got != want {
			t.Errorf("%v: %q, want %q", claims, got, want)
		}
	}
	if n := len(verdictTable(paper(t)).Rows); n != 6 {
		t.Errorf("%d rows, want three claims for each of two algorithms", n)
	}
}

// The order at several targets is one sentence, which names all that are first somewhere.
func TestOrderAtAllTargets(t *testing.T) {
	s := paper(t)
	groups := s.on("n")
	const want = "On n Moniqua 8b has the least mean time at each of 4 targets; at 4 of them the intervals tell " +
		"the first from all others. At 1 of 5 targets no first is known."
	if got := steady(s, "n", groups); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range groups[0].Cells {
		early := *groups[0].Cells[i].ToLevels[1].Reached
		early.Time, early.After = 0.1, 0.05
		groups[0].Cells[i].ToLevels[1].Reached = &early
	}
	if got := steady(s, "n", groups); !strings.Contains(got, "depends on the target: D-PSGD, Moniqua 8b;") {
		t.Errorf("%q does not say that the order changes", got)
	}
	f := s.levels(s.Networks[0], groups)
	if len(f.Panels) != 2 || !strings.Contains(f.Panels[0].Words, "to 2, 6.01 [5.10, 6.31] to 0.9") {
		t.Errorf("%d panels, %q, want one for each metric, with all times", len(f.Panels), f.Panels[0].Words)
	}
}

// Rings of several sizes are one line, beside that of the formula.
func TestScaling(t *testing.T) {
	s := paper(t)
	for i, workers := range []int{4, 8, 64} {
		s.Setups[i].Algorithm, s.Setups[i].Workers = "D-PSGD", workers
		s.Setups[i].Settings = map[string]string{"topology.size": fmt.Sprint(workers)}
	}
	families := families(s, "n")
	if len(families) != 1 || len(families[0].at) != 3 || families[0].name != "D-PSGD, 8 bit" {
		t.Fatalf("%+v, want one family of three sizes", families)
	}
	if got := families[0].at[1]; got.predicted != 80 || fmt.Sprintf("%.3f", got.ratio()) != "1.275" {
		t.Errorf("%+v, ratio %v, want 80 ms by the formula, and 102 ms measured", got, got.ratio())
	}
	if f := s.scaling(s.Networks[0]); f == nil || len(f.Panels) != 3 ||
		!strings.Contains(f.Panels[0].Words, "102.0 [97.1, 107.1] at 8") {
		t.Errorf("%d panels, the first says %q, want the rounds and two targets", len(f.Panels), f.Panels[0].Words)
	}
	if c := s.checklist()[14]; c.Answer != notMet || !strings.Contains(c.Reason, "4 to 64 workers in 3 sizes") {
		t.Errorf("%+v, want that five sizes are missing", c)
	}
}

// Lines of several graphs name them.
func TestScalingNamesGraphsThatDiffer(t *testing.T) {
	one := []family{{name: "a", graph: "ring"}, {name: "b", graph: "ring"}}
	nameGraphs(one)
	two := []family{{name: "a", graph: "ring"}, {name: "a", graph: "torus"}}
	nameGraphs(two)
	if one[0].name != "a" || one[1].name != "b" || two[0].name != "a, ring" || two[1].name != "a, torus" {
		t.Errorf("%+v and %+v", one, two)
	}
}

func TestPredictedRounds(t *testing.T) {
	for _, test := range []struct {
		overlap  string
		exchange float64
		every    int
		want     float64
	}{
		{cells.Overlaps, 3, 1, 3}, {cells.Overlaps, 1, 1, 2}, {cells.Waits, 3, 1, 5}, {cells.Waits, 3, 3, 3},
		{cells.Asynchronous, 3, 1, 0},
		{cells.Waits, 0, 1, 0},
	} {
		s := cells.Setup{Overlap: test.overlap, Exchange: test.exchange, Every: test.every}
		if got := s.Predicted(2); got != test.want {
			t.Errorf("%+v: %v s, want %v", test, got, test.want)
		}
	}
}

// The search says where it was unfair to an algorithm.
func TestSearchesHaveDoubts(t *testing.T) {
	s := paper(t)
	low := 0.2
	s.Trials = append(s.Trials, cells.Trial{Label: "D-PSGD", Settings: []string{"train.step_size=auto"}, Loss: &low,
		Network: "n",
		Default: true})
	if all := strings.Join(s.Caveats(), "\n"); !strings.Contains(all, "D-PSGD: the default [train.step_size=auto] has a "+
		"lower loss in the search than every setting of the grid") {
		t.Errorf("%q does not say that the default is better", all)
	}
	s.Trials, s.Labels = nil, []string{"AllReduce", "D-PSGD", "Choco", "Moniqua"}
	for i, loss := range []float64{0.3, 0.2, 0.1, 0.4} { // AllReduce: the largest step; D-PSGD: one within
		s.Trials = append(s.Trials, cells.Trial{Label: "Moniqua", Loss: &loss, Network: "n", InGrid: true, Chosen: i == 2,
			Settings: []string{fmt.Sprintf("topology.slack=%d", min(i, 2))}, Bounds: []string{"topology.slack"}}) // no end
		for label, place := range map[string]int{"AllReduce": i, "D-PSGD": 3 - i} {
			s.Trials = append(s.Trials, cells.Trial{Label: label, Loss: &loss, Network: "n", InGrid: true, Chosen: i == 2,
				Settings: []string{"topology.slack=auto", fmt.Sprintf("train.step_size=%d", min(place, 2))}})
		}
		s.Trials = append(s.Trials, cells.Trial{Label: "Choco", Loss: &loss, Network: "n", InGrid: i > 1, Chosen: i == 2,
			Settings: []string{fmt.Sprintf("algorithm.gamma=%d", i)}}) // a grid of two: each is an end
	}
	all := strings.Join(s.Caveats(), "\n")
	if n := strings.Count(all, "an end of its grid"); n != 1 || !strings.Contains(all,
		"AllReduce: the chosen train.step_size=2 is an end of its grid: a wider grid may have a better one") {
		t.Errorf("%q, want AllReduce alone at an end of its grid", all)
	}
}

// Tables are the same as CSV and for LaTeX, whose environments and lines are complete.
func TestTablesOfAPaper(t *testing.T) {
	names := map[string]bool{}
	for _, table := range paper(t).tables() {
		names[table.Name] = true
		var tex, tidy bytes.Buffer
		if err := table.writeLaTeX(&tex); err != nil {
			t.Fatal(err)
		}
		if err := table.writeCSV(&tidy); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(tex.String(), `\\`+"\n"); n%(len(table.Rows)+1) != 0 || n == 0 {
			t.Errorf("%s: %d lines of LaTeX for %d rows", table.Name, n, len(table.Rows))
		}
		if !strings.HasPrefix(tidy.String(), table.Head[0]+",") {
			t.Errorf("%s begins %.40q", table.Name, tidy.String())
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("%s: %d cells of %d columns: %q", table.Name, len(row), len(table.Head), row)
			}
		}
	}
	for _, want := range []string{"methods", "networks", "tuning", "targets-n", "claims", "settings", "checklist"} {
		if !names[want] {
			t.Errorf("no table %s", want)
		}
	}
	var results bytes.Buffer
	if err := paper(t).writeResults(&results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"D-PSGD,n,accuracy_average_model,3,0.91,",
		"Moniqua 8b,n,seconds to training loss 0.9,3,",
		"D-PSGD,n,socket_over_claimed_bytes,3,1.02"} {
		if !strings.Contains(results.String(), want) {
			t.Errorf("no %q in\n%s", want, results.String())
		}
	}
}

// The figures for LaTeX hold the numbers, names and colours of the others, and LaTeX accepts them where it is there.
func TestFiguresForLaTeX(t *testing.T) {
	figures := paper(t).Figures()
	for _, want := range []string{"\\definecolor{peer0072b2}{RGB}{0,114,178}", "ylabel={training loss}", "ymode=log",
		"\\addlegendentry{Moniqua 8b}", "-- cycle;", "\\end{groupplot}"} {
		if text := figures[0].PGF(); !strings.Contains(text, want) {
			t.Errorf("%s has no %q", figures[0].Name, want)
		}
	}
	if bars := figures[2].PGF(); !strings.Contains(bars, "{diverged in rounds 7 to 9}") ||
		!strings.Contains(bars, "xticklabels={{D-PSGD},{Moniqua 8b},{DCD 1b}}") {
		t.Errorf("bars lack names or the reason of a missing one:\n%s", bars)
	}
	for _, f := range figures {
		text := f.PGF()
		if n := strings.Count(text, "\\nextgroupplot"); n != len(f.Panels) {
			t.Errorf("%s: %d panels, want %d", f.Name, n, len(f.Panels))
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s has a coordinate that is no number", f.Name)
		}
	}
	if _, err := exec.LookPath("pdflatex"); err != nil {
		t.Skip("no pdflatex")
	}
	typeset(t, figures, paper(t).tables())
}

// typeset runs LaTeX on all figures and tables.
func typeset(t *testing.T, figures []*chart.Figure, tables []table) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("\\documentclass{article}\n\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\n" +
		"\\usepackage{booktabs,pgfplots}\n" +
		"\\usepgfplotslibrary{groupplots}\\pgfplotsset{compat=1.16}\n\\begin{document}\n")
	for _, f := range figures {
		b.WriteString("\\noindent " + f.PGF() + "\n\n")
	}
	for _, table := range tables {
		if err := table.writeLaTeX(&b); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("\\end{document}\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all.tex"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pdflatex: %v\n%s", err, out[max(0, len(out)-2000):])
	}
}

// The names of many bars are vertical in pictures and in LaTeX, so that none lies on another.
func TestNamesOfManyBarsAreVertical(t *testing.T) {
	for bars, want := range map[int]string{2: "rotate=35", chart.Crowd - 1: "rotate=35", chart.Crowd: "rotate=90"} {
		p := &chart.Panel{Plot: chart.NewPanel("", "")}
		var groups []*Group
		for i := range bars {
			groups = append(groups, &Group{Label: fmt.Sprint("algorithm ", i)})
		}
		nameBars(p, groups, 1)
		if got := (&chart.Figure{Panels: []*chart.Panel{p}}).PGF(); !strings.Contains(got, want) {
			t.Errorf("%d bars: %s, want %s", bars, got, want)
		}
		// A picture has room for the names: neighbours are as far apart as their letters are high.
		style := p.X.Tick.Label
		if box := style.Rectangle("algorithm 0"); bars >= chart.Crowd && box.Size().X > 2*style.Font.Size {
			t.Errorf("%d bars: names take %v of a width, want at most two letters' heights", bars, box.Size().X)
		}
	}
}

// A time that is only bounded is no measurement: it wins nothing unless its bound lies below all other times.
func TestBoundsAreNotMeasurements(t *testing.T) {
	s := paper(t)
	target := s.Goals()[1]
	groups := s.on("n")
	moniqua := groups[slices.IndexFunc(groups, func(g *Group) bool { return g.Label == "Moniqua 8b" })]
	set := func(g *Group, r record.Reached) {
		for i := range g.Cells {
			for j := range g.Cells[i].ToLevels {
				if g.Cells[i].ToLevels[j].Target == target {
					g.Cells[i].ToLevels[j].Reached = &r
				}
			}
		}
	}
	set(groups[0], record.Reached{Time: 1.5, After: 1.4, Seen: 1.6, Bytes: 1e6})
	for seen, want := range map[float64]string{1.682: "", 1.2: "Moniqua 8b"} {
		set(moniqua, record.Reached{Time: seen, Seen: seen, Bytes: 1e6})
		fastest, open := fastestOf(groups, target)
		got := ""
		if fastest != nil {
			got = fastest.Label
		}
		if got != want {
			t.Errorf("seen at %v: %q is the first, want %q", seen, got, want)
		}
		if sentence := conclude(s, "n", groups, target); want == "" && (len(open) != 2 ||
			!strings.Contains(sentence, "do not show who is the first") || !strings.Contains(sentence, "at most 1.68 s")) {
			t.Errorf("%q with %d groups", sentence, len(open))
		}
		line := moniqua.line(metric{"seconds", func(g *Group) stats.Interval { return g.timeTo(target) }})
		if line[4] != "" || line[5] != "" || line[6] != exact(seen) || line[7] != "at most" {
			t.Errorf("results.csv has %q", line)
		}
		if line := moniqua.line(metric{"mb", func(g *Group) stats.Interval { return g.bytesTo(target) }}); line[4] != "" ||
			line[7] != "at most" {
			t.Errorf("results.csv has the bytes %q", line)
		}
	}
}

// Tables fit the text width of an article. Columns that do not fit follow below, beside the first column again.
func TestTablesFitAnArticle(t *testing.T) {
	var tex strings.Builder
	if err := paper(t).writeLaTeX(&tex); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(tex.String(), "\\toprule\n")[1:]
	if len(parts) < 2 {
		t.Fatalf("one table of nine columns:\n%s", tex.String())
	}
	for _, part := range parts {
		widest := map[int]int{}
		for line := range strings.Lines(part) {
			for i, cell := range strings.Split(line, " & ") {
				if strings.HasSuffix(line, "\\\\\n") {
					widest[i] = max(widest[i], len(cell))
				}
			}
		}
		letters := 0
		for _, n := range widest {
			letters += n
		}
		if most := 90; letters > most {
			t.Errorf("a table has lines of %d letters, want at most %d:\n%s", letters, most, part)
		}
	}
}
