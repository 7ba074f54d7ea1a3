// Package vec holds the kernels over flat float32 vectors on which the rest of the program builds.
//
// It knows nothing of models or quantization. Every kernel gives the same bits on every machine: products are rounded
// before they are added, and sums have a fixed order.
//
// Vectors of one call have equal lengths; a shorter second vector is a programmer error and panics. A destination may
// be one of the sources, but must not overlap one in part.
package vec

import (
	"math"
	"slices"

	"gossiptrainer/internal/kernel"
)

// Axpy computes dst ← dst + a·x.
func Axpy(dst []float32, a float32, x []float32) {
	kernel.Best().Axpy(dst, a, x)
}

// Add computes dst ← x + y.
func Add(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for len(dst) >= 4 && len(x) >= 4 && len(y) >= 4 {
		dst[0] = x[0] + y[0]
		dst[1] = x[1] + y[1]
		dst[2] = x[2] + y[2]
		dst[3] = x[3] + y[3]
		dst, x, y = dst[4:], x[4:], y[4:]
	}
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

// beyondCaches is the length from which on dst leaves the caches before anyone reads it: 32 MiB.
const beyondCaches = 8 << 20

// Sub computes dst ← x − y.
func Sub(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	if len(dst) >= beyondCaches {
		kernel.Best().Subtract(dst, x, y)
		return
	}
	for len(dst) >= 4 && len(x) >= 4 && len(y) >= 4 {
		dst[0] = x[0] - y[0]
		dst[1] = x[1] - y[1]
		dst[2] = x[2] - y[2]
		dst[3] = x[3] - y[3]
		dst, x, y = dst[4:], x[4:], y[4:]
	}
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

// Scale computes dst ← a·x.
func Scale(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for len(dst) >= 4 && len(x) >= 4 {
		dst[0] = a * x[0]
		dst[1] = a * x[1]
		dst[2] = a * x[2]
		dst[3] = a * x[3]
		dst, x = dst[4:], x[4:]
	}
	for i := range dst {
		dst[i] = a * x[i]
	}
}

// Dot returns xᵀy. It sums in float64, where products of float32 are exact.
func Dot(x, y []float32) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	for len(x) >= 4 && len(y) >= 4 {
		s0 += float64(x[0]) * float64(y[0])
		s1 += float64(x[1]) * float64(y[1])
		s2 += float64(x[2]) * float64(y[2])
		s3 += float64(x[3]) * float64(y[3])
		x, y = x[4:], y[4:]
	}
	for i := range x {
		s0 += float64(x[i]) * float64(y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

const infinity = 0xFF << 23

// MaxAbs returns |x|_∞, 0 if x is empty. It is +Inf or NaN if x holds such a
// value.
func MaxAbs(x []float32) float32 {
	return math.Float32frombits(kernel.Best().Magnitude(x))
}

// Finite reports whether x holds neither NaN nor Inf.
func Finite(x []float32) bool {
	return kernel.Best().Magnitude(x) < infinity
}

// MaxAbsLE is MaxAbs for the floats in p, written by AppendLE.
func MaxAbsLE(p []byte) float32 {
	return math.Float32frombits(kernel.Best().MagnitudeLE(p))
}

// AppendLE appends x to dst as little-endian IEEE 754 binary32, 4·len(x) bytes.
func AppendLE(dst []byte, x []float32) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 4*len(x))[:start+4*len(x)]
	putLE(dst[start:], x)
	return dst
}

// ReadLE fills dst from the first 4·len(dst) bytes of src, written by AppendLE.
func ReadLE(dst []float32, src []byte) { getLE(dst, src[:4*len(dst)]) }
