package record

import (
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
// them. Otherwise they are means over the replicas with scores, with their final results.
func (r *Run) Curve() []Point {
	var average []Point
	replicas := map[int]map[int]Point{} // by rank, by round
	for _, e := range r.Events {
		switch s := e.Score; {
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
	return meanPoints(replicas)
}

// ended adds the accuracy of the average model at the end of the run, if it is known and no evaluation was due then.
func (r *Run) ended(average []Point) []Point {
	s, last := r.Summary, average[len(average)-1]
	if s == nil || s.Accuracy.AverageModel == nil || s.Rounds <= last.Round {
		return average
	}
	return append(average, Point{s.Rounds, math.NaN(), *s.Accuracy.AverageModel})
}

// meanPoints returns the means of the rounds in which every replica has a score, summed in rank order.
func meanPoints(replicas map[int]map[int]Point) []Point {
	var ranks []int
	rounds := map[int]int{} // number of replicas with a score
	for rank, points := range replicas {
		ranks = append(ranks, rank)
		for round := range points {
			rounds[round]++
		}
	}
	slices.Sort(ranks)
	var means []Point
	for round, count := range rounds {
		if count < len(ranks) {
			continue
		}
		mean := Point{Round: round}
		for _, rank := range ranks {
			mean.Loss += replicas[rank][round].Loss / float64(len(ranks))
			mean.Accuracy += replicas[rank][round].Accuracy / float64(len(ranks))
		}
		means = append(means, mean)
	}
	slices.SortFunc(means, func(a, b Point) int { return a.Round - b.Round })
	return means
}

// Scored reports whether a run was evaluated often enough for a curve.
func (r *Run) Scored() bool { return len(r.Curve()) > 1 }
