package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// Squares returns the sum of x_i² in float64, in the order that suits the tier. Products are exact,
// and the sums of n terms in two orders are within n·2⁻⁵² of each other, relatively.
func (t Tier) Squares(x []float32) float64 {
	var sums [8]float64
	n := len(x) &^ 31
	switch t {
	case AVX512:
		asm.SquaresAVX512(x[:n], &sums)
	case AVX2:
		asm.SquaresAVX2(x[:n], &sums)
	default:
		n = 0
	}
	total := 0.0
	for _, s := range sums {
		total += s
	}
	for _, v := range x[n:] {
		total += float64(v) * float64(v)
	}
	return total
}

// Magnitudes is Squares for the sum of |x_i|.
func (t Tier) Magnitudes(x []float32) float64 {
	var sums [8]float64
	n := len(x) &^ 31
	switch t {
	case AVX512:
		asm.MagnitudesAVX512(x[:n], &sums)
	case AVX2:
		asm.MagnitudesAVX2(x[:n], &sums)
	default:
		n = 0
	}
	total := 0.0
	for _, s := range sums {
		total += s
	}
	for _, v := range x[n:] {
		total += math.Abs(float64(v))
	}
	return total
}

// AtLeast returns the sum and the number of the x_i ≥ limit, with the sum in the order that suits the
// tier. Sums of n terms in two orders are within n·2⁻⁵²·Σ|x_i| of each other.
func (t Tier) AtLeast(x []float32, limit float32) (sum float64, count int) {
	var sums, counts [8]float64
	n := len(x) &^ 31
	switch t {
	case AVX512:
		asm.AtLeastAVX512(x[:n], limit, &sums, &counts)
	case AVX2:
		asm.AtLeastAVX2(x[:n], limit, &sums, &counts)
	default:
		n = 0
	}
	for i, s := range sums {
		sum += s
		count += int(counts[i])
	}
	for _, v := range x[n:] {
		if v >= limit {
			sum += float64(v)
			count++
		}
	}
	return sum, count
}
