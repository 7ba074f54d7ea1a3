package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// trained is a run of two workers whose mean loss in round k is scale/k.
func trained(dir string, rounds int, scale float64) *record.Run {
	run := &record.Run{Dir: dir}
	for k := 1; k <= rounds; k++ {
		for rank := range 2 {
			run.Events = append(run.Events, record.Event{Step: &record.Step{
				Rank: rank, Round: k, Time: time.Duration(k) * time.Second,
				Loss: (scale + float64(rank) - 0.5) / float64(k),
			}})
		}
	}
	return run
}

func TestLossesAreComparedAtTheLastRoundOfAll(t *testing.T) {
	var b strings.Builder
	runs := []*record.Run{trained("runs/long", 10, 2), trained("runs/short", 4, 4)}
	if err := WriteLosses(&b, runs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	want := []string{"RUN ROUNDS TIME TRAIN LOSS AT ROUND 4 TIME", "long 10 10 s 0.2000 0.5000 4 s",
		"short 4 4 s 1.0000 1.0000 4 s"}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); got != want[i] {
			t.Errorf("line %d is %q, want %q", i, got, want[i])
		}
	}
	if err := WriteLosses(&b, []*record.Run{runs[0], {Dir: "runs/new"}}); err == nil ||
		!strings.Contains(err.Error(), "runs/new: no round") {
		t.Errorf("error %v of a run without rounds, want its folder", err)
	}
}

func TestFigureOfLosses(t *testing.T) {
	var b bytes.Buffer
	runs := []*record.Run{trained("runs/long", 10, 2), trained("runs/short", 4, 4)}
	if err := WriteLossFigure(&b, runs, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"training loss", "long", "short", "time (s)", "round"} {
		if !strings.Contains(b.String(), ">"+want+"<") {
			t.Errorf("no text %q in the figure", want)
		}
	}
	err := WriteLossFigure(&b, []*record.Run{runs[0], trained("runs/once", 1, 2)}, "svg")
	if err == nil || !strings.Contains(err.Error(), "runs/once holds 1 losses") {
		t.Errorf("error %v of a run with one record, want its folder", err)
	}
}
