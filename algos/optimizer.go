package algos

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// An Optimizer turns the mean of the workers' gradients at x into the direction of a step. All replicas are equal, so
// that the optimizers of all workers are, too.
type Optimizer interface {
	Direct(g, x []float32) // overwrites g with the direction
	State(v *state.Visit)
}

// descend takes a step along the mean of n gradients, or along what an optimizer makes of it, nil for none. sum is
// their sum, and is overwritten.
func descend(x, sum []float32, n int, alpha float32, o Optimizer) {
	if o == nil {
		vec.Axpy(x, -alpha/float32(n), sum)
		return
	}
	vec.Scale(sum, 1/float32(n), sum)
	o.Direct(sum, x)
	vec.Axpy(x, -alpha, sum)
}

// visit shows the memory of an optimizer, nil for none.
func visit(v *state.Visit, o Optimizer) {
	if o != nil {
		o.State(v)
	}
}
