package record

import (
	"slices"
	"testing"
	"time"
)

func TestAWorkerIsWhatItsEventsSay(t *testing.T) {
	step := Event{Step: &Step{Round: 4, Compute: 3, HandOver: 2, Wait: 7, Codec: 1}}
	enters := func(s State) Event {
		return Event{Status: &Status{State: s, Detail: "why", Missing: []int{2}, More: 1}}
	}
	for name, test := range map[string]struct {
		events []Event
		state  State
		detail string
		deaths int
		gone   bool
	}{
		"nothing":                     {},
		"a step tells no first state": {events: []Event{step}},
		"a status stays":              {events: []Event{enters(Waiting)}, state: Waiting, detail: "why"},
		"a wait ends with a round":    {events: []Event{enters(Waiting), step}, state: Training},
		"and so does a return":        {events: []Event{enters(Returning), step}, state: Training, deaths: 1},
		"a test does not":             {events: []Event{enters(Testing), step}, state: Testing, detail: "why"},
		"a late step brings none back": {
			events: []Event{enters(Lost), step}, state: Lost, detail: "why", deaths: 1, gone: true},
		"a failure is no death": {events: []Event{enters(Failed)}, state: Failed, detail: "why", gone: true},
		"a result ends all":     {events: []Event{enters(Waiting), {Final: &Final{}}}, state: Finished},
		"others change nothing": {
			events: []Event{enters(Joining), {Score: &Score{}}, {Edge: &Edge{}}, {}}, state: Joining, detail: "why"},
	} {
		var w Worker
		for _, e := range test.events {
			w.See(e)
		}
		missing := []int(nil)
		if test.detail != "" {
			missing = []int{2}
		}
		if w.State != test.state || w.Detail != test.detail || !slices.Equal(w.Missing, missing) ||
			w.More != len(missing) || w.Deaths != test.deaths || w.Gone() != test.gone {
			t.Errorf("%s: %+v, want %+v", name, w, test)
		}
	}
}

func TestAWorkerSumsItsRoundsUntilItAccountsForThem(t *testing.T) {
	var w Worker
	for round := range 3 {
		w.See(Event{Step: &Step{Round: round + 1, Compute: 3, HandOver: 2, Wait: 7, Codec: 1}})
	}
	if all, n := w.Spent(); all != (Spent{Compute: 15, Wait: 21, Codec: 3}) || n != 3 || w.Last.Round != 3 {
		t.Errorf("%+v in %d rounds up to %d", all, n, w.Last.Round)
	}
	w.See(Event{Links: &Links{Rounds: 30, Spent: Spent{Compute: 9}}})
	w.See(Event{Step: &Step{Round: 31, Compute: 3}})
	if all, n := w.Spent(); all != (Spent{Compute: 9}) || n != 30 || w.Steps != 4 {
		t.Errorf("with an account: %+v in %d rounds, %d on record", all, n, w.Steps)
	}
}

func TestEveryEventHasItsRank(t *testing.T) {
	for _, e := range []Event{{Step: &Step{Rank: 3}}, {Score: &Score{Rank: 3}}, {Status: &Status{Rank: 3}},
		{Final: &Final{Rank: 3}}, {Edge: &Edge{Rank: 3, Peer: 4}}, {Links: &Links{Rank: 3}}, {Values: &Values{Rank: 3}}} {
		if e.Rank() != 3 {
			t.Errorf("rank %d of %+v", e.Rank(), e)
		}
	}
	if (Event{}).Rank() >= 0 || (Event{Score: &Score{Rank: Average}}).Rank() >= 0 {
		t.Error("the run as a whole has a rank")
	}
}

// A lost worker's last gap would else stay the largest for ever, and the others would wait for its rounds.
func TestMomentsLeaveOutLostWorkers(t *testing.T) {
	step := func(rank, round int, gap, loss float64) Event {
		return Event{Step: &Step{Rank: rank, Round: round, Time: time.Duration(round), Gap: gap, Loss: loss}}
	}
	lost := func(rank int) Event { return Event{Status: &Status{Rank: rank, State: Lost}} }
	for name, test := range map[string]struct {
		workers int
		events  []Event
		gaps    []float64 // of the moments
	}{
		"of both": {2, []Event{step(0, 1, 9, 4), step(1, 1, 1, 2)}, []float64{9}},
		"the first round tells of two": {0, []Event{step(0, 1, 9, 4), step(1, 1, 1, 2), step(0, 2, 8, 4),
			step(1, 2, 1, 2)}, []float64{8}},
		"of the one that is left": {2,
			[]Event{step(0, 1, 9, 4), step(1, 1, 1, 2), lost(0), lost(0), step(1, 2, 2, 2)}, []float64{9, 2}},
		"lost before its first step": {3, []Event{step(0, 1, 1, 1), step(1, 1, 2, 1), lost(2), step(0, 2, 3, 1),
			step(1, 2, 2, 1)}, []float64{3}},
		"back again": {2, []Event{step(0, 1, 9, 4), step(1, 1, 1, 2), lost(0), step(1, 2, 2, 2), step(0, 3, 7, 4),
			step(1, 3, 1, 2)}, []float64{9, 2, 7}},
		"whole rounds after a loss": {3, []Event{step(0, 1, 1, 1), step(1, 1, 1, 1), step(2, 1, 9, 1), lost(2),
			step(0, 2, 0, 1), step(1, 2, 5, 1)}, []float64{9, 5}},
		"all are lost": {2, []Event{step(0, 1, 9, 4), lost(0), lost(1)}, nil},
	} {
		p, gaps := Pace{Workers: test.workers}, []float64(nil)
		for _, e := range test.events {
			if m, complete := p.See(e); complete {
				gaps = append(gaps, m.Gap)
			}
		}
		if !slices.Equal(gaps, test.gaps) {
			t.Errorf("%s: moments with the gaps %v, want %v", name, gaps, test.gaps)
		}
	}
}
