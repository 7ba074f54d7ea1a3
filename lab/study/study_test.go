package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// cell returns a cell that has trained for 60 rounds, with a record every 10 rounds of the given seconds and megabytes.
func cell(t *testing.T, dir, label string, seed uint64, seconds, megabytes float64, bits int) cells.Cell {
	t.Helper()
	c := cells.Cell{
		Label: label, Network: "slow", Seed: seed, Status: cells.Done, Folder: fmt.Sprintf("cells/%s.%d", label, seed),
		Summary: &record.Summary{Algorithm: "dpsgd", Bits: bits, Rounds: 60, Time: 60 * seconds,
			BytesPerPeer: record.Bytes{Wire: int64(60e6 * megabytes)}},
	}
	if err := os.MkdirAll(filepath.Join(dir, c.Folder), 0o777); err != nil {
		t.Fatal(err)
	}
	var events bytes.Buffer
	run := &record.Run{}
	for k := 1; k <= 60; k++ {
		for rank := range 2 {
			e := record.Event{Step: &record.Step{Rank: rank, Round: k, Time: duration(float64(k) * seconds),
				Loss: 2 / float64(k), Gap: 0.1, Sent: record.Bytes{Wire: int64(float64(k) * 1e6 * megabytes)},
				Compute: duration(seconds / 4)}}
			run.Events = append(run.Events, e)
			if err := record.Write(&events, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, c.Folder, record.EventsFile), events.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Reach(run, record.Targets{Loss: 0.2})
	return c
}

// study returns a comparison of three algorithms, one of which diverged.
func study(t *testing.T, seeds ...uint64) *Study {
	t.Helper()
	dir := t.TempDir()
	c := cells.Comparison{
		Name: "small", Mode: "sim", Compute: 0.001, Targets: record.Targets{Loss: 0.2},
		Networks: []cells.Network{{Name: "slow", Rate: 8e6, Latency: 0.001}},
		Labels:   []string{"quick", "D-PSGD", "<bad>"}, Seeds: seeds, Command: "peer compare small",
	}
	for _, seed := range seeds {
		c.Cells = append(c.Cells, cell(t, dir, "quick", seed, 0.5+0.001*float64(seed), 0.5, 8),
			cell(t, dir, "D-PSGD", seed, 2, 2, 32),
			cells.Cell{Label: "<bad>", Network: "slow", Seed: seed, Status: cells.Diverged})
	}
	return written(t, dir, &c)
}

func TestConclusions(t *testing.T) {
	for seeds, want := range map[int]string{
		1: "quick is the first to reach training loss 0.2, in 5.12 s: 25.0 % of the time of D-PSGD, speedup 3.99×; " +
			"one seed says nothing",
		3: "95 % interval over 3 seeds",
	} {
		s := study(t, []uint64{1, 2, 3}[:seeds]...)
		if got := s.Conclusions(); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%d seeds: %q, want %q", seeds, got, want)
		}
	}
}

// The table has a time if all runs reached the target, and its speedup over full precision.
func TestTargetsAreATable(t *testing.T) {
	var text strings.Builder
	s := study(t, 1)
	if err := s.WriteTargets(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"speedup over D-PSGD", "ALGORITHM         slow", "quick  5.12 (3.99)",
		"D-PSGD  20.4 (1.00)", "<bad>            -"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	text.Reset()
	s.Targets = record.Targets{}
	if err := s.WriteTargets(&text); err != nil || text.Len() > 0 {
		t.Errorf("%q without a target, error %v", text.String(), err)
	}
}

// The report does not rank algorithms whose intervals overlap.
func TestConclusionsNameRivals(t *testing.T) {
	s := study(t, 1, 2, 3)
	for i := range s.Groups[2].Cells { // equally fast: a little faster with some seeds, slower with others
		c := s.Groups[0].Cells[i]
		c.Label, c.Seed = "rival", uint64(i+1)
		took := *c.ToLoss
		took.Time *= []float64{0.9, 1.1, 1.2}[i]
		c.ToLoss = &took
		s.Groups[2].Cells[i] = c
	}
	s.Groups[2].Label, s.Groups[2].runs = "rival", s.Groups[0].runs
	if got := s.Conclusions()[0]; !strings.Contains(got, "quick is the first") ||
		!strings.Contains(got, "cannot distinguish it from rival.") {
		t.Errorf("%q does not name the rival", got)
	}
}

// A mean over the runs that reach a target must not hide the others.
func TestTargetReachedInSomeRuns(t *testing.T) {
	s := study(t, 1, 2, 3)
	s.Groups[0].Cells[1].ToLoss = nil
	r := s.rows("slow")[0]
	if to := r.Targets[0]; !strings.Contains(to.Time, "(2 of 3 runs)") || to.Sooner != "-" || to.Best {
		t.Errorf("%+v, want that two of three runs reach the target, and no speed-up", r)
	}
}

// The last two records have no complete mean, so a loss that only they reach is not told. The report says why.
func TestTargetThatOnlyTheLastRecordsReach(t *testing.T) {
	s := study(t, 1)
	s.Targets.Loss = 0.034 // 2/60 in the last record, 2/58 in the last complete mean
	s.Groups[0].Cells[0].ToLoss, s.Groups[1].Cells[0].ToLoss = nil, nil
	all := strings.Join(s.Caveats(), "\n")
	if strings.Contains(all, "did not reach") ||
		!strings.Contains(all, "quick on slow: 1 of 1 run is at training loss 0.034 only in the last two records") {
		t.Errorf("%q does not say that the run ends too early", all)
	}
	if s.Targets.Loss = 0.01; strings.Contains(strings.Join(s.Caveats(), "\n"), "only in the last") {
		t.Error("a loss that no record reaches is said to be reached in the last two")
	}
}

func TestTargetThatIsReachedAtOnce(t *testing.T) {
	s := study(t, 1)
	s.Groups[0].Cells[0].ToLoss = s.Groups[0].runs[1].ReachLoss(1.5)
	if all := strings.Join(s.Caveats(), "\n"); strings.Count(all, "as soon as it can be seen") != 1 {
		t.Errorf("%q does not say once that the target is too easy", all)
	}
}

func TestLaTeXIsEscaped(t *testing.T) {
	if got, want := human.LaTeX("a_{b}~50 % \\<x>\n"), `a\_\{b\}\textasciitilde{}50 \% \textbackslash{}$<$x$>$ `; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCaveats(t *testing.T) {
	all := strings.Join(study(t, 1, 2).Caveats(), "\n")
	for _, want := range []string{"2 of at least 3 seeds", "<bad> on slow: 2 of 2 runs diverged", "times are virtual"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q lacks %q", all, want)
		}
	}
	s := study(t, 1)
	s.Seeds = []uint64{1, 2} // the second has not been run yet
	if all := strings.Join(s.Caveats(), "\n"); !strings.Contains(all, "3 of 6 cells have not been run") {
		t.Errorf("%q does not say that cells have not been run", all)
	}
	s.Mode = "lab"
	s.Networks[0].Rate = 0
	for _, g := range s.Groups {
		g.Network.Rate = 1e6 // ten times slower than the measured rounds
	}
	if all := strings.Join(s.Caveats(), "\n"); !strings.Contains(all, "the limit was not kept") {
		t.Errorf("%q does not say that the limit was not kept", all)
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	var page bytes.Buffer
	if err := study(t, 1, 2, 3).writeHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{"&lt;bad&gt;", "3 of 3 diverged", "<svg", "peer compare small",
		`<th scope="row">quick</th><td>8</td><td class="best">`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<script>"); n != 1 || strings.Count(text, "<script") != 1 {
		t.Errorf("the page has %d scripts of its own, want one", n)
	}
	sum := sha256.Sum256([]byte(script))
	if want := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(text, want) {
		t.Errorf("the page does not bound its requests by %q", want)
	}
	for _, never := range []string{"<bad>", "src=", "href=\"http", "@import", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("the page holds %q", never)
		}
	}
}

func TestWhatWasTunedIsTold(t *testing.T) {
	s := study(t, 1, 2)
	s.Groups[0].Cells[0].Tuned = []string{"algorithm.gamma=0.3", "topology.slack=0.1"}
	if text := s.Reproduce(); !strings.Contains(text, "tuned:   quick: algorithm.gamma=0.3 topology.slack=0.1,") ||
		strings.Count(text, "tuned:") != 1 {
		t.Errorf("%q does not say what was chosen", text)
	}
}

func TestTables(t *testing.T) {
	s := study(t, 1, 2)
	var tex, tidy bytes.Buffer
	if err := errors.Join(s.writeLaTeX(&tex), s.writeCSV(&tidy)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`quick & 8 & \textbf{5.1`, `$<$bad$>$$^\dagger$ & - &`, "& 1.00 "} {
		if !strings.Contains(tex.String(), want) {
			t.Errorf("%s lacks %q", tex.String(), want)
		}
	}
	if lines := strings.Count(tidy.String(), "\n"); lines != 1+2*2*60*3 {
		t.Errorf("%d lines of curves, want one per metric of 60 moments of 4 runs", lines)
	}
}

func TestFigures(t *testing.T) {
	for _, f := range study(t, 1, 2).Figures() {
		for _, format := range []string{"png", "svg", "pdf"} {
			for _, draw := range []func(string) ([]byte, error){f.Draw, f.DrawColumn} {
				if picture, err := draw(format); err != nil || len(picture) < 1000 {
					t.Errorf("%s.%s: %d bytes, error %v", f.Name, format, len(picture), err)
				}
			}
		}
	}
	s := study(t, 1)
	for i, m := range s.Groups[0].runs[1].moments { // would diverge without the cut
		s.Groups[0].runs[1].moments[i].Loss = 2 * math.Pow(10, m.Round/10)
	}
	if p := s.Figures()[0].Panels; p[0].Y.Max > 100 || p[1].Y.Max > 100 || p[0].Y.Max < 2 {
		t.Errorf("losses up to %g and %g are shown, want twice the first one", p[0].Y.Max, p[1].Y.Max)
	}
	// nothing has trained: empty panels, no panic
	s = &Study{Comparison: cells.Comparison{Networks: []cells.Network{{Name: "n"}}}}
	s.Groups = []*Group{{Network: s.Networks[0], Label: "a", Cells: []cells.Cell{{Status: cells.Diverged}}}}
	for _, f := range s.Figures() {
		if _, err := f.Draw("png"); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// A script may evaluate once, at its end.
func TestACurveOfOnePointIsADot(t *testing.T) {
	groups := study(t, 1).Groups
	fills := func(points int) (n int) {
		p := curves(groups, byRound(), quantity{"accuracy", func(r *trace) ([]record.Moment, []float64) {
			return r.moments[:points], make([]float64, points)
		}})
		paper := new(recorder.Canvas)
		p.Draw(draw.NewCanvas(paper, 100, 100))
		for _, action := range paper.Actions {
			if _, ok := action.(*recorder.Fill); ok {
				n++
			}
		}
		return n
	}
	if dots := fills(1) - fills(2); dots != 2 { // the third group has diverged
		t.Errorf("%d dots for two runs with a point each", dots)
	}
}

// One cell without the accuracy of its average model makes all cells show that of the replicas.
func TestAccuraciesOfAStudyAreOfOneKind(t *testing.T) {
	s := study(t, 1)
	for _, test := range []struct {
		averages []float64 // of the two cells, 0: there is none
		want     float64
		says     string
	}{
		{[]float64{0.9, 0.9}, 0.9, "Accuracy is that of the mean of all models."},
		{[]float64{0.9, 0}, 0.8, "Accuracy is the mean over the peers."},
	} {
		c, err := cells.Read(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, average := range test.averages {
			c.Cells[i].Accuracy = record.Accuracy{Mean: new(0.8)}
			if average > 0 {
				c.Cells[i].Accuracy.AverageModel = &average
			}
		}
		opened := written(t, s.Dir, c)
		for _, g := range opened.Groups[:2] {
			if got := g.finalAccuracy(g.Cells[0], nil); got == nil || *got != test.want {
				t.Errorf("%v: %s has the accuracy %v, want %v", test.averages, g.Label, got, test.want)
			}
		}
		if all := strings.Join(opened.Methods(), " "); !strings.Contains(all, test.says) {
			t.Errorf("%v: the methods do not say %q: %s", test.averages, test.says, all)
		}
	}
}

func TestOpenStudyMistakes(t *testing.T) {
	if _, err := Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	s := study(t, 1)
	if err := os.RemoveAll(filepath.Join(s.Dir, "cells")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(s.Dir); err == nil || !strings.Contains(err.Error(), "its record is gone") {
		t.Errorf("without records: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, cells.ComparisonFile), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(s.Dir); err == nil || !strings.Contains(err.Error(), "no cell has been run") {
		t.Errorf("without cells: %v", err)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// A bound is written as one, by every table: the line of a cell, the row of an algorithm, and the numbers.
func TestABoundIsNoMeasurement(t *testing.T) {
	s := study(t, 1, 2, 3)
	for i := range s.Groups[0].Cells {
		early := &record.Reached{Time: 1.68, Seen: 1.68, Bytes: 2e6}
		s.Groups[0].Cells[i].ToLoss, s.Cells[3*i].ToLoss = early, early
	}
	var table strings.Builder
	if err := WriteCells(&table, s.Comparison); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), "at most 1.68 s"); n != 3 {
		t.Errorf("%d cells have a bound, want 3:\n%s", n, table.String())
	}
	if got := s.rows("slow")[0].Targets[0].Time; got != "at most 1.68" {
		t.Errorf("%q in the table, want a bound", got)
	}
	if got := cells.TimeTo(s.Groups[0].Cells, s.Targets.List()[0]); got != "at most 1.68" {
		t.Errorf("%q on the page of peer dash, want a bound", got)
	}
}

// The numbers of the file are those of the tables: written alike, they are the same texts.
func TestNumbersAreThoseOfTheTables(t *testing.T) {
	s := study(t, 1, 2, 3)
	var text strings.Builder
	if err := s.writeResults(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, line := range lines[1:] {
		number := func(i int) float64 {
			if v, err := strconv.ParseFloat(line[i], 64); err == nil {
				return v
			}
			return math.NaN()
		}
		n, _ := strconv.Atoi(line[3])
		got[line[0]+" "+line[2]] = stats.Interval{Mean: number(4), Low: number(5), High: number(6), N: n}.String() + line[7]
	}
	r := s.rows("slow")[0]
	for metric, want := range map[string]string{
		"seconds to training loss 0.2": r.Targets[0].Time, "speedup to training loss 0.2": r.Targets[0].Sooner,
		"mb to training loss 0.2": r.Targets[0].Bytes, "ms_per_round": r.Round, "mb_per_peer": r.MB,
	} {
		if got["quick "+metric] != want {
			t.Errorf("%s: %q in the file, %q in the table", metric, got["quick "+metric], want)
		}
	}
	if zero := got["quick extra_mb"]; strings.Contains(zero, "at most") {
		t.Errorf("no extra memory is %q, want a number", zero)
	}
}

func around(mean, half float64, n int) stats.Interval {
	return stats.Interval{Mean: mean, Low: mean - half, High: mean + half, N: n}
}

// An accuracy has the digits that its interval carries, and a claim says on how many seeds and rows it rests.
func TestAccuraciesSayHowSureTheyAre(t *testing.T) {
	for _, test := range []struct {
		e    stats.Interval
		want string
	}{
		{around(0.918333, 0.014342, 3), "91.8 ± 1.4"}, {around(0.918333, 0.14, 3), "92 ± 14"},
		{around(0.918333, 0.00014, 3), "91.83 ± 0.01"}, {around(0.918333, 0, 3), "91.83 ± 0.00"},
		{around(0.918333, math.NaN(), 1), "91.83"}, {stats.Interval{}, "-"},
	} {
		if got := percent(test.e); got != test.want {
			t.Errorf("%+v is written %q, want %q", test.e, got, test.want)
		}
	}
	s := study(t, 1, 2, 3)
	for _, g := range s.Groups[:2] {
		for i := range g.Cells {
			g.Cells[i].Accuracy.Mean = record.Number(0.9)
			g.Cells[i].Summary.Data = &record.Split{Test: []int{200, 250}}
		}
	}
	claims := s.Claims()
	i := slices.IndexFunc(claims, func(c Claim) bool { return strings.Contains(c.Claim, "accuracy of") })
	if i < 0 || !strings.HasSuffix(claims[i].Measured, "points, 3 seeds, 200 test rows") {
		t.Errorf("%+v, want a claim that says on what it rests", claims)
	}
	const worth = "200 test rows: each changes an accuracy by 0.5 points"
	if all := strings.Join(s.Caveats(), "\n"); !strings.Contains(all, worth) {
		t.Errorf("%q does not say what one row is worth", all)
	}
}

// One figure compares the times on all networks.
func TestAFigureAcrossNetworks(t *testing.T) {
	s := study(t, 1, 2)
	if f := acrossNetworks(s); f != nil {
		t.Errorf("a figure across one network: %s", f.Caption)
	}
	s.Networks = append(s.Networks, cells.Network{Name: "fast", Rate: 8e9})
	for _, g := range s.Groups[:3:3] {
		twin := *g
		twin.Network = s.Networks[1]
		s.Groups = append(s.Groups, &twin)
	}
	i := slices.IndexFunc(s.Figures(), func(f *chart.Figure) bool { return f.Name == "networks" })
	if i < 0 {
		t.Fatal("no figure across networks")
	}
	f := s.Figures()[i]
	if got := f.Panels[0]; len(got.Names) != len(s.Networks) || len(f.Legend) != len(s.Labels) {
		t.Errorf("networks %q with %d lines in the legend, want %d networks and %q", got.Names, len(f.Legend),
			len(s.Networks), s.Labels)
	}
	for _, network := range s.Networks {
		if words := f.Panels[0].Words; !strings.Contains(words, "quick on "+network.Name+": ") {
			t.Errorf("no time on %s: %s", network.Name, words)
		}
	}
	// The caption names each method that has no point, with the reason.
	for _, g := range s.Groups {
		if g.Label != "quick" || g.Network.Name != "fast" {
			continue
		}
		g.Cells = slices.Clone(g.Cells)
		for i := range g.Cells {
			first := *g.Cells[i].ToLoss
			first.After = 0 // in the first record
			g.Cells[i].ToLoss = &first
		}
	}
	s.Networks = append(s.Networks, cells.Network{Name: "lone"})
	lone := *s.Groups[0]
	lone.Network = s.Networks[2]
	s.Groups = append(s.Groups, &lone)
	want := " Without a point for training loss 0.2: quick (fast: at most 5.52 s); D-PSGD (lone: not run); <bad> (slow: " +
		"diverged, fast: diverged, lone: not run)."
	f = acrossNetworks(s)
	source := strings.Join(strings.Fields(f.PGF()), " ") // without its line breaks
	if !strings.HasSuffix(f.Caption, want) || !strings.Contains(source, want) {
		t.Errorf("the caption is %q, want %q at its end", f.Caption, want)
	}
}
