package quant

import (
	"math"
	"sort"

	"gossiptrainer/internal/kernel"
)

// ascending holds the sorted values of a bucket, with sums from which the sum of any part follows.
type ascending struct {
	w    []float32
	sums []float64 // of the first stride·i values
	size float64   // Σ |w|
}

const stride = 64

// set takes over the sorted values w.
func (a *ascending) set(w []float32) {
	tier, total := kernel.Best(), 0.0
	a.w, a.sums, a.size = w, a.sums[:0], tier.Magnitudes(w)
	for ; len(w) >= stride; w = w[stride:] {
		a.sums = append(a.sums, total)
		part, _ := tier.AtLeast(w[:stride], w[0])
		total += part
	}
	a.sums = append(a.sums, total)
}

// sum returns the sum of the values from first to last−1.
func (a *ascending) sum(first, last int) float64 {
	if last-first < 2*stride {
		return plainSum(a.w[first:last])
	}
	from, to := (first+stride-1)/stride, last/stride
	return plainSum(a.w[first:from*stride]) + (a.sums[to] - a.sums[from]) + plainSum(a.w[to*stride:last])
}

func plainSum(w []float32) (sum float64) {
	for _, v := range w {
		sum += float64(v)
	}
	return sum
}

// best returns the level between low and high, which are both values: see ORQ.
func (a *ascending) best(low, high float32) float32 {
	if low == high {
		return low
	}
	first := sort.Search(len(a.w), func(i int) bool { return a.w[i] >= low })
	last := sort.Search(len(a.w), func(i int) bool { return a.w[i] > high })
	n, size := float64(last-first), math.Abs(float64(low))
	above := a.sum(first, last) - n*float64(low)
	off := (float64(len(a.w)) + stride) * 0x1p-51 * (a.size + n*size)
	up := steps(above-off, low, high)
	if up != steps(above+off, low, high) { // the order of the sum matters
		above = 0
		for _, v := range a.w[first:last] {
			above += float64(v) - float64(low)
		}
		up = steps(above, low, high)
	}
	return a.w[first+min(max(last-first-up, 1), last-first)-1]
}

// steps returns ⌊R⌋ for the sum of the differences of values to low. The small number corrects a sum
// that ends just below an integer.
func steps(above float64, low, high float32) int {
	return int(math.Floor(above/(float64(high)-float64(low)) + 1e-12))
}
