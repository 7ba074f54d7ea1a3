package model

import (
	"fmt"

	"gossiptrainer/model/sample"
)

// A Spec says which objective to build. Fields that an objective does not use
// are ignored.
type Spec struct {
	Name    string       // of one of Kinds
	Shape   sample.Shape // of one sample; all but quadratic
	Classes int          // number of labels, ≥ 2; all but quadratic
	Batch   int          // largest batch that Gradient gets, ≥ 1; all but quadratic

	Hidden []int  // mlp: widths of the hidden layers, at least one, each ≥ 1
	Depth  int    // resnet: 6n+2 with n ≥ 1
	Norm   string // resnet, vgg16: group | batch

	Dim    int     // quadratic: number of parameters, ≥ 1
	Spread float64 // quadratic: largest distance per coordinate between a worker's optimum and the common centre, ≥ 0
	Seed   uint64  // quadratic: of the curvatures and the optima
	Worker int     // quadratic: whose f_i, ≥ 0
	// quadratic: of Dim and Seed, so that workers of one process share memory; nil: the objective makes its own
	Problem *Problem

	Outline *Outline // external: its parameters; nil before they are known
}

// check refuses what no network can be built from.
func (s Spec) check() error {
	if s.Shape.H < 1 || s.Shape.W < 1 || s.Shape.C < 1 {
		return fmt.Errorf("sample shape %dx%dx%d: every size must be at least 1", s.Shape.H, s.Shape.W, s.Shape.C)
	}
	if s.Classes < 2 {
		return fmt.Errorf("%d classes: want at least 2", s.Classes)
	}
	if s.Batch < 1 {
		return fmt.Errorf("batch of %d samples: want at least 1", s.Batch)
	}
	return nil
}
