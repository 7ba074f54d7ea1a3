package export

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/record"
)

// Bounds of the rows in memory. A record is in the order of arrival, and the average needs the order of time: events of
// a
// LAN are late by less than this. Rounds that some worker has not scored wait for it.
const (
	lateRows    = 64  // per worker
	openRounds  = 256 // with scores of only some workers
	leastUrgent = 64  // rows in all, for few workers
)

// An average makes the rows of the average worker, at the moments of the run.
type average struct {
	workers int
	late    lateQueue
	pace    record.Pace

	gone   map[int]bool        // lost workers
	scored bool                // the record has scores of the average model
	scores map[int]map[int]row // by round, by rank
	latest time.Duration       // of the steps so far
}

func newAverage(workers int) *average {
	return &average{workers: workers, pace: record.Pace{Workers: workers}, gone: map[int]bool{},
		scores: map[int]map[int]row{}}
}

// see returns the rows of an event, and those of the average that are then complete.
func (a *average) see(e record.Event) []row {
	switch {
	case e.Step != nil:
		r := stepRow(e.Step)
		a.latest = max(a.latest, r.time)
		delete(a.gone, r.worker)
		return append(a.add(r, e), r)
	case e.Score != nil:
		r := scoreRow(e.Score, a.latest)
		if r.worker == record.Average {
			a.scored = true
			return a.add(r, e)
		}
		return append(a.score(r), r)
	case e.Final != nil:
		r := finalRow(e.Final)
		return append(a.score(r), r)
	case e.Status != nil && e.Status.State == record.Lost:
		a.gone[e.Status.Rank] = true
		return a.add(row{worker: record.Average, time: a.latest}, e) // an empty row in the order of time
	}
	return nil
}

// score takes the score or the result of a worker. With those of all workers, their mean is the score of the average,
// unless the record has scores of the average model.
func (a *average) score(r row) []row {
	if a.scored {
		return nil
	}
	of := a.scores[r.round]
	if of == nil {
		of = map[int]row{}
		a.scores[r.round] = of
	}
	if of[r.worker] = r; len(of)+len(a.gone) < a.workers {
		if len(a.scores) > openRounds {
			delete(a.scores, slices.Min(slices.Collect(maps.Keys(a.scores))))
		}
		return nil
	}
	delete(a.scores, r.round)
	return a.add(combined(of, r.round, r.time), record.Event{})
}

// add queues the row of an event and returns those that are complete.
func (a *average) add(r row, e record.Event) (complete []row) {
	heap.Push(&a.late, arrived{r, e, a.late.arrived})
	if a.late.Len() <= max(leastUrgent, lateRows*a.workers) {
		return nil
	}
	return a.pop()
}

// end returns the rows that are left.
func (a *average) end() (complete []row) {
	for a.late.Len() > 0 {
		complete = append(complete, a.pop()...)
	}
	return complete
}

// pop takes the earliest row, which may complete one of the average.
func (a *average) pop() []row {
	next := heap.Pop(&a.late).(arrived)
	_, complete := a.pace.See(next.event)
	if next.worker == record.Average {
		return []row{next.row}
	}
	if !complete {
		return nil
	}
	of, sum := map[int]row{}, 0
	for _, s := range a.pace.Last() {
		of[s.Rank] = stepRow(s)
		sum += s.Round
	}
	return []row{combined(of, sum/len(of), next.time)}
}

// combined makes one row of those of the workers, in the order of ranks: sums depend on it. A value that some worker
// lacks is the mean of the others.
func combined(of map[int]row, round int, at time.Duration) row {
	ranks := slices.Sorted(maps.Keys(of))
	values := make([]float64, len(scalars))
	for i := range scalars {
		sum, most, n := 0.0, math.Inf(-1), 0
		for _, rank := range ranks {
			if v := of[rank].values[i]; !math.IsNaN(v) {
				sum, most, n = sum+v, max(most, v), n+1
			}
		}
		switch values[i] = sum / float64(n); {
		case n == 0:
			values[i] = math.NaN()
		case scalars[i].over == largest:
			values[i] = most
		case scalars[i].over == total:
			values[i] = sum
		}
	}
	return row{record.Average, round, at, values}
}

// A lateQueue is a heap of rows in the order of time, then of rank. Equal ones stay in the order of arrival.
type lateQueue struct {
	rows    []arrived
	arrived int
}

type arrived struct {
	row
	event record.Event
	nth   int
}

func (q *lateQueue) Len() int { return len(q.rows) }

func (q *lateQueue) Less(i, j int) bool {
	a, b := &q.rows[i], &q.rows[j]
	// the average follows the workers of its time
	order := cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(uint(a.worker), uint(b.worker)), a.nth-b.nth)
	return order < 0
}

func (q *lateQueue) Swap(i, j int) { q.rows[i], q.rows[j] = q.rows[j], q.rows[i] }

// Push implements heap.Interface.
func (q *lateQueue) Push(r any) {
	q.rows = append(q.rows, r.(arrived))
	q.arrived++
}

// Pop implements heap.Interface.
func (q *lateQueue) Pop() any {
	last := q.rows[len(q.rows)-1]
	q.rows = q.rows[:len(q.rows)-1]
	return last
}
