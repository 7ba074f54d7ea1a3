package build

import (
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/score"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// Synchronous workers compute the same on any network: links decide when something happens, not its value. Runs that
// differ only in their links can therefore run together and compute every gradient once. Each worker checks that its
// model equals, bit for bit, the model of the shared gradient.

// Together returns the workers of runs made with Beside, by run and rank. Each gradient and each score is computed once
// for all runs, which must need the same number of both.
func Together(runs []*experiment.Run) ([][]*Worker, error) {
	first, err := All(runs[0])
	if err != nil {
		return nil, err
	}
	all := [][]*Worker{first}
	for _, r := range runs[1:] {
		others, audit := make([]*Worker, len(first)), newAudit(r)
		for i, w := range first {
			b, err := lasting(r, w.Rank, audit)
			if err == nil {
				others[i], err = b.body(slices.Clone(w.Machine.Params()), nil)
			}
			if err != nil {
				return nil, fmt.Errorf("build: worker %d: %w", i, err)
			}
		}
		all = append(all, others)
	}
	if len(runs) == 1 {
		return all, nil
	}
	for i, w := range first {
		s := &shared{rank: w.Rank, users: len(runs), gradient: w.Gradient, score: w.later.score,
			gradients: map[int]*sharedGradient{}}
		for _, workers := range all {
			own := workers[i]
			own.later.shared = true
			own.Gradient, own.later.score, own.Evaluate = s.takeGradient, s.takeScore, own.evaluate
			own.later.statistics = w.later.statistics
		}
	}
	return all, nil
}

// A shared holds the gradients and scores that all workers of one rank share. The lock is held during the computation:
// another worker that wants the same result waits for it.
type shared struct {
	rank     topology.Rank
	users    int
	gradient func(g []float32, k int, x []float32) (float32, error)
	score    scoring

	mu        sync.Mutex
	gradients map[int]*sharedGradient // by round: those that a run still needs
	scores    []*sharedScore
	spare     []*sharedGradient
}

type sharedGradient struct {
	x, g []float32
	loss float32
	err  error
	left int // runs that still need it
}

type sharedScore struct {
	x     []float32
	rows  score.Rows
	score model.Score
	err   error
	left  int
}

func (s *shared) takeGradient(g []float32, k int, x []float32) (float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.gradients[k]
	if e == nil {
		e = s.room(len(x))
		e.left = s.users
		copy(e.x, x)
		e.loss, e.err = s.gradient(e.g, k, e.x)
		s.gradients[k] = e
	}
	if e.err == nil && !slices.Equal(x, e.x) {
		return 0, fmt.Errorf("build: worker %d: round %d: the model depends on the network", s.rank, k)
	}
	copy(g, e.g)
	if e.left--; e.left == 0 {
		delete(s.gradients, k)
		s.spare = append(s.spare, e)
	}
	return e.loss, e.err
}

// room returns memory for a gradient, reused where possible.
func (s *shared) room(dim int) *sharedGradient {
	last := len(s.spare) - 1
	if last < 0 {
		return &sharedGradient{x: make([]float32, dim), g: make([]float32, dim)}
	}
	e := s.spare[last]
	s.spare = s.spare[:last]
	return e
}

func (s *shared) takeScore(x []float32, rows score.Rows, watch func(done, all int)) (model.Score, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.scores, func(e *sharedScore) bool {
		return e.rows == rows && slices.Equal(e.x, x)
	})
	if at < 0 {
		at = len(s.scores)
		e := &sharedScore{x: slices.Clone(x), rows: rows, left: s.users}
		e.score, e.err = s.score(x, rows, watch)
		s.scores = append(s.scores, e)
	}
	e := s.scores[at]
	if e.left--; e.left == 0 {
		s.scores = slices.Delete(s.scores, at, at+1)
	}
	return e.score, e.err
}
