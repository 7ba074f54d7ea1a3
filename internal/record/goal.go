package record

import (
	"math"
	"slices"
	"sync"
)

// A Goal watches a run for its targets while the run goes on. It agrees with ReachLoss and ReachAccuracy, which read
// the finished record. A loss counts once two more records follow it. Steps must come in the order of time. A
// score may come as soon as it is known, and counts when all workers are past its round.
type Goal struct {
	left   Targets // not reached yet; no field is set when all are
	pace   pace
	recent []Moment // the last few

	mu     sync.Mutex
	scores []Event
}

// NewGoal watches a run of some workers.
func NewGoal(t Targets, workers int) *Goal {
	return &Goal{left: t, pace: pace{workers: workers}}
}

// Score takes the event if it is a score. Several goroutines may call it.
func (g *Goal) Score(e Event) {
	if e.Score == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scores = append(g.scores, e)
}

// Reached reports whether the last of the targets was reached when s was recorded.
func (g *Goal) Reached(s Step) bool {
	m, ok := g.pace.see(&s)
	if !ok || g.left == (Targets{}) {
		return false
	}
	g.recent = append(g.recent, m)
	g.recent = g.recent[max(0, len(g.recent)-Smoothing):]
	if means := CompleteMeans(g.recent); g.left.Loss > 0 && len(means) > 0 && isAtMost(means[0], g.left.Loss) {
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
	g.mu.Lock()
	defer g.mu.Unlock()
	known := slices.DeleteFunc(slices.Clone(g.scores), func(e Event) bool { return e.Score.Round >= past })
	return slices.ContainsFunc((&Run{Events: known}).Curve(), func(p Point) bool { return p.Accuracy >= g.left.Accuracy })
}
