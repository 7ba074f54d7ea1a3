package model

import "gossiptrainer/model/sample"

// A Parted objective computes its gradient in parts, so that a caller that uses each part at once needs no memory for
// the whole gradient. It has the bits of Gradient.
type Parted interface {
	Objective
	// GradientParts computes the gradient of the mean loss over batch at x and returns that loss. It calls take once
	// for each part, with the coordinate of its first element. The parts fill the gradient, in any order. Their memory
	// is used again: take may change a part, but not keep it.
	GradientParts(x []float32, batch sample.Batch, take func(first int, part []float32)) (loss float32)
}

// gradients are the gradients that layers write on the way back: into the whole vector, or into the memory of one part.
type gradients struct {
	whole []float32
	part  []float32                       // memory of the longest part
	take  func(first int, part []float32) // gets each part; nil: whole takes all
}

// of returns the memory for the gradient of p.
func (g *gradients) of(p Param) []float32 { return g.at(p.Off, p.Len()) }

// at returns the memory for n coordinates from first on. The layer hands it to done before it asks for other memory.
func (g *gradients) at(first, n int) []float32 {
	if g.take == nil {
		return g.whole[first : first+n : first+n]
	}
	return g.part[:n:n]
}

// done says that the gradient of the coordinates from first on is complete.
func (g *gradients) done(first int, part []float32) {
	if g.take != nil {
		g.take(first, part)
	}
}
