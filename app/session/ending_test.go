package session

import (
	"math"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// warnings returns what an untold says of a run with these losses, one step of two workers each, and of its end.
func warnings(u *untold, rounds int, loss func(rank, round int) float64) (early, end []string) {
	for round := 1; round <= rounds; round++ {
		for rank := range 2 {
			e := record.Event{Step: &record.Step{Rank: rank, Round: round, Loss: loss(rank, round)}}
			if warning := u.see(e); warning != "" {
				early = append(early, warning)
			}
		}
	}
	return early, u.end()
}

func none(int, int) float64 { return math.NaN() }

func TestATargetWithoutALossIsSaidEarlyAndAtTheEnd(t *testing.T) {
	const want = "no loss is on record after 20 rounds, so --until loss=0.5 cannot end the run: call peer.log(loss) in " +
		"the script after each step"
	early, end := warnings(newUntold(record.Targets{Loss: 0.5}), 30, none)
	if len(early) != 1 || early[0] != want {
		t.Errorf("warnings %q, want %q once", early, want)
	}
	if at := strings.Replace(want, "20", "30", 1); len(end) != 1 || end[0] != at {
		t.Errorf("at the end %q, want %q", end, at)
	}
	if early, end := warnings(newUntold(record.Targets{Loss: 0.5}), lossDue-1, none); early != nil || len(end) != 1 {
		t.Errorf("a short run: %q, at the end %q, want one sentence at the end", early, end)
	}
}

// One worker that logs a loss suffices, also a loss of 0, and one that begins late.
func TestATargetWithALossIsSilent(t *testing.T) {
	early, end := warnings(newUntold(record.Targets{Loss: 0.5}), 30, func(rank, round int) float64 {
		if rank == 0 || round < 10 {
			return math.NaN()
		}
		return 0
	})
	if early != nil || end != nil {
		t.Errorf("warnings %q, at the end %q, want none", early, end)
	}
}

func TestATargetWithoutAnAccuracyIsSaid(t *testing.T) {
	const want = "no accuracy is on record after 200 rounds, so --until accuracy=0.9 cannot end the run: call " +
		"peer.evaluate(accuracy=...) in the script now and then"
	target := record.Targets{Accuracy: 0.9}
	if early, end := warnings(newUntold(target), 200, none); len(early) != 1 || early[0] != want || len(end) != 1 {
		t.Errorf("warnings %q, at the end %q, want %q", early, end, want)
	}
	u := newUntold(target)
	u.see(record.Event{Score: &record.Score{Round: 3, Loss: 1, Accuracy: math.NaN()}})
	if _, end := warnings(u, 10, none); len(end) != 1 {
		t.Errorf("a loss alone: at the end %q", end)
	}
	u.see(record.Event{Score: &record.Score{Round: 3, Accuracy: 0.5}})
	if early, end := warnings(u, 300, none); early != nil || end != nil {
		t.Errorf("with an accuracy: %q, at the end %q", early, end)
	}
}
