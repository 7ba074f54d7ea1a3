package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gossiptrainer/internal/record"
)

func score(rank, round int, loss, accuracy float64) record.Event {
	return record.Event{Score: &record.Score{Rank: rank, Round: round, Loss: loss, Accuracy: accuracy}}
}

func TestScoreWithoutMeaningIsNull(t *testing.T) {
	text, err := json.Marshal(record.Score{Rank: 3, Round: 7, Loss: math.Inf(1), Accuracy: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"rank":3,"round":7,"loss":null,"accuracy":null}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var back record.Score
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Rank != 3 || back.Round != 7 || !math.IsNaN(back.Loss) || !math.IsNaN(back.Accuracy) {
		t.Errorf("%+v", back)
	}
	if err := json.Unmarshal([]byte(`{"rank":-1,"round":9,"loss":0.5,"accuracy":0.25}`), &back); err != nil ||
		back != (record.Score{Rank: -1, Round: 9, Loss: 0.5, Accuracy: 0.25}) {
		t.Errorf("%+v, %v", back, err)
	}
}

func point(round int, loss, accuracy float64) record.Point {
	return record.Point{Round: round, Loss: loss, Accuracy: accuracy}
}

func TestCurve(t *testing.T) {
	replicas := []record.Event{
		score(1, 20, 3, 0.5), score(0, 10, 2, 0.25), score(1, 10, 4, 0.75), score(0, 20, 1, 0.5),
		score(0, 30, 1, 0.5), // the other worker has no score of this round
	}
	end := []record.Event{
		{Final: &record.Final{Rank: 0, Rounds: 40, Loss: 1, Accuracy: 0.75}},
		{Final: &record.Final{Rank: 1, Rounds: 40, Loss: 2, Accuracy: 0.25}},
		{Final: &record.Final{Rank: 2, Rounds: 40, Loss: 9, Accuracy: 0}}, // on another machine: no scores here
	}
	for _, c := range []struct {
		name   string
		events []record.Event
		want   []record.Point
	}{
		{"no score", end, nil},
		{"means of the replicas", replicas, []record.Point{point(10, 3, 0.5), point(20, 2, 0.5)}},
		{"and their results", append(replicas, end...),
			[]record.Point{point(10, 3, 0.5), point(20, 2, 0.5), point(40, 1.5, 0.5)}},
		{"the average model comes first", append(replicas, score(record.Average, 10, 0.5, 0.9)),
			[]record.Point{point(10, 0.5, 0.9)}},
		{"without accuracy", []record.Event{score(0, 10, 2, math.NaN())}, []record.Point{point(10, 2, math.NaN())}},
	} {
		run := &record.Run{Events: c.events}
		if diff := cmp.Diff(c.want, run.Curve(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestLabelsTellRunsApart(t *testing.T) {
	dpsgd := &record.Summary{Method: "D-PSGD, full precision"}
	got := Labels([]*record.Run{
		{Dir: "runs/a", Summary: dpsgd}, {Dir: "runs/b", Summary: &record.Summary{Method: "D-PSGD, qsgd"}},
		{Dir: "runs/c", Summary: dpsgd}, {Dir: "runs/d"},
	})
	want := []string{"D-PSGD, full precision (a)", "D-PSGD, qsgd", "D-PSGD, full precision (c)", "d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Runs of one algorithm are told apart by what differs: the run file, the mode, the graph or the seed.
func TestRunsOfOneAlgorithmAreToldApart(t *testing.T) {
	one := &record.Summary{Method: "D-PSGD, 8-bit Moniqua", Run: "a", Mode: "sim", Graph: "ring", Seed: 1}
	two := &record.Summary{Method: "D-PSGD, 8-bit Moniqua", Run: "b", Mode: "lab", Graph: "torus", Seed: 2}
	got := Labels([]*record.Run{{Dir: "runs/a", Summary: one}, {Dir: "runs/b", Summary: two}})
	want := []string{"D-PSGD, 8-bit Moniqua, a, sim, ring, seed 1",
		"D-PSGD, 8-bit Moniqua, b, lab, torus, seed 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var text strings.Builder
	if err := WriteRuns(&text, []*record.Summary{one, two}); err != nil {
		t.Fatal(err)
	}
	if head := strings.Fields(text.String())[:5]; !cmp.Equal(head, []string{"RUN", "MODE", "GRAPH", "SEED", "ALGORITHM"}) {
		t.Errorf("columns %v, want those in which the runs differ", head)
	}
}

func TestComparisonNeedsCurves(t *testing.T) {
	good := &record.Run{Dir: "good", Events: []record.Event{score(record.Average, 10, 2, 0.2),
		score(record.Average, 20, 1, 0.6)}}
	lossOnly := &record.Run{Dir: "quadratic", Events: []record.Event{score(0, 10, 2, math.NaN()),
		score(0, 20, 1, math.NaN())}}
	bare := &record.Run{Dir: "bare", Events: sample()}
	for format, head := range map[string]string{"png": "\x89PNG", "svg": "<?xml", "pdf": "%PDF"} {
		for name, runs := range map[string][]*record.Run{
			"mixed": {good, lossOnly, good, good, good}, "no accuracy": {lossOnly, lossOnly},
		} {
			var b bytes.Buffer
			if err := WriteComparison(&b, runs, format); err != nil || !strings.HasPrefix(b.String(), head) {
				t.Errorf("%s as %s: %.8q, %v", name, format, b.String(), err)
			}
		}
	}
	err := WriteComparison(&bytes.Buffer{}, []*record.Run{good, bare}, "png")
	if err == nil || !strings.Contains(err.Error(), "bare holds 0 scores") ||
		!strings.Contains(err.Error(), "output.evaluate") {
		t.Errorf("a run without scores: %v", err)
	}
	if err := WriteComparison(&bytes.Buffer{}, []*record.Run{good, good}, "gif"); err == nil ||
		!strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("gif: %v", err)
	}
}

func TestNeighboursInAComparisonDifferInGreyToo(t *testing.T) {
	all := styles(make([]string, len(lineColors)))
	for i := range all {
		for j := i + 1; j < min(i+8, len(all)); j++ {
			if cmp.Equal(all[i].Dashes, all[j].Dashes) {
				t.Errorf("runs %d and %d have the same dashes", i, j)
			}
		}
	}
}

// However many lines a figure has, no two look alike. Where colours are too few, those of one method share one. The
// legend and LaTeX have the same styles.
func TestLinesOfOneMethodShareAColour(t *testing.T) {
	for _, n := range []int{14, 20, 200} {
		for _, kinds := range []int{1, 3, 14} {
			s := study(t, 1)
			quick := s.Groups[0]
			s.Groups, s.Labels = nil, nil
			for i := range n {
				g := *quick
				g.Label = fmt.Sprintf("%c%[1]c, %d", 'A'+rune(i%kinds), i)
				s.Groups, s.Labels = append(s.Groups, &g), append(s.Labels, g.Label)
			}
			legend, colours := legendOf(s.Groups), map[string]color.Color{}
			seen := map[string]string{}
			for _, e := range legend {
				look := fmt.Sprint(e.style.Color, e.style.Dashes)
				if seen[look] != "" {
					t.Errorf("%s looks like %s", e.name, seen[look])
				}
				seen[look] = e.name
				if c := colours[e.name[:2]]; c != nil && c != e.style.Color {
					t.Errorf("%s has another colour than others of its kind", e.name)
				}
				colours[e.name[:2]] = e.style.Color
			}
			if n == 14 {
				f := s.Figures()[0]
				text := f.PGF()
				for _, e := range legend {
					stroke := strokePGF(e.style.Color, e.style.Dashes, e.style.Width)
					if strings.Count(text, "["+stroke+", forget plot]") != len(f.panels) ||
						strings.Count(text, "\\addlegendimage{"+stroke+"}\\addlegendentry{"+e.name+"}") != 1 {
						t.Errorf("LaTeX has no line or legend of %s as %s", e.name, stroke)
					}
				}
			}
		}
	}
}

func TestTableOfRuns(t *testing.T) {
	loss, mean, average := 0.5, 0.875, 0.9
	var b bytes.Buffer
	err := WriteRuns(&b, []*record.Summary{
		{Method: "D2", Loss: &loss, Time: 1.5,
			Accuracy: record.Accuracy{Mean: &mean, AverageModel: &average}, BytesPerPeer: record.Bytes{Payload: 2_500_000}},
		{Method: "ring"},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	if got, want := strings.Fields(lines[1]), []string{"D2", "0.8750", "-", "0.9000", "0.5", "2.5", "MB",
		"1.5", "s"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(lines[0], "ENTROPY") {
		t.Errorf("runs without entropy coding have a column for it: %q", lines[0])
	}
}

func TestTableOfCodedRuns(t *testing.T) {
	var b strings.Builder
	err := WriteRuns(&b, []*record.Summary{
		{Algorithm: "moniqua", Bits: 8, Entropy: "huff0", Effective: 5.25,
			BytesPerPeer: record.Bytes{Payload: 2_000_000, Stream: 1_300_000}},
		{Algorithm: "moniqua", Bits: 8, Entropy: "none", Effective: 8.01,
			BytesPerPeer: record.Bytes{Payload: 2_000_000, Stream: 2_001_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for i, want := range []string{"ENTROPY  STREAM PER PEER  BITS PER PARAMETER",
		"huff0           1.3 MB                5.25", "none             2 MB                8.01"} {
		if !strings.HasSuffix(strings.TrimRight(lines[i], " "), want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}

// Eleven algorithms have eleven colours. A reader who cannot see red or green can tell them apart (Machado, Oliveira
// and Fernandes 2009).
// So have the parts of a round, whose colours differ from those of all algorithms.
func TestColoursAreToldApart(t *testing.T) {
	var colours []color.Color
	for _, c := range lineColors {
		colours = append(colours, c)
	}
	scripted := &Group{Cells: []Cell{{Seed: 1}}, runs: map[uint64]*trace{1: {moments: []record.Moment{{HandOver: 1}}}}}
	parts := partsOfRound([]*Group{scripted})
	if len(parts) != 4 {
		t.Fatalf("%d parts of a round with a script, want 4", len(parts))
	}
	for _, part := range parts {
		colours = append(colours, part.color)
	}
	toldApart(t, colours)
}

// eyes are those of all readers, and of some, as maps of linear red, green and blue.
func eyes() map[string][3][3]float64 {
	return map[string][3][3]float64{
		"all":      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"no red":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
		"no green": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.01182, .04294, .968881}},
	}
}

// toldApart fails where two colours look alike to some eyes.
func toldApart(t *testing.T, colours []color.Color) {
	t.Helper()
	const least = 15 // in CIELAB, where a distance of 2 is just visible
	for name, eye := range eyes() {
		for i := range colours {
			for j := range i {
				a, b := lab(colours[i], eye), lab(colours[j], eye)
				if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < least {
					t.Errorf("eyes with %s: colours %d and %d are %.1f apart, want %d", name, i, j, d, least)
				}
			}
		}
	}
}

// lab returns the place of a colour in CIELAB, as some eyes see it.
func lab(c color.Color, eye [3][3]float64) [3]float64 {
	r, g, b, _ := c.RGBA()
	var linear, seen [3]float64
	for i, v := range []uint32{r, g, b} {
		linear[i] = math.Pow((float64(v)/0xffff+0.055)/1.055, 2.4)
	}
	for i := range seen {
		for j := range linear {
			seen[i] += eye[i][j] * linear[j]
		}
	}
	f := func(x, y, z, white float64) float64 { return math.Cbrt(max(0, x*seen[0]+y*seen[1]+z*seen[2]) / white) }
	x, y, z := f(.4124, .3576, .1805, .9505), f(.2126, .7152, .0722, 1), f(.0193, .1192, .9505, 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
