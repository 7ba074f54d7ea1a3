package record

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// goalAt shows a run to a goal, record by record, and returns the index of the event at which the goal is reached; −1
// if it never is.
func goalAt(run *Run, t Targets) int {
	g := NewGoal(t, 2)
	for i, e := range run.Events {
		if g.See(e) {
			return i
		}
	}
	return -1
}

// A run that ends when a Goal reports the target has also reached it in the report, and not a record
// earlier.
func TestGoalAgreesWithTheReport(t *testing.T) {
	run := twoWorkers(9, 8, 7, 6, 5, 4, 3)
	for _, target := range []float64{7.5, 6.9, 6} {
		at := goalAt(run, Targets{Loss: target})
		if at < 0 {
			t.Fatalf("loss %v is never reached", target)
		}
		if until := (&Run{Events: run.Events[:at+1]}); until.ReachLoss(target) == nil {
			t.Errorf("loss %v: reached at event %d, says the goal, not the report", target, at)
		}
		if before := (&Run{Events: run.Events[:at]}); before.ReachLoss(target) != nil {
			t.Errorf("loss %v: reached before event %d, says the report", target, at)
		}
	}
	if at := goalAt(run, Targets{Loss: 1}); at != -1 {
		t.Errorf("loss 1 is reached at event %d", at)
	}
}

// A score may be known at any time. It counts when all workers are past its round.
func TestGoalWaitsForTheRoundOfAScore(t *testing.T) {
	run := twoWorkers(9, 8, 7)
	run.Events = append([]Event{
		{Score: &Score{Rank: Average, Round: 20, Accuracy: 0.9}},
		{Score: &Score{Rank: Average, Round: 10, Accuracy: 0.5}},
	}, run.Events...)
	const last = 7 // two scores, three records of two workers
	if at := goalAt(run, Targets{Accuracy: 0.8}); at != last {
		t.Errorf("reached at event %d, want %d, when both workers have done 30 rounds", at, last)
	}
	if run.ReachAccuracy(0.8) == nil {
		t.Error("the report does not find it")
	}
	if at := goalAt(run, Targets{Accuracy: 0.95}); at != -1 {
		t.Errorf("accuracy 0.95 is reached at event %d", at)
	}
	if at := goalAt(run, Targets{}); at != -1 {
		t.Errorf("no target is reached at event %d", at)
	}
}

// A Goal with two targets waits for both.
func TestGoalWaitsForBothTargets(t *testing.T) {
	run := twoWorkers(9, 8, 7, 6, 5, 4, 3)
	run.Events = append([]Event{{Score: &Score{Rank: Average, Round: 60, Accuracy: 0.9}}}, run.Events...)
	loss, accuracy, both := goalAt(run, Targets{Loss: 7.5}), goalAt(run, Targets{Accuracy: 0.8}),
		goalAt(run, Targets{Loss: 7.5, Accuracy: 0.8})
	if !(loss >= 0 && loss < accuracy && both == accuracy) {
		t.Errorf("the loss is reached at event %d, the accuracy at %d, both at %d", loss, accuracy, both)
	}
}

// A script that logs no loss leaves none in the records, which reaches no target.
func TestARunWithoutLossesReachesNoTarget(t *testing.T) {
	run := twoWorkers(0, 0, 0, 0, 0, 0)
	for _, e := range run.Events {
		e.Step.Loss = math.NaN()
	}
	if at := goalAt(run, Targets{Loss: 0.5}); at != -1 {
		t.Errorf("the goal is reached at event %d", at)
	}
	if got := run.ReachLoss(0.5); got != nil {
		t.Errorf("the report says %+v", got)
	}
}

// Workers that log no loss do not make the loss of the others smaller, and a loss of 0 counts.
func TestMissingLossesAreNoLossesOf0(t *testing.T) {
	run := twoWorkers(3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0)
	for _, e := range run.Events {
		if e.Step.Rank == 1 {
			e.Step.Loss = math.NaN()
		}
	}
	for i, m := range run.Progress() {
		if want := 3.0; i < 6 && (m.Loss != want || m.Least != want || m.Most != want) {
			t.Errorf("moment %d: loss %g, %g to %g, want %g: that of the worker that logs one", i, m.Loss, m.Least, m.Most, want)
		}
	}
	if got := run.ReachLoss(2.9); got == nil || goalAt(run, Targets{Loss: 2.9}) < 0 {
		t.Errorf("losses of 0 do not reach 2.9: %+v", got)
	}
	if early := run.ReachLoss(3); early == nil || run.ReachLoss(2).Seen <= early.Seen {
		t.Errorf("a loss of 3 counts as less: %+v", early)
	}
	text, err := json.Marshal(run.Events[1])
	var back Event
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || !strings.Contains(string(text), `"loss":null`) || !math.IsNaN(back.Step.Loss) {
		t.Errorf("a step without a loss is written as %s, error %v", text, err)
	}
}

// A lost worker records no more rounds. The target is that of the workers that are left, in the report as in the goal,
// and whether the record has the order of time or that of arrival.
func TestGoalGoesOnWithoutALostWorker(t *testing.T) {
	for _, scored := range []int{Average, 0} {
		testLoss(t, scored)
	}
}

// testLoss has the scores of the average model, or those of worker 0 after one of both.
func testLoss(t *testing.T, scored int) {
	run := twoWorkers(9, 8)
	for rank := range 2 {
		if scored != Average {
			run.Events = append(run.Events, Event{Score: &Score{Rank: rank, Round: 10, Accuracy: 0.5}})
		}
	}
	run.Events = append(run.Events, Event{Status: &Status{Rank: 1, State: Lost}})
	for round := 3; round <= 9; round++ {
		run.Events = append(run.Events, Event{Step: &Step{Round: 10 * round, Time: time.Duration(round) * time.Second,
			Loss: float64(10 - round)}})
	}
	run.Events = append(run.Events, Event{Score: &Score{Rank: scored, Round: 30, Accuracy: 0.9}},
		Event{Step: &Step{Round: 100, Time: 10 * time.Second, Loss: 1}})
	for _, target := range []Targets{{Loss: 4.5}, {Accuracy: 0.8}} {
		at := goalAt(run, target)
		if at < 0 {
			t.Fatalf("%+v is never reached", target)
		}
		until := &Run{Events: run.Events[:at+1]}
		if until.Reach(target.List()[0]) == nil {
			t.Errorf("%+v: reached at event %d, says the goal, not the report", target, at)
		}
		real, m := NewGoal(target, 2), NewMerge(2)
		reached := false
		for _, e := range run.Events {
			if e.Score != nil {
				real.See(e)
			}
			for _, next := range m.See(e) {
				reached = real.See(next) || reached
			}
		}
		if !reached {
			t.Errorf("%+v is never reached by real peers", target)
		}
	}
	moments := run.Progress()
	if last := moments[len(moments)-1]; last.Round != 100 || last.Loss != 1 {
		t.Errorf("the last moment is %+v, want that of worker 0", last)
	}
}
