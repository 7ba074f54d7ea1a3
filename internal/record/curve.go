package record

import (
	"maps"
	"math"
	"slices"
)

// A Point is a score of a run at a round.
type Point struct {
	Round    int
	Loss     float64
	Accuracy float64 // NaN for a task without accuracy
}

// Curve returns the scores of a run on the test set, by round. They are those of the average model, if the record has
// them. Otherwise they are means over the replicas with scores, with their final results. A lost worker counts up to
// its last score.
func (r *Run) Curve() []Point {
	var average []Point
	replicas := map[int]map[int]Point{} // by rank, by round
	lost := map[int]bool{}
	for _, e := range r.Events {
		switch s := e.Score; {
		case e.isLoss():
			lost[e.Status.Rank] = true
		case e.Step != nil:
			delete(lost, e.Step.Rank)
		case s == nil:
		case s.Rank == Average:
			average = append(average, Point{s.Round, s.Loss, s.Accuracy})
		default:
			if replicas[s.Rank] == nil {
				replicas[s.Rank] = map[int]Point{}
			}
			replicas[s.Rank][s.Round] = Point{s.Round, s.Loss, s.Accuracy}
		}
	}
	if len(average) > 0 {
		return r.ended(average)
	}
	for _, e := range r.Events {
		if f := e.Final; f != nil && replicas[f.Rank] != nil {
			replicas[f.Rank][f.Rounds] = Point{f.Rounds, f.Loss, f.Accuracy}
		}
	}
	return meanPoints(replicas, lost)
}

// ended adds the accuracy of the average model at the end of the run, if it is known and no evaluation was due then.
func (r *Run) ended(average []Point) []Point {
	s, last := r.Summary, average[len(average)-1]
	if s == nil || s.Accuracy.AverageModel == nil || s.Rounds <= last.Round {
		return average
	}
	return append(average, Point{s.Rounds, math.NaN(), *s.Accuracy.AverageModel})
}

// meanPoints returns the means of the rounds in which every replica has a score, apart from those that are lost by
// then. They are summed in rank order.
func meanPoints(replicas map[int]map[int]Point, lost map[int]bool) []Point {
	rounds, ends := map[int]bool{}, map[int]int{} // by rank: its last round
	for rank, points := range replicas {
		if ends[rank] = math.MaxInt; lost[rank] {
			ends[rank] = slices.Max(slices.Collect(maps.Keys(points)))
		}
		for round := range points {
			rounds[round] = true
		}
	}
	var means []Point
	for round := range rounds {
		var all []Point
		want := 0
		for _, rank := range slices.Sorted(maps.Keys(replicas)) {
			if p, there := replicas[rank][round]; there {
				all = append(all, p)
			}
			if round <= ends[rank] {
				want++
			}
		}
		if len(all) < want {
			continue
		}
		mean := Point{Round: round}
		for _, p := range all {
			mean.Loss += p.Loss / float64(len(all))
			mean.Accuracy += p.Accuracy / float64(len(all))
		}
		means = append(means, mean)
	}
	slices.SortFunc(means, func(a, b Point) int { return a.Round - b.Round })
	return means
}

// Scored reports whether a run was evaluated often enough for a curve.
func (r *Run) Scored() bool { return len(r.Curve()) > 1 }
