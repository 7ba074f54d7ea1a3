package record

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// twoWorkers records rounds of two workers, the second a millisecond later.
func twoWorkers(losses ...float64) *Run {
	run := &Run{}
	for i, loss := range losses {
		for rank := range 2 {
			run.Events = append(run.Events, Event{Step: &Step{
				Rank: rank, Round: 10 * (i + 1), Time: time.Duration(i+1)*time.Second + time.Duration(rank)*time.Millisecond,
				Loss: loss + float64(rank), Gap: float64(rank), Sent: Bytes{Wire: int64(100 * (i + 1))},
				Wait: time.Duration(rank) * time.Second,
			}})
		}
	}
	return run
}

func TestProgress(t *testing.T) {
	moments := twoWorkers(4, 2).Progress()
	want := Moment{Time: time.Second + time.Millisecond, Round: 10, Loss: 4.5, Gap: 1, Wait: time.Second / 2,
		Sent: Bytes{Wire: 100}}
	if len(moments) != 2 || moments[0] != want {
		t.Errorf("%+v, want two moments, the first %+v", moments, want)
	}
	if got := (&Run{}).Progress(); got != nil {
		t.Errorf("%v of a run without steps", got)
	}
}

// A worker that does more steps than another has more records.
func TestProgressWithoutCommonRounds(t *testing.T) {
	run := &Run{}
	for i := range 9 {
		run.Events = append(run.Events, Event{Step: &Step{Rank: 0, Round: i + 1, Time: time.Duration(i)}})
	}
	run.Events = append(run.Events, Event{Step: &Step{Rank: 1, Round: 1, Time: 4}})
	moments := run.Progress()
	if len(moments) != 3 || moments[0].Round != 3 || moments[2].Round != 5 {
		t.Errorf("%+v, want three moments from round 3 to 5", moments)
	}
}

func TestReach(t *testing.T) {
	run := twoWorkers(9, 8, 7, 6, 5, 4, 3)
	for target, want := range map[float64]Reached{ // of means of five, and a half more
		7.5: {Time: 5.001, After: 0, Seen: 5.001, Bytes: 500}, // the first mean that counts
		6:   {Time: 6.501, After: 6.001, Seen: 7.001, Bytes: 650},
	} {
		if got := run.ReachLoss(target); got == nil || !cmp.Equal(*got, want, cmpopts.EquateApprox(0, 1e-9)) {
			t.Errorf("loss %v reached %+v, want %+v", target, got, want)
		}
	}
	if got := run.ReachLoss(1); got != nil {
		t.Errorf("loss 1 reached %+v", got)
	}
	run.Events = append(run.Events,
		Event{Score: &Score{Rank: Average, Round: 20, Accuracy: 0.5}},
		Event{Score: &Score{Rank: Average, Round: 40, Accuracy: 0.9}})
	if got := run.ReachAccuracy(0.8); got == nil || math.Abs(got.Time-3.501) > 1e-9 || got.After != 2.001 ||
		got.Seen != 4.001 {
		t.Errorf("accuracy reached %+v, want at 3.501 s, between 2.001 and 4.001 s", got)
	}
	if got := run.ReachAccuracy(0.95); got != nil {
		t.Errorf("accuracy 0.95 reached %+v", got)
	}
}
