package quant

import (
	"fmt"
	"math"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/vec"
)

// A Norm is a norm of a bucket.
type Norm int

const (
	// LInf is the largest magnitude.
	LInf Norm = iota
	// L2 is the Euclidean length.
	L2
)

// ParseNorm returns the norm of that name: l2 or linf.
func ParseNorm(name string) (Norm, error) {
	switch name {
	case "l2":
		return L2, nil
	case "linf":
		return LInf, nil
	}
	return 0, fmt.Errorf("quant: norm %q: must be l2 or linf", name)
}

// of returns the norm of z rounded to float32. It is at least each magnitude in z, and Inf if it
// exceeds the range of float32.
func (n Norm) of(z []float32) float32 {
	if n == LInf {
		return vec.MaxAbs(z)
	}
	root := func(squares float64) float32 { return float32(math.Sqrt(squares)) }
	if tier := kernel.Best(); tier != kernel.Off {
		if norm, sure := inAnyOrder(tier.Squares(z), len(z), root); sure {
			return norm
		}
	}
	return root(squaredLength(z))
}

// inAnyOrder returns f(sum). sum is the float64 sum of n numbers ≥ 0 in some order, and f is monotone.
// It reports whether the result is the same for every order of summation. A sum in order is slow: one
// long chain of additions.
func inAnyOrder(sum float64, n int, f func(float64) float32) (float32, bool) {
	off := sum * (float64(n) + 8) * 0x1p-52
	low := f(sum - off)
	return low, low == f(sum+off)
}

// squaredLength returns |z|_2².
func squaredLength(z []float32) float64 { return vec.Dot(z, z) }
