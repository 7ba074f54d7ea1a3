package score

import (
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// An Averager evaluates the mean of all replicas, where all are in one process. It keeps one sum for each round that
// some workers have reached and others have not. Workers differ by few rounds, because they wait for each other's
// messages. Sums are taken in the order of ranks, so that every run of the same settings has the same scores. A replica
// that arrives before one of a lower rank waits for it.
type Averager struct {
	scorer  *Scorer
	observe func(record.Event)

	mu     sync.Mutex
	rounds map[int]*meanModel
	latest []int // round, by rank
}

// A meanModel is the sum of the replicas of a round.
type meanModel struct {
	sum   []float64
	count int                         // replicas in the sum, those of the lowest ranks
	early map[topology.Rank][]float32 // replicas that wait for those of lower ranks
}

// add adds the replica of a worker.
func (m *meanModel) add(rank topology.Rank, x []float32) {
	if int(rank) > m.count {
		m.early[rank] = slices.Clone(x)
		return
	}
	for x != nil {
		for c, v := range x {
			m.sum[c] += float64(v)
		}
		m.count++
		next := topology.Rank(m.count)
		x = m.early[next]
		delete(m.early, next)
	}
}

// NewAverager returns an Averager that tells observe the scores.
func (s *Scorer) NewAverager(observe func(record.Event)) *Averager {
	return &Averager{scorer: s, observe: observe, rounds: map[int]*meanModel{}, latest: make([]int, s.Workers)}
}

// GoOn continues with workers that begin these rounds, by rank. Earlier replicas have been added.
func (a *Averager) GoOn(began []int) {
	for rank, round := range began {
		a.latest[rank] = round - 1
	}
}

// Watched wraps the gradient next of a worker: it first adds the replica x_k to the mean of its round. The last worker
// of a round evaluates the mean.
func (a *Averager) Watched(rank topology.Rank, next work.Gradient) work.Gradient {
	if !a.scorer.Means || !a.scorer.Scores() {
		return next
	}
	return func(g []float32, k int, x []float32) (float32, error) {
		if a.scorer.Due(k) {
			if mean := a.add(rank, k, x); mean != nil {
				if err := a.evaluate(k, mean); err != nil {
					return 0, err
				}
			}
		}
		return next(g, k, x)
	}
}

// Conclude evaluates the mean of the final models after some rounds.
func (a *Averager) Conclude(models InMemory, rounds int) error {
	if a.scorer.Every > 0 && a.scorer.Means {
		return a.evaluate(rounds, models.Mean())
	}
	return nil
}

// add adds x to the mean of round k, and returns the mean if x was the last replica that it lacked. A worker that
// repeats a round has already been added.
func (a *Averager) add(rank topology.Rank, k int, x []float32) []float32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k <= a.latest[rank] {
		return nil
	}
	a.latest[rank] = k
	m := a.rounds[k]
	if m == nil {
		m = &meanModel{sum: make([]float64, len(x)), early: map[topology.Rank][]float32{}}
		a.rounds[k] = m
	}
	if m.add(rank, x); m.count < a.scorer.Workers {
		return nil
	}
	delete(a.rounds, k)
	mean := make([]float32, len(x))
	for c, v := range m.sum {
		mean[c] = float32(v / float64(m.count))
	}
	return mean
}

func (a *Averager) evaluate(k int, mean []float32) error {
	score, err := a.scorer.Evaluate(mean)
	if err != nil {
		return fmt.Errorf("round %d: mean of the replicas: %w", k, err)
	}
	a.observe(record.Event{Score: &record.Score{
		Rank: record.Average, Round: k, Loss: score.Loss, Accuracy: score.Accuracy,
	}})
	return nil
}
