package main

import (
	"fmt"
	"sync"
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
)

// scored makes a worker's gradient evaluate the replica first, at x_k in every
// round k > 0 that output.evaluate divides, and tell observe. The objective has
// one scratch memory: evaluation and gradient follow each other in one
// goroutine.
func scored(run *experiment.Run, w *experiment.Worker, next work.Gradient, observe func(record.Event)) work.Gradient {
	return func(g []float32, k int, x []float32) (float32, error) {
		if evaluatesAt(run, k) {
			score, err := w.Evaluate(x, nil)
			if err != nil {
				return 0, err
			}
			observe(record.Event{Score: &record.Score{Rank: int(w.Rank), Round: k, Loss: score.Loss, Accuracy: score.Accuracy}})
		}
		return next(g, k, x)
	}
}

// testing returns what tells the user of a run how far the test of the final model of a rank is,
// which may be record.Average.
func (s *Session) testing(rank int) func(done, all int) {
	return eachSecond(func(share float64) {
		s.event(record.Event{Status: &record.Status{Rank: rank, State: record.Testing, Share: share}})
	})
}

// eachSecond tells the share of a test that is done, once a second and at its end. A test that is
// done within the first second is not worth a word.
func eachSecond(tell func(share float64)) func(done, all int) {
	last, told := time.Now(), false
	return func(done, all int) {
		if now := time.Now(); now.Sub(last) >= time.Second || told && done == all {
			last, told = now, true
			tell(float64(done) / float64(all))
		}
	}
}

// evaluatesAt says whether models are evaluated when k rounds are over. The end
// of the run is no such round: results are evaluated anyway.
func evaluatesAt(run *experiment.Run, k int) bool {
	every := run.Config().Output.Evaluate
	return every > 0 && k > 0 && k%every == 0
}

// An averager evaluates the mean of all replicas where all are in one process.
// It keeps one sum per round that some worker has reached and another has not:
// workers are apart by no more than the rounds that their messages span. Sums
// are taken as the workers come, so that the last digits of a score may differ
// from run to run.
type averager struct {
	run     *experiment.Run
	observe func(record.Event)

	mu     sync.Mutex
	rounds map[int]*meanModel
}

// A meanModel is a mean over the replicas in the making.
type meanModel struct {
	sum   []float64
	count int
}

func newAverager(run *experiment.Run, observe func(record.Event)) *averager {
	return &averager{run: run, observe: observe, rounds: map[int]*meanModel{}}
}

// watched makes a worker's gradient add the replica x_k to the mean of its round
// first, and evaluate the mean if it is the last one.
func (a *averager) watched(next work.Gradient) work.Gradient {
	if !a.hasMeans() {
		return next
	}
	return func(g []float32, k int, x []float32) (float32, error) {
		if evaluatesAt(a.run, k) {
			if mean := a.add(k, x); mean != nil {
				if err := a.evaluate(k, mean); err != nil {
					return 0, err
				}
			}
		}
		return next(g, k, x)
	}
}

// add returns the mean of round k if x was the last replica that it lacked.
func (a *averager) add(k int, x []float32) []float32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.rounds[k]
	if m == nil {
		m = &meanModel{sum: make([]float64, len(x))}
		a.rounds[k] = m
	}
	for c, v := range x {
		m.sum[c] += float64(v)
	}
	if m.count++; m.count < a.run.N() {
		return nil
	}
	delete(a.rounds, k)
	mean := make([]float32, len(x))
	for c, v := range m.sum {
		mean[c] = float32(v / float64(m.count))
	}
	return mean
}

func (a *averager) evaluate(k int, mean []float32) error {
	score, err := a.run.Evaluate(mean)
	if err != nil {
		return fmt.Errorf("round %d: mean of the replicas: %w", k, err)
	}
	a.observe(record.Event{Score: &record.Score{Rank: record.Average, Round: k, Loss: score.Loss, Accuracy: score.Accuracy}})
	return nil
}

// conclude evaluates the mean of the final models, of some rounds.
func (a *averager) conclude(models [][]float32, rounds int) error {
	if a.run.Config().Output.Evaluate > 0 && a.hasMeans() {
		return a.evaluate(rounds, experiment.Mean(models))
	}
	return nil
}

// hasMeans says whether the replicas of a round have a mean that can be
// evaluated: asynchronous workers have no rounds in common.
func (a *averager) hasMeans() bool { return a.run.ScoresMean() && !a.run.Asynchronous() }
