package score

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// ErrNoClasses says that a model or its data have no classes to confuse.
var ErrNoClasses = errors.New("there are no classes")

// Confusion returns how many test rows of each class a model takes for each class. The first index is the class of the
// row, the second the class that the model finds likeliest. It fails with ErrNoClasses without classes.
func (s *Scorer) Confusion(x, statistics []float32) ([][]int, error) {
	if s.Data == nil || s.Scripts {
		return nil, ErrNoClasses
	}
	classes := len(s.Data.Info().Classes)
	s.mu.Lock()
	defer s.mu.Unlock()
	objective, err := s.fresh()
	if err != nil {
		return nil, fmt.Errorf("confusion: %w", err)
	}
	f, ok := objective.(model.Classifier)
	if !ok || classes < 2 {
		return nil, ErrNoClasses
	}
	if err := SetStatistics(objective, statistics); err != nil {
		return nil, fmt.Errorf("confusion: %w", err)
	}
	test, err := s.Data.Tests()
	if err != nil {
		return nil, fmt.Errorf("confusion: %w", err)
	}
	counts := make([][]int, classes)
	for i := range counts {
		counts[i] = make([]int, classes)
	}
	var b sample.Batch
	p := make([]float64, s.Batch*classes)
	for rows, first := train.Spread(test, s.Most), 0; first < rows.Len(); first += s.Batch {
		rows.Range(&b, first, min(first+s.Batch, rows.Len()))
		f.Classify(p[:b.Len()*classes], x, b)
		for i, y := range b.Y {
			one := p[i*classes : (i+1)*classes]
			counts[y][slices.Index(one, slices.Max(one))]++
		}
	}
	return counts, nil
}
