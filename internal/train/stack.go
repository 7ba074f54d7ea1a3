package train

import (
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/model"
)

// A Stack takes the gradients of all workers of a run whose objectives are rows of one, and whose directions are their
// gradients. It gives what their oracles give, bit for bit.
type Stack struct {
	oracles   []*Oracle
	objective model.Stack
	worst     []float32 // by worker: the largest loss that is no divergence; 0 before its first gradient
}

// NewStack returns nil where there is no such stack.
func NewStack(oracles []*Oracle) *Stack {
	objectives := make([]model.Objective, len(oracles))
	for i, o := range oracles {
		f, ok := o.keeper.(model.Objective)
		if !ok || !o.plain() {
			return nil
		}
		objectives[i] = f
	}
	s := model.NewStack(objectives)
	if s == nil {
		return nil
	}
	return &Stack{oracles, s, make([]float32, len(oracles))}
}

// Gradients reports false where an oracle has to be asked: before its first gradient, and where it would fail. It does
// not see directions that are not finite: they show in the next model.
func (s *Stack) Gradients(to algos.Stacked) bool {
	for j, largest := range to.Largest {
		worst := &s.worst[to.First+j]
		if *worst == 0 {
			*worst = worstOf(s.oracles[to.First+j].scale)
		}
		if !(largest <= farthest) || *worst == 0 {
			return false
		}
		loss := s.objective.Gradient(to.First+j, to.G.At(j), to.X.At(j))
		if to.Losses[j] = loss; !(loss <= *worst) {
			return false
		}
	}
	return true
}

// worstOf returns the largest loss that judge lets pass, 0 without a scale. It is rounded down.
func worstOf(scale float64) float32 {
	return roundDown(min(worst*scale, math.MaxFloat32))
}
