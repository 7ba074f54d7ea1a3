package record

import (
	"math"
	"slices"
	"sync"
)

// A Goal watches a run for its targets while the run goes on. It agrees with ReachLoss and ReachAccuracy, which read
// the finished record. A loss counts once two more records follow it. Steps and losses of workers must come in the
// order of time. A score may come as soon as it is known, from any goroutine, and counts when all workers are past its
// round.
type Goal struct {
	mu     sync.Mutex
	left   Targets // not reached yet; no field is set when all are
	pace   Pace
	recent []Moment // the last few
	scores []Event  // and losses
}

// NewGoal watches a run of some workers.
func NewGoal(t Targets, workers int) *Goal {
	return &Goal{left: t, pace: Pace{Workers: workers}}
}

// See takes an event, and reports whether the last of the targets was reached with it.
func (g *Goal) See(e Event) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == (Targets{}) {
		return false // and there is nothing to remember
	}
	if e.Score != nil || e.isLoss() {
		g.scores = append(g.scores, e)
	}
	m, complete := g.pace.See(e)
	if !complete {
		return false
	}
	g.recent = append(g.recent, m)
	g.recent = g.recent[max(0, len(g.recent)-Smoothing):]
	if means := CompleteMeans(g.recent); g.left.Loss > 0 && len(means) > 0 && means[0] <= g.left.Loss {
		g.left.Loss = 0 // reached two records ago
	}
	if g.left.Accuracy > 0 && g.scored() {
		g.left.Accuracy = 0
	}
	return g.left == Targets{}
}

// scored reports whether a score of a round that all workers have passed reaches the target. The result does not depend
// on the order in which workers finish a round.
func (g *Goal) scored() bool {
	past := math.MaxInt
	for _, s := range g.pace.last {
		past = min(past, s.Round)
	}
	known := slices.DeleteFunc(slices.Clone(g.scores), func(e Event) bool {
		return e.Score != nil && e.Score.Round >= past
	})
	return slices.ContainsFunc((&Run{Events: known}).Curve(), func(p Point) bool { return p.Accuracy >= g.left.Accuracy })
}
