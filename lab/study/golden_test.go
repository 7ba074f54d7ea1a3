package study

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// A planned run is one of a golden study, with a record every ten rounds of as many
// seconds as it has losses.
type planned struct {
	losses   []float64
	scores   []float64 // of the average model, every 20 rounds
	final    float64   // accuracy of the average model; 0 = none
	gap      float64
	diverged string // the error; it has no record then
	pace     float64
}

// golden writes a comparison of labels, each with a run per seed, and opens it.
func golden(t *testing.T, targets record.Targets, labels []string, runs map[string][]planned) *Study {
	t.Helper()
	dir := t.TempDir()
	c := cells.Comparison{Name: "golden", Mode: "lab", Targets: targets,
		Networks: []cells.Network{{Name: "n"}}, Labels: labels}
	for _, label := range labels {
		for i, p := range runs[label] {
			seed := uint64(i + 1)
			if len(c.Seeds) < i+1 {
				c.Seeds = append(c.Seeds, seed)
			}
			c.Cells = append(c.Cells, p.write(t, dir, cells.Cell{Label: label, Network: "n", Seed: seed, Status: cells.Done}))
		}
	}
	return written(t, dir, &c)
}

// written writes a comparison into its folder, and opens it.
func written(t *testing.T, dir string, c *cells.Comparison) *Study {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, cells.ComparisonFile), text, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes the record of a run and completes its cell.
func (p planned) write(t *testing.T, dir string, c cells.Cell) cells.Cell {
	t.Helper()
	if p.diverged != "" {
		c.Status, c.Error = cells.Diverged, p.diverged
		return c
	}
	pace := max(p.pace, 1e-9)
	if p.pace == 0 {
		pace = 1
	}
	c.Folder = filepath.Join("cells", c.Label+strconv.FormatUint(c.Seed, 10))
	rounds := 10 * len(p.losses)
	c.Summary = &record.Summary{Algorithm: "dpsgd", Bits: 32, Rounds: rounds, Time: pace * float64(len(p.losses)),
		TrainLoss: &p.losses[len(p.losses)-1]}
	if p.final > 0 {
		c.Summary.Accuracy.AverageModel = &p.final
	}
	var lines bytes.Buffer
	write := func(e record.Event) {
		if err := record.Write(&lines, e); err != nil {
			t.Fatal(err)
		}
	}
	for i, loss := range p.losses {
		write(record.Event{Step: &record.Step{
			Round: 10 * (i + 1), Time: duration(pace * float64(i+1)), Loss: loss, Gap: p.gap,
			Sent: record.Bytes{Wire: int64(1e6 * (i + 1))},
		}})
	}
	for i, accuracy := range p.scores {
		write(record.Event{Score: &record.Score{Rank: record.Average, Round: 20 * (i + 1), Loss: 1, Accuracy: accuracy}})
	}
	summary, err := json.Marshal(c.Summary)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, c.Folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{record.EventsFile: lines.Bytes(), record.SummaryFile: summary} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// told returns all texts of a study.
func told(t *testing.T, s *Study) string {
	t.Helper()
	var text bytes.Buffer
	for _, line := range slices.Concat(s.Conclusions(), s.Caveats()) {
		text.WriteString(line + "\n")
	}
	for _, write := range []func(io.Writer) error{s.WriteTargets, s.writeHTML, s.writeLaTeX,
		func(w io.Writer) error { return WriteCells(w, s.Comparison) }} {
		if err := write(&text); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

func mustTell(t *testing.T, text string, wanted, never []string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	for _, not := range never {
		if strings.Contains(text, not) {
			t.Errorf("the report says %q", not)
		}
	}
}

var falling = []float64{5, 4, 3, 2, 1, 0.5, 0.4, 0.3}

// Without evaluations it is unknown when a run reached an accuracy, but the last accuracies are known.
func TestAccuracyThatWasMeasuredAtTheEndAlone(t *testing.T) {
	s := golden(t, record.Targets{Accuracy: 0.75}, []string{"A", "B"}, map[string][]planned{
		"A": {{losses: falling, final: 0.776}, {losses: falling, final: 0.781}},
		"B": {{losses: falling, final: 0.7}, {losses: falling, final: 0.8}},
	})
	mustTell(t, told(t, s), []string{
		"accuracy was measured at the end alone (output.evaluate is 0): A end at accuracy 0.75 or above in every run.",
		"is not known where output.evaluate is 0: 3 of 4 such runs end there or above", "not known",
	}, []string{"did not reach"})
	if bars := s.Figures()[1]; !strings.Contains(bars.Panels[0].Words, "A: not known") {
		t.Errorf("the figure says %q", bars.Panels[0].Words)
	}
}

// An accuracy that the run first reaches at its end counts, too.
func TestAccuracyThatTheLastRoundReached(t *testing.T) {
	s := golden(t, record.Targets{Accuracy: 0.75}, []string{"A"}, map[string][]planned{"A": {{losses: falling,
		scores: []float64{0.5, 0.7}, final: 0.8}}})
	r := s.Groups[0].Cells[0].ToAccuracy
	if r == nil || math.Abs(r.Time-6) > 1e-9 || r.After != 4 || r.Seen != 8 {
		t.Errorf("reached %+v, want after 6 s, half way from 4 s to the end", r)
	}
}

// A run with fewer records than a loss target takes may be below the target at its end.
func TestALossTargetNeedsEnoughRecords(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"A", "B"}, map[string][]planned{
		"A": {{losses: []float64{1.5, 1, 0.5, 0.4}}},
		"B": {{losses: []float64{9, 9, 9, 9, 9}}},
	})
	mustTell(t, told(t, s), []string{
		"A on n: 1 of 1 run cannot show training loss 2, which takes the mean of 5 records: a smaller output.every makes " +
			"more",
		"B on n: 1 of 1 run did not reach training loss 2",
	}, []string{"A on n: 1 of 1 run did not reach"})
}

func TestBothTargetsCount(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2, Accuracy: 0.75}, []string{"A", "B"}, map[string][]planned{
		"A": {{losses: falling, scores: []float64{0.5, 0.7, 0.72, 0.74}}},
		"B": {{losses: falling, scores: []float64{0.5, 0.7, 0.8, 0.9}, pace: 2}},
	})
	mustTell(t, told(t, s), []string{
		"A is the first to reach training loss 2", "B is the first to reach accuracy 0.75",
		"A on n: 1 of 1 run did not reach accuracy 0.75",
		"s to training loss 2", "s to accuracy 0.75", "TO TRAINING LOSS 2  TO ACCURACY 0.75",
	}, nil)
	if n := len(s.Figures()); n != 4 {
		t.Errorf("%d figures, want loss, accuracy, bars and parts of a round", n)
	}
}

func TestAGapThatNobodyMeasuresIsAbsent(t *testing.T) {
	runs := map[string][]planned{"mixes": {{losses: falling, gap: 0.1}}, "reduces": {{losses: falling}}}
	s := golden(t, record.Targets{}, []string{"mixes", "reduces"}, runs)
	var curves bytes.Buffer
	if err := s.writeCSV(&curves); err != nil {
		t.Fatal(err)
	}
	if n, m := strings.Count(curves.String(), "gap"), len(falling); n != m {
		t.Errorf("%d gaps in the curves, want %d of the algorithm that measures them", n, m)
	}
	figure := gaps(s)
	if figure == nil || !strings.Contains(figure.Panels[0].Words, "reduces: none") ||
		!strings.Contains(figure.Caption, "measures none") {
		t.Errorf("the figure of gaps is %+v, want that one algorithm has none", figure)
	}
	s = golden(t, record.Targets{}, []string{"reduces"}, runs)
	if f := gaps(s); f != nil {
		t.Errorf("%q shows gaps that no algorithm measures", f.Caption)
	}
}

func TestDivergedIsNoRoundOfNothing(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"A", "B"}, map[string][]planned{
		"A": {{losses: falling}, {losses: falling}},
		"B": {{diverged: "sim: worker 3 round 71: diverged"}, {diverged: "sim: worker 1 round 80: diverged"}},
	})
	mustTell(t, told(t, s), []string{"2 of 2 diverged in rounds 71 to 80", "2 of 2 runs diverged in rounds 71 to 80",
		"diverged in round 80  "}, nil)
	const want = "B: diverged in rounds 71 to 80"
	for _, f := range s.Figures()[1:] { // bars of the target and of the parts of a round
		if got := f.Panels[0].Words; !strings.Contains(got, want) || strings.Contains(got, "B: gradient") {
			t.Errorf("%s: %q does not say %q", f.Name, got, want)
		}
	}
}

// A panel of a target that no run reaches has no scale.
func TestNoAxisOfNothing(t *testing.T) {
	s := golden(t, record.Targets{Loss: 0.001}, []string{"A"}, map[string][]planned{"A": {{losses: falling}}})
	p := s.Figures()[1].Panels[0]
	if p.Y.Min != 0 || len(p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max)) > 0 || !strings.Contains(p.Words, "A: not reached") {
		t.Errorf("an axis from %g with %d ticks; it says %q", p.Y.Min, len(p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max)), p.Words)
	}
}

// Two seeds with very different times give no interval below zero.
func TestIntervalsOfTimesAreAboveZero(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"A"}, map[string][]planned{"A": {{losses: falling}, {losses: falling,
		pace: 30}}})
	e := s.Groups[0].timeTo(s.Targets.List()[0])
	if !(e.Low > 0 && e.Low < e.Mean && e.Mean < e.High) {
		t.Errorf("%+v, want an interval above zero around the mean", e)
	}
	if math.Abs(e.Mean*e.Mean/(e.Low*e.High)-1) > 1e-9 {
		t.Errorf("%+v, want an interval that is even on a logarithmic scale", e)
	}
}

// Seeds that reach a target in the same records do not make a ratio exact.
func TestIntervalsAreNotFinerThanTheRecords(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"slow", "quick"}, map[string][]planned{
		"slow":  {{losses: falling, pace: 7.23}, {losses: falling, pace: 7.23}, {losses: falling, pace: 7.23}},
		"quick": {{losses: falling}, {losses: falling}, {losses: falling}},
	})
	mustTell(t, told(t, s), []string{
		"quick is the first to reach training loss 2, in 4.14 [4.00, 5.00] s",
		"speedup 7.23× (95 % interval over 3 seeds: 5.8 to 9.0)",
		"times to training loss 2 are interpolated between records 1.0 to 7.2 s apart, which is up to 20 % of a time",
	}, []string{"7.23 to 7.23"})
}

// The page explains the bands, and captions explain the smoothing.
func TestCaptionsSayWhatIsDrawn(t *testing.T) {
	s := golden(t, record.Targets{}, []string{"A"}, map[string][]planned{"A": {{losses: falling, gap: 1},
		{losses: []float64{9, 8, 7, 6, 5, 4, 3, 2}, gap: 1}}})
	for f, want := range map[*chart.Figure]string{s.Figures()[0]: "the mean of the 5 records around it",
		gaps(s): "Largest gap"} {
		mustTell(t, f.Caption, []string{want, "bands go from the least to the largest seed"}, []string{"95 %"})
	}
	_, band := combine(s.Groups[0].curves(byRound(), theLoss()), false)
	if least, most := band[len(band)-1].Y, band[0].Y; least != 5 || most != 9 {
		t.Errorf("the band begins from %g to %g, want the two seeds, 5 and 9", least, most)
	}
	if got := s.Figures()[1]; got.Name != "parts-n" || len(got.Panels) != 1 {
		t.Errorf("%s has %d panels without a target, want the parts of a round", got.Name, len(got.Panels))
	}
	// The browser inverts figures in dark mode: words that name a colour would be wrong there.
	colours := regexp.MustCompile(`(?i)\b(black|white|gr[ea]y|blue|orange|red|green|yellow|pink|dark|light|faint|pale)\b`)
	for _, f := range slices.Concat(s.Figures(), paper(t).Figures()) {
		for _, words := range append(wordsOf(f), f.Caption) {
			if found := colours.FindString(words); found != "" {
				t.Errorf("%s names the colour %q, which differs in dark mode: %s", f.Name, found, words)
			}
		}
	}
}

// Bars of algorithms and parts of a round are figures with legends of their own.
func TestPartsOfARoundHaveTheirOwnLegend(t *testing.T) {
	legends := map[string][]string{}
	for _, f := range paper(t).Figures() {
		for _, e := range f.Legend {
			legends[f.Name] = append(legends[f.Name], e.Name)
		}
	}
	for name, want := range map[string]string{"bars-n": "D-PSGD, Moniqua 8b, DCD 1b",
		"parts-n": "gradient, coding, waiting for messages, least time of a round"} {
		if got := strings.Join(legends[name], ", "); got != want {
			t.Errorf("the legend of %s is %q, want %q", name, got, want)
		}
	}
}

// wordsOf returns the descriptions of the panels and the names in the legend.
func wordsOf(f *chart.Figure) []string {
	var all []string
	for _, p := range f.Panels {
		all = append(all, p.Words)
	}
	for _, e := range f.Legend {
		all = append(all, e.Name)
	}
	return all
}

// In a PDF a band has the colour of its line.
func TestBandsInPDFsAreColoured(t *testing.T) {
	s := golden(t, record.Targets{}, []string{"A"},
		map[string][]planned{"A": {{losses: falling}, {losses: []float64{9, 8, 7,
			6, 5, 4, 3, 2}}}})
	picture, err := s.Figures()[0].Draw("pdf")
	if err != nil {
		t.Fatal(err)
	}
	drawn := inflated(t, picture)
	if want := "0.000 0.447 0.698 rg"; !strings.Contains(drawn, want) { // blue
		t.Errorf("the PDF never fills with %q", want)
	}
	if grey := "0.000 0.067 0.110 rg"; strings.Contains(drawn, grey) {
		t.Errorf("the PDF fills with %q, blue times its opacity", grey)
	}
}

// inflated returns the streams of a PDF as text.
func inflated(t *testing.T, pdf []byte) string {
	t.Helper()
	var all strings.Builder
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		in, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue
		}
		if _, err := io.Copy(&all, in); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// The figures of a column are as wide as one, and their letters large enough.
func TestFiguresOfAColumn(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"A", "B"}, map[string][]planned{"A": {{losses: falling, gap: 1}},
		"B": {{losses: falling, gap: 1}}})
	for _, f := range s.Figures() {
		picture, err := f.DrawColumn("svg")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(picture, []byte(`<svg width="237.6pt"`)) { // 3.3 inches
			t.Errorf("%s: %.200s is not 3.3 inches wide", f.Name, picture)
		}
		sizes := regexp.MustCompile(`font-size:([0-9.]+)px`).FindAllSubmatch(picture, -1)
		for _, found := range sizes {
			if size, err := strconv.ParseFloat(string(found[1]), 64); err != nil || size < 8 {
				t.Errorf("%s: letters of %s points, error %v", f.Name, found[1], err)
			}
		}
		if len(sizes) == 0 {
			t.Errorf("%s: no letters", f.Name)
		}
		for i, p := range f.Panels {
			if p.Y.Label.Text == "" {
				t.Errorf("%s: panel %d: the vertical axis has no label", f.Name, i)
			}
		}
	}
}

// Where one algorithm takes ten times as long as another, the axis is logarithmic.
func TestAxesFollowTheRange(t *testing.T) {
	runs := map[string][]planned{"A": {{losses: falling}}, "B": {{losses: falling, pace: 2}}, "C": {{losses: falling,
		pace: 20}}}
	for labels, want := range map[string]bool{"A B": false, "A B C": true} {
		p := golden(t, record.Targets{}, strings.Fields(labels), runs).Figures()[0].Panels[0]
		if _, logarithmic := p.X.Scale.(plot.LogScale); logarithmic != want {
			t.Errorf("%s: a logarithmic axis is %v, want %v", labels, logarithmic, want)
		}
	}
	mean, _ := combine([]plotter.XYs{{{X: 1, Y: 0}, {X: 100, Y: 99}}}, true)
	if at := mean[gridPoints/2].X; math.Abs(at-10) > 0.3 {
		t.Errorf("the middle of the points is at %g, want 10", at)
	}
}

// A screen reader can read descriptions of the figures, and tables mark their heading cells.
func TestPageIsForAllReaders(t *testing.T) {
	s := golden(t, record.Targets{Loss: 2}, []string{"A", "<B>"}, map[string][]planned{"A": {{losses: falling}},
		"<B>": {{losses: falling, pace: 2}}})
	var page bytes.Buffer
	if err := s.writeHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	mustTell(t, text, []string{
		`<svg role="img" aria-label="Curves of training loss against time (s); A: from 5 at 1 to 0.3 at 8; ` +
			`&lt;B&gt;: from 5 at 2 to 0.3 at 16."`,
		`<th scope="col">`, `<th scope="row">`, "prefers-color-scheme: dark",
	}, []string{"<th>", "<B>"})
	pictures, named := strings.Count(text, "<svg"), strings.Count(text, "<svg role=")
	if hidden := strings.Count(text, "<svg viewBox"); named+hidden != pictures || named != 5 {
		t.Errorf("%d of %d pictures have words, %d are samples of legends, want words for 5", named, pictures, hidden)
	}
}

// The three panels of curves stand in a row in a window of 1280 pixels, and one above another on a phone. One panel
// alone is no wider than one of three.
func TestPanelsStandInARow(t *testing.T) {
	const rem = 16.0 // pixels
	number := func(pattern string) float64 {
		found := regexp.MustCompile(pattern).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the style has no %s", pattern)
		}
		v, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v * rem
	}
	widest, padding := number(`max-width: ([0-9.]+)rem`), number(`padding: 0 ([0-9.]+)rem`)
	gap, least := number(`\.panels {[^}]* gap: ([0-9.]+)rem`), number(`\.panels {[^}]*min\(100%, ([0-9.]+)rem\)`)
	// Browsers count the tracks by their largest width if it is a length, and else by their least.
	track := least
	if most := regexp.MustCompile(`\.panels {[^}]*\), ([0-9.]+)rem\)`).FindStringSubmatch(page); most != nil {
		track = number(`\.panels {[^}]*\), ([0-9.]+)rem\)`)
	}
	for window, want := range map[float64]int{1280: 3, 390: 1} {
		room := min(window-2*padding, widest)
		if columns := max(1, int((room+gap)/(track+gap))); columns != want {
			t.Errorf("%v pixels: %d panels in a row, want %d", window, columns, want)
		}
	}
	if !strings.Contains(page, "auto-fill, ") {
		t.Error("a panel alone fills the row")
	}
}
