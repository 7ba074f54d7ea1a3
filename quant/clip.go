package quant

import (
	"math"
	"slices"

	"gossiptrainer/internal/kernel"
)

// clipped returns z with its coordinates limited to c standard deviations, in the memory of dst. A bucket without
// deviation has no outlier and stays as it is: a limit of 0 would never let its coordinates move.
func clipped(dst, z []float32, c float64) []float32 {
	limit, sure := soonLimit(z, c)
	if !sure {
		limit = clipLimit(z, c)
	}
	if limit == 0 {
		return append(dst[:0], z...)
	}
	most := magnitude(limit)
	dst = slices.Grow(dst[:0], len(z))[:len(z)]
	for i, v := range z {
		m := magnitude(v)
		dst[i] = math.Float32frombits(math.Float32bits(v) ^ m ^ min(m, most))
	}
	return dst
}

// clipLimit returns c standard deviations of z about its mean.
func clipLimit(z []float32, c float64) float32 {
	mean := 0.0
	for _, v := range z {
		mean += float64(v)
	}
	mean /= float64(len(z))
	squares := 0.0
	for _, v := range z {
		off := float64(v) - mean
		squares += float64(off * off)
	}
	return float32(c * math.Sqrt(squares/float64(len(z))))
}

// soonLimit is clipLimit from sums in any order. It reports whether the result is certainly the same.
// It derives the sum of squares about the mean from the one about 0; all errors together are a small
// part of that.
func soonLimit(z []float32, c float64) (limit float32, sure bool) {
	tier, n := kernel.Best(), float64(len(z))
	sum, _ := tier.AtLeast(z, float32(math.Inf(-1)))
	squares := tier.Squares(z)
	left, off := squares-float64(sum*sum/n), squares*(n+8)*0x1p-48
	of := func(squares float64) float32 { return float32(c * math.Sqrt(max(squares, 0)/n)) }
	limit = of(left - off)
	return limit, limit == of(left+off)
}
