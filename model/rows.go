package model

import "gossiptrainer/internal/kernel"

const (
	// partFloats is about how many coordinates of a large dense layer's gradient are a part: they stay in a cache.
	partFloats = 1 << 20
	// partRows divides the rows of a part: the kernels take that number at once.
	partRows = 24
)

// A rows is the gradient of a dense layer's weights, some rows at a time.
type rows struct {
	weight          Param
	inputs, outputs int
	each            int   // rows of a part, but for the last
	part, last      outer // part is empty where the last part is the only one
}

func newRows(weight Param, inputs, outputs int) rows {
	r := rows{weight: weight, inputs: inputs, outputs: outputs, each: max(1, partFloats/outputs/partRows) * partRows}
	r.last = newOuterOnce(inputs-r.lastRow(), outputs)
	if r.lastRow() > 0 {
		r.part = newOuterOnce(r.each, outputs)
	}
	return r
}

// lastRow returns the first row of the last part, which has fewer than twice as many as the others.
func (r *rows) lastRow() int { return max(0, r.inputs/r.each-1) * r.each }

// longest returns the coordinates of the longest part.
func (r *rows) longest() int { return (r.inputs - r.lastRow()) * r.outputs }

// backward computes xᵀ·dy over n samples.
func (r *rows) backward(t kernel.Tier, g *gradients, x, dy []float32, n int) {
	for first := 0; first < r.inputs; {
		o, count := &r.part, r.each
		if first == r.lastRow() {
			o, count = &r.last, r.inputs-first
		}
		at := r.weight.Off + first*r.outputs
		dw := g.at(at, count*r.outputs)
		o.over(1, 1, n, grid{pixel: r.inputs}, grid{pixel: r.outputs})
		o.set(t, dw, x[first:], dy, span{})
		o.finish(dw)
		g.done(at, dw)
		first += count
	}
}
