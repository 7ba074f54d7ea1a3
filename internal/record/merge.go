package record

import (
	"cmp"
	"math"
	"time"
)

// An ordered event has its place in the order of time.
type ordered struct {
	Event
	at    time.Duration
	place int // among those of the same time
}

// isLoss reports whether the event says that a worker is lost.
func (e Event) isLoss() bool { return e.Status != nil && e.Status.State == Lost && e.Status.Rank >= 0 }

// orderedOf returns the place of a step, or of the loss of a worker: it follows the latest step before it. It returns
// false for other events.
func orderedOf(e Event, latest *time.Duration) (ordered, bool) {
	switch {
	case e.Step != nil:
		*latest = max(*latest, e.Step.Time)
		return ordered{e, e.Step.Time, e.Step.Rank}, true
	case e.isLoss():
		return ordered{e, *latest, math.MaxInt}, true
	}
	return ordered{}, false
}

func (t ordered) compare(other ordered) int {
	return cmp.Or(cmp.Compare(t.at, other.at), cmp.Compare(t.place, other.place))
}

// A Merge sorts the steps and the losses of workers by time, in the order of Run.Progress. Each worker reports its own
// steps in order. A Merge returns an event when no worker can report an earlier step. It does not wait for workers
// that are gone.
type Merge struct {
	waiting [][]ordered // by rank, each in the order of time
	gone    []bool      // no step is expected from it until it reports again
	latest  time.Duration
}

// NewMerge returns a merge for some workers.
func NewMerge(workers int) *Merge {
	return &Merge{waiting: make([][]ordered, workers), gone: make([]bool, workers)}
}

// See takes an event and returns those whose place in the order is now certain. It ignores ranks that the run does not
// have.
func (m *Merge) See(e Event) []Event {
	rank := e.Rank()
	if rank < 0 || rank >= len(m.waiting) {
		return nil
	}
	if at, ok := orderedOf(e, &m.latest); ok {
		m.waiting[rank] = append(m.waiting[rank], at)
	}
	switch {
	case e.Step != nil:
		m.gone[rank] = false
	case e.isLoss(), e.Final != nil, e.Status != nil && e.Status.State == Returning:
		m.gone[rank] = true
	default:
		return nil
	}
	var certain []Event
	for rank := m.first(); rank >= 0; rank = m.first() {
		certain = append(certain, m.waiting[rank][0].Event)
		m.waiting[rank] = m.waiting[rank][1:]
	}
	return certain
}

// first returns the rank whose event is next, −1 while that is uncertain.
func (m *Merge) first() int {
	first := -1
	for rank, events := range m.waiting {
		switch {
		case len(events) == 0 && m.gone[rank]:
		case len(events) == 0:
			return -1
		case first < 0 || events[0].compare(m.waiting[first][0]) < 0:
			first = rank
		}
	}
	return first
}
