package record

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// For any interleaving of the steps of workers, See returns them in the order of Run.Progress.
func TestMergedStepsComeInTheOrderOfTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + random.IntN(5)
		told := make([][]Step, n)
		var want []Step
		for rank := range told {
			now := time.Duration(0)
			for k := range 10 {
				now += time.Duration(random.IntN(4))
				told[rank] = append(told[rank], Step{Rank: rank, Round: k + 1, Time: now})
			}
			want = append(want, told[rank]...)
		}
		slices.SortStableFunc(want, func(a, b Step) int { return cmp.Or(cmp.Compare(a.Time, b.Time), a.Rank-b.Rank) })
		m := NewMerge(n)
		var got []Event
		for left := n; left > 0; {
			rank := random.IntN(n)
			switch {
			case told[rank] == nil:
			case len(told[rank]) == 0:
				told[rank], left = nil, left-1
				got = append(got, m.See(Event{Final: &Final{Rank: rank}})...)
			default:
				got = append(got, m.See(Event{Step: &told[rank][0]})...)
				told[rank] = told[rank][1:]
			}
		}
		same := func(a Event, b Step) bool { return a.Step.Rank == b.Rank && a.Step.Round == b.Round }
		if !slices.EqualFunc(got, want, same) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestAMergeWaitsForNobodyWhoIsGone(t *testing.T) {
	m := NewMerge(2)
	step := func(rank int, at time.Duration) Event { return Event{Step: &Step{Rank: rank, Time: at}} }
	status := func(state State) Event { return Event{Status: &Status{Rank: 1, State: state}} }
	for _, test := range []struct {
		event Event
		out   int
	}{
		{step(0, 1), 0}, {status(Waiting), 0}, {status(Lost), 1}, {step(0, 2), 2}, {step(1, 4), 0},
		{step(0, 3), 1}, {status(Returning), 0}, {step(7, 5), 0}, {step(-1, 5), 0}, {step(0, 6), 2},
	} {
		if got := m.See(test.event); len(got) != test.out {
			t.Errorf("%+v: %d events come out, want %d", test.event, len(got), test.out)
		}
	}
}
