package study

import (
	"gossiptrainer/internal/cells"
)

// An AccuracyKind says which final accuracy of a run a result shows.
type AccuracyKind int

// Kinds of accuracies.
const (
	OfAverages AccuracyKind = iota // that of the average model
	OfReplicas                     // the mean over the replicas
)

// KindOf returns the kind that all finished cells of groups have, so that accuracies side by side are of one kind.
// Earlier programs did not evaluate the average of models with batch normalization.
func KindOf(groups ...*Group) AccuracyKind {
	for _, g := range groups {
		for _, c := range g.Cells {
			if c.Summary != nil && c.Accuracy.Mean != nil && c.Accuracy.AverageModel == nil {
				return OfReplicas
			}
		}
	}
	return OfAverages
}

// Of returns the final accuracy of a cell, a share. It is nil if the cell has none.
func (k AccuracyKind) Of(c cells.Cell) *float64 {
	switch {
	case c.Summary == nil:
		return nil
	case k == OfAverages && c.Accuracy.AverageModel != nil:
		return c.Accuracy.AverageModel
	}
	return c.Accuracy.Mean
}
