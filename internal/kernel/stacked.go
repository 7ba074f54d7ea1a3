package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// The models of many workers are rows of one array. A worker's round goes through its row once: from the differences
// of its neighbours' rows to its next model. So the rows of small models stay in the caches, and few calls are made.

// RowStep divides the length of every row. Coordinates that fill up a row are 0.
const RowStep = 16

// A Pass is the way of a row to the next one. All vectors have the length of X.
type Pass struct {
	Next, X, G []float32
	At         []int     // where the rows of the neighbours begin, in bytes from the beginning of the array
	Weights    []float32 // beside At
	Step       float32
}

// Passed is what a row has seen on its way to the next one.
type Passed struct {
	Far     uint32 // largest magnitude of a difference: bits of a float from MixRows, a number from MixIndices
	Moved   int    // coordinates with a difference that is not 0
	Largest uint32 // bits of the largest magnitude in the next row; those of NaN exceed those of Inf
}

// MixRows computes next ← (x + Σ_j w_j·(y_j − x)) + step·g, where y_j are rows of the array. Every product is rounded,
// and the sum over the neighbours, in order, is added to x at once.
func MixRows(t Tier, rows []float32, to Pass) Passed {
	if len(to.Weights) == 0 || t == Off {
		return stackedRows(rows, to)
	}
	var p Passed
	x := to.X
	next, g, at := to.Next[:len(x)], to.G[:len(x)], to.At[:len(to.Weights)]
	if t == AVX512 {
		p.Far, p.Largest, p.Moved = asm.MixRowsAVX512(next, x, g, rows, at, to.Weights, to.Step)
	} else {
		p.Far, p.Largest, p.Moved = asm.MixRowsAVX2(next, x, g, rows, at, to.Weights, to.Step)
	}
	return p
}

// MixIndices is MixRows of integers: next ← (x + Σ_j w_j·(k_j − own)) + step·g, where k_j are rows of the array. All
// integers are below 2³⁰ in magnitude.
func MixIndices(t Tier, rows, own []int32, to Pass) Passed {
	if len(to.Weights) == 0 || t == Off {
		return stackedIndices(rows, own, to)
	}
	var p Passed
	x := to.X
	next, g, own, at := to.Next[:len(x)], to.G[:len(x)], own[:len(x)], to.At[:len(to.Weights)]
	if t == AVX512 {
		p.Far, p.Largest, p.Moved = asm.MixIndicesAVX512(next, x, g, rows, own, at, to.Weights, to.Step)
	} else {
		p.Far, p.Largest, p.Moved = asm.MixIndicesAVX2(next, x, g, rows, own, at, to.Weights, to.Step)
	}
	return p
}

// FarIndices returns the largest magnitude of the differences that MixIndices takes.
func FarIndices(t Tier, rows, own []int32, at []int) (far uint32) {
	switch {
	case len(at) == 0:
		return 0
	case t == AVX512:
		return asm.FarIndicesAVX512(rows, own, at)
	case t == AVX2:
		return asm.FarIndicesAVX2(rows, own, at)
	}
	for _, begin := range at {
		for i, k := range rows[begin/4:][:len(own)] {
			far = max(far, uint32(max(k-own[i], own[i]-k)))
		}
	}
	return far
}

// stackedRows is the definition of MixRows.
func stackedRows(rows []float32, to Pass) (p Passed) {
	for i, own := range to.X {
		sum, most := float32(0), uint32(0)
		for j, weight := range to.Weights {
			difference := rows[to.At[j]/4+i] - own
			sum += float32(weight * difference)
			most = max(most, math.Float32bits(difference)&^(1<<31))
		}
		to.Next[i] = p.see(own, sum, float32(to.Step*to.G[i]), most)
	}
	return p
}

// stackedIndices is the definition of MixIndices.
func stackedIndices(rows, own []int32, to Pass) (p Passed) {
	for i, v := range to.X {
		sum, most := float32(0), uint32(0)
		for j, weight := range to.Weights {
			difference := rows[to.At[j]/4+i] - own[i]
			sum += float32(weight * float32(difference))
			most = max(most, uint32(max(difference, -difference)))
		}
		to.Next[i] = p.see(v, sum, float32(to.Step*to.G[i]), most)
	}
	return p
}

// see returns the next value of a coordinate.
func (p *Passed) see(x, sum, step float32, most uint32) float32 {
	if p.Far = max(p.Far, most); most != 0 {
		p.Moved++
	}
	v := float32(x+sum) + step
	p.Largest = max(p.Largest, math.Float32bits(v)&^(1<<31))
	return v
}
