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
	want := Moment{Time: time.Second + time.Millisecond, Round: 10, Loss: 4.5, Least: 4, Most: 5, Gap: 1,
		Wait: time.Second / 2,
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
		7.5: {Time: 3.001, After: 0, Seen: 3.001, Bytes: 300}, // the first mean that counts
		6:   {Time: 4.501, After: 4.001, Seen: 5.001, Bytes: 450},
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

// timed records every tenth round of one worker. A round takes a number of seconds.
func timed(round float64, loss func(seconds float64) float64, records int) *Run {
	run := &Run{}
	for i := range records {
		at := float64(10*(i+1)) * round
		run.Events = append(run.Events, Event{Step: &Step{
			Round: 10 * (i + 1), Time: time.Duration(at * float64(time.Second)), Loss: loss(at),
		}})
	}
	return run
}

// Where the crossing is known, the smoothed curve has it: exactly on a straight line, else between the same records. A
// mean over the last five records would be two records late.
func TestCrossingsAreThoseOfTheCurve(t *testing.T) {
	line := func(from float64) func(float64) float64 { return func(s float64) float64 { return from - s } }
	for name, test := range map[string]struct {
		loss       func(seconds float64) float64
		target, at float64
		exact      bool
	}{
		"line":        {line(3), 1.3, 1.7, true},
		"line, early": {line(3), 1.79, 1.21, true}, // the third record is at 1.2 s
		"line, late":  {line(9), 1.81, 7.19, true}, // the third last is at 7.2 s
		"exponential": {func(s float64) float64 { return 2 * math.Exp(-s*math.Log(5)/1.29) }, 0.4, 1.29, false},
		"power":       {func(s float64) float64 { return 0.9 / s }, 0.4, 2.25, false},
	} {
		got := timed(0.04, test.loss, 20).ReachLoss(test.target)
		if got == nil || got.After > test.at || got.Seen < test.at || test.exact && math.Abs(got.Time-test.at) > 1e-6 {
			t.Errorf("%s: %+v, want a time of %v s", name, got, test.at)
		}
	}
}

// A smoothed curve has no kink where its windows become complete.
func TestSmoothKeepsAStraightLine(t *testing.T) {
	for records := range 9 {
		moments := timed(1, func(s float64) float64 { return 100 - s }, records).Progress()
		for i, loss := range Smooth(moments) {
			if math.Abs(loss-moments[i].Loss) > 1e-12 {
				t.Errorf("record %d of %d: %v, want %v", i, records, loss, moments[i].Loss)
			}
		}
	}
}

// A run tells the same time of a target however long it goes on.
func TestCrossingsNeedNoFuture(t *testing.T) {
	losses := []float64{9, 3, 8, 2, 7, 4, 1, 5, 2, 3, 1, 2, 0.5, 4, 1, 1, 2}
	for _, target := range []float64{5.5, 4, 3, 2} {
		var first *Reached
		for n := range len(losses) + 1 {
			got := twoWorkers(losses[:n]...).ReachLoss(target + 0.5)
			if first == nil {
				first = got
			} else if got == nil || *got != *first {
				t.Errorf("loss %v with %d records: %+v, before %+v", target, n, got, first)
			}
		}
		if first == nil {
			t.Errorf("loss %v is never reached", target)
		}
	}
}
