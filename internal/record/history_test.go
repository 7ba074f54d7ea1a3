package record

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestAHistoryCountsOn(t *testing.T) {
	const parameters = 100
	before := Messages{Count: 30, Stream: 30 * 400, Still: 1000}
	h := NewHistory(1, []Event{{Step: &Step{
		Round: 15, Time: 2 * time.Second, Sent: Bytes{1, 2, 3}, Received: Bytes{4, 5, 6}, Messages: before,
		Effective: before.Bits(parameters),
	}}})
	now := Messages{Count: 10, Stream: 10 * 100, Still: 500}
	reported := Step{Round: 20, Time: time.Second, Sent: Bytes{10, 10, 10}, Received: Bytes{10, 10, 10},
		Messages: now, Effective: now.Bits(parameters)}
	e, isNew := h.Join(Event{Step: &reported})
	all := Messages{Count: 40, Stream: 13000, Still: 1500}
	if s := e.Step; !isNew || s.Round != 20 || s.Time != 3*time.Second || s.Sent != (Bytes{11, 12, 13}) ||
		s.Received != (Bytes{14, 15, 16}) || s.Messages != all {
		t.Errorf("step %+v, new %v; want the sums", s, isNew)
	}
	if want := all.Bits(parameters); math.Abs(e.Step.Effective-want) > 1e-9 {
		t.Errorf("%v bits a parameter, want %v", e.Step.Effective, want)
	}
	if reported.Time != time.Second || reported.Messages != now {
		t.Errorf("the event that was reported became %+v", reported)
	}
	e, _ = h.Join(Event{Final: &Final{Rounds: 20, Time: time.Second, Messages: now}})
	if f := e.Final; f.Rounds != 20 || f.Time != 3*time.Second || f.Sent.Wire != 3 || f.Messages != all {
		t.Errorf("result %+v, want the sums", f)
	}
	if h.Trained() != 2*time.Second {
		t.Errorf("trained for %v in earlier parts, want 2s", h.Trained())
	}
}

func TestAProcessThatHasSentNothingYet(t *testing.T) {
	before := Messages{Count: 30, Stream: 30 * 400}
	h := NewHistory(1, []Event{{Step: &Step{Round: 15, Messages: before, Effective: 32}}})
	if e, _ := h.Join(Event{Step: &Step{Round: 16}}); e.Step.Messages != before || e.Step.Effective != 0 {
		t.Errorf("step %+v, want the messages before it and no bits", e.Step)
	}
}

// A worker whose process dies twice, in a run that had been stopped before.
func TestAHistoryOfSeveralProcesses(t *testing.T) {
	h := NewHistory(2, []Event{
		{Step: &Step{Rank: 1, Round: 10, Time: 4 * time.Second, Sent: Bytes{Wire: 100}}},
		{Step: &Step{Rank: 1, Round: 20, Time: 5 * time.Second, Sent: Bytes{Wire: 200}}},
		{Score: &Score{Rank: 1, Round: 20}},
		{Score: &Score{Rank: Average, Round: 40}},
		{Step: &Step{Rank: 7, Round: 99}}, // no worker of the run
	})
	var rounds []int
	var last Step
	process := func(first, end int) {
		for round := first; round <= end; round++ {
			n := round - first + 1
			e, isNew := h.Join(Event{Step: &Step{
				Rank: 1, Round: round, Time: time.Duration(n) * time.Second, Sent: Bytes{Wire: int64(n)},
			}})
			if last = *e.Step; isNew {
				rounds = append(rounds, round)
			}
		}
	}
	process(19, 22)
	if want := (Step{Rank: 1, Round: 22, Time: 9 * time.Second, Sent: Bytes{Wire: 204}}); last != want {
		t.Errorf("the first process ends with %+v, want %+v", last, want)
	}
	h.Return(1, 6*time.Second)
	process(21, 23)
	if want := (Step{Rank: 1, Round: 23, Time: 14 * time.Second, Sent: Bytes{Wire: 207}}); last != want {
		t.Errorf("the second process ends with %+v, want %+v", last, want)
	}
	h.Return(1, 10*time.Second)
	process(23, 24)
	if want := (Step{Rank: 1, Round: 24, Time: 17 * time.Second, Sent: Bytes{Wire: 209}}); last != want {
		t.Errorf("the third process ends with %+v, want %+v", last, want)
	}
	if want := []int{21, 22, 23, 24}; !slices.Equal(rounds, want) {
		t.Errorf("rounds %v are new, want %v", rounds, want)
	}
	if h.Trained() != 5*time.Second {
		t.Errorf("trained for %v in earlier parts, want 5s", h.Trained())
	}
}

func TestAScoreIsNewOnce(t *testing.T) {
	h := NewHistory(2, []Event{{Score: &Score{Rank: 1, Round: 20}}})
	for _, test := range []struct {
		score Score
		isNew bool
	}{
		{Score{Rank: 1, Round: 20}, false},
		{Score{Rank: 0, Round: 20}, true},
		{Score{Rank: 0, Round: 20}, false},
		{Score{Rank: 1, Round: 30}, true},
		{Score{Rank: Average, Round: 10}, true},
		{Score{Rank: 2, Round: 10}, true},
	} {
		if e, isNew := h.Join(Event{Score: &test.score}); isNew != test.isNew || *e.Score != test.score {
			t.Errorf("score %+v became %+v, new %v, want %v", test.score, *e.Score, isNew, test.isNew)
		}
	}
}

// The account of a process goes on after that of the process before.
func TestAHistoryOfAccounts(t *testing.T) {
	h := NewHistory(1, nil)
	account := func() Event {
		return Event{Links: &Links{Round: 9, Time: time.Second, Rounds: 5, Violations: 2, Spent: Spent{Wait: time.Second},
			Links: []Link{{Peer: 4, Last: 3, Alone: 7, Sent: Bytes{Wire: 10}}}}}
	}
	h.Join(account())
	h.Return(0, 3*time.Second)
	e, isNew := h.Join(account())
	l := e.Links
	if !isNew || l.Rounds != 10 || l.Violations != 4 || l.Spent.Wait != 2*time.Second || l.Time != 4*time.Second ||
		len(l.Links) != 1 || l.Links[0].Last != 6 || l.Links[0].Alone != 14 || l.Links[0].Sent.Wire != 20 {
		t.Errorf("account %+v, want the sums", l)
	}
	if brief := l.Brief(32); brief.Links[0].Sent != (Bytes{}) || l.Links[0].Sent.Wire != 20 {
		t.Errorf("brief %+v of %+v", brief, l)
	}
}
