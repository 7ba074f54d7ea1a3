package quant

import (
	"fmt"
	"math"

	"gossiptrainer/internal/vec"
)

// A Norm measures a bucket.
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

// of returns the norm of z rounded to float32, which is no less than any
// magnitude in z, and Inf if it exceeds the floats.
func (n Norm) of(z []float32) float32 {
	if n == LInf {
		return vec.MaxAbs(z)
	}
	return float32(math.Sqrt(squaredLength(z)))
}

// squaredLength returns |z|_2².
func squaredLength(z []float32) float64 { return vec.Dot(z, z) }
