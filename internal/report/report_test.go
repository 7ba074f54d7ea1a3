package report

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"gossiptrainer/internal/chart"
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
			if got := img.Bounds().Dx(); got != 7*160 {
				t.Errorf("figure is %d pixels wide, want %d", got, 7*160)
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
	p.Draw(draw.NewCanvas(paper, chart.FigureWidth/2, chart.FigureHeight))
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

func TestAGapThatIsNotMeasuredHasNoPanel(t *testing.T) {
	for gap, want := range map[float64]int{0: 1, 0.1: 2} {
		run := &record.Run{Events: []record.Event{
			{Step: &record.Step{Round: 1, Time: 1, Loss: 2, Gap: gap}},
			{Step: &record.Step{Round: 2, Time: 2, Loss: 1, Gap: gap}},
		}}
		if panels, err := panelsOf(run, byWorker(run.Events)); err != nil || len(panels) != want {
			t.Errorf("gap %g: %d panels, error %v, want %d", gap, len(panels), err, want)
		}
	}
}
