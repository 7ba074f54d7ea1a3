package report

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"gossiptrainer/internal/record"
)

func sample() []record.Event {
	var events []record.Event
	for round := 10; round <= 50; round += 10 {
		for rank := range 3 {
			events = append(events, record.Event{Step: &record.Step{
				Rank: rank, Round: round, Time: time.Duration(round) * time.Millisecond,
				Loss: 2.3 / float64(round+rank), Gap: 0.01 * float64(round), Theta: 1.5,
				Sent: record.Bytes{Payload: int64(round) * 100},
			}})
		}
	}
	return append(events,
		record.Event{Status: &record.Status{Rank: 1, State: record.Waiting, Missing: []int{2},
			Detail: "worker 2 was never seen"}},
		record.Event{Final: &record.Final{Rank: 0, Rounds: 50, Loss: 0.1, Accuracy: 0.97, Digest: "ab"}},
	)
}

func TestFigureHasInkAndEveryFormat(t *testing.T) {
	run := &record.Run{Events: sample()}
	for format, head := range map[string]string{"png": "\x89PNG", "svg": "<?xml", "pdf": "%PDF"} {
		var b bytes.Buffer
		if err := WriteFigure(&b, run, format); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if !strings.HasPrefix(b.String(), head) {
			t.Errorf("%s begins with %.8q", format, b.String())
		}
		if format == "png" {
			img, err := png.Decode(&b)
			if err != nil {
				t.Fatal(err)
			}
			if got := img.Bounds().Dx(); got != 7*figureDPI {
				t.Errorf("figure is %d pixels wide, want %d", got, 7*figureDPI)
			}
		}
	}
	if err := WriteFigure(&bytes.Buffer{}, run, "gif"); err == nil || !strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("gif: %v", err)
	}
	if err := WriteFigure(&bytes.Buffer{}, &record.Run{}, "png"); err == nil {
		t.Error("a figure of nothing")
	}
}

func TestFigureShowsBitsThatChange(t *testing.T) {
	for _, later := range []int{4, 7} {
		run := &record.Run{Events: sample()}
		for _, e := range run.Events {
			if e.Step != nil {
				e.Step.Bits = 4
				if e.Step.Round > 20 {
					e.Step.Bits = later
				}
			}
		}
		var b bytes.Buffer
		if err := WriteFigure(&b, run, "svg"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "bits per parameter"); got != (later != 4) {
			t.Errorf("4 bits and %d: a panel of bits: %v", later, got)
		}
	}
}

// An axis contains its values, also if there is only one value, only zero or no value.
func TestScale(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		low, high   float64
		positive    bool
		least, most float64
		logarithmic bool
	}{
		{0.5, 2, true, 0.5, 2, true},
		{0.1, math.Nextafter(0.1, 1), true, 0, 0.2, false},
		{0, 2, false, 0, 2, false},
		{-2, -2, false, -4, 0, false},
		{0, 0, false, 0, 1, false},
		{none, -none, true, 0, 1, false},
	} {
		p := newPanel("x", "y")
		p.Y.Min, p.Y.Max = c.low, c.high
		scale(p, c.positive)
		_, logarithmic := p.Y.Scale.(plot.LogScale)
		if p.Y.Min != c.least || math.Abs(p.Y.Max-c.most) > 1e-12 || logarithmic != c.logarithmic {
			t.Errorf("%v to %v: an axis from %v to %v, logarithmic %v", c.low, c.high, p.Y.Min, p.Y.Max, logarithmic)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(lo, hi float64, logarithmic bool) (s []string) {
		ticks := round125{}.Ticks(lo, hi)
		if logarithmic {
			ticks = decades{}.Ticks(lo, hi)
		}
		for _, t := range ticks {
			if t.Label != "" {
				s = append(s, t.Label)
			}
		}
		return s
	}
	for _, c := range []struct {
		lo, hi      float64
		logarithmic bool
		want        []string
	}{
		{0, 600, false, []string{"0", "100", "200", "300", "400", "500", "600"}},
		{0, 3, false, []string{"0", "0.5", "1", "1.5", "2", "2.5", "3"}},
		{5, 5, false, []string{"5"}},
		{1e20, 1e20 + 1e5, false, []string{"1e+20"}},
		{1e20, 1e20 + 1e5, true, []string{"1e+20"}},
		{0.05, 2, true, []string{"0.05", "0.1", "0.2", "0.5", "1", "2"}},
		{1.45, 3.1, true, []string{"1.5", "2", "2.5", "3"}},
		{2e-5, 0.6, true, []string{"0.0001", "0.001", "0.01", "0.1"}},
		{7, 2100, true, []string{"10", "100", "1000"}},
		{0.7, 60, true, []string{"1", "2", "5", "10", "20", "50"}},
	} {
		if diff := cmp.Diff(c.want, labels(c.lo, c.hi, c.logarithmic)); diff != "" {
			t.Errorf("%g..%g: %s", c.lo, c.hi, diff)
		}
	}
}

func TestTableSaysWhatIsMissing(t *testing.T) {
	var b bytes.Buffer
	s := record.Summary{Run: "r", Mode: "run", Method: "D-PSGD, sign", BytesPerPeer: record.Bytes{Payload: 1234567}}
	if err := WriteSummary(&b, &s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "per parameter") {
		t.Errorf("bits per parameter of a run that sent nothing:\n%s", b.String())
	}
	for _, want := range []string{"D-PSGD, sign", "average model -", "1.23 MB payload", "consensus      -"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "theta") {
		t.Errorf("theta of a run without one:\n%s", b.String())
	}
}

// The largest legal rank takes no memory for the ranks below it.
func TestAFigureHasNoPlaceForWorkersWithoutSteps(t *testing.T) {
	run := &record.Run{Events: []record.Event{{Step: &record.Step{Rank: 65535, Round: 1, Loss: 0.25}},
		{Step: &record.Step{Round: 1, Loss: 0.5}}}}
	if got := byWorker(run.Events); len(got) != 2 {
		t.Errorf("%d workers, want 2", len(got))
	}
	if err := WriteFigure(&bytes.Buffer{}, run, "svg"); err != nil {
		t.Error(err)
	}
}

func TestASummaryNamesItsCoder(t *testing.T) {
	var b strings.Builder
	if err := WriteSummary(&b, &record.Summary{Entropy: "fse", Effective: 2.5}); err != nil {
		t.Fatal(err)
	}
	if want := "2.5 bit on the stream, entropy coding: fse"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// A picture of a long run has a point per span of rounds, and the range of the span keeps every extreme.
func TestAFigureOfManyRoundsIsReadable(t *testing.T) {
	const rounds = 6000
	steps := make([][]*record.Step, 8)
	for rank := range steps {
		for r := range rounds {
			steps[rank] = append(steps[rank], &record.Step{Rank: rank, Round: r + 1, Time: time.Duration(r + 1),
				Loss: 2 + math.Sin(float64(r*(rank+1)))})
		}
	}
	steps[3][4321].Loss = 9
	p, err := lossPanel(steps)
	if err != nil {
		t.Fatal(err)
	}
	paper := new(recorder.Canvas)
	p.Draw(draw.NewCanvas(paper, figureWidth/2, figureHeight))
	corners := 0
	for _, action := range paper.Actions {
		switch a := action.(type) {
		case *recorder.Stroke:
			corners += len(a.Path)
		case *recorder.Fill:
			corners += len(a.Path)
		}
	}
	if corners > 3*mostRecords {
		t.Errorf("the picture of %d rounds has %d corners, want at most %d", rounds, corners, 3*mostRecords)
	}
	if p.Y.Max != 9 {
		t.Errorf("the axis ends at %g, want the largest loss, 9", p.Y.Max)
	}
}

func TestTheBoundOfALongRunIsThinned(t *testing.T) {
	for records, most := range map[int]int{0: 0, 100: 100, 6000: mostRecords / 2} {
		var steps []*record.Step
		for round := range records {
			steps = append(steps, &record.Step{Round: round + 1, Theta: 1})
		}
		if got := len(thetaLine(steps)); got != most {
			t.Errorf("%d records: %d points, want %d", records, got, most)
		}
	}
}
