package quant

import (
	"fmt"
	"math"
	"sort"
)

// ORQ rounds at random to s levels that make the expected squared error small
// (Xu, Huo and Huang, "Optimal Gradient Quantization Condition for
// Communication-Efficient Distributed Training", 2019). The ends are the
// smallest and the largest value of the bucket. With s = 2^K + 1, the level in
// the middle is the best one between the ends, and so on in both halves. The
// best level between a and c, over the m′ values w in [a, c], is
//
//	w_(m′−⌊R⌋) in ascending order from 1,  R = Σ (w − a)/(c − a):
//
// the expected error is convex and piecewise linear in the level, and its slope
// changes sign there.
//
// A bucket is its levels as floats and its symbols: 4s bytes and log₂ s bits per
// coordinate.
type ORQ struct {
	bucketed
	carried
}

// maxORQ is the largest s.
const maxORQ = 129

// NewORQ returns the compressor with s = 3, 5, 9, 17, 33, 65 or 129 levels; a
// bucket of 0 is the whole vector. seed is the worker's own stream,
// rng.Stream(seed, rank).
func NewORQ(s, bucket int, seed uint64) (*ORQ, error) {
	if s < 3 || s > maxORQ || (s-1)&(s-2) != 0 {
		return nil, fmt.Errorf("quant: orq: %d levels: must be 3, 5, 9, 17, 33, 65 or %d", s, maxORQ)
	}
	o := &ORQ{}
	var err error
	o.bucketed, err = newBucketed("orq", o, Properties{Unbiased: true}, s, s, bucket, seed)
	return o, err
}

func (o *ORQ) fit(header, z []float32) {
	w := o.sorter.sort(z)
	header[0], header[len(header)-1] = w[0], w[len(w)-1]
	halve(header, w)
	o.use(header)
}

func (o *ORQ) lanes(packed []byte, z []float32, first int) bool {
	return o.laned && o.drawn(packed, z, first, &o.drawer)
}

// halve chooses the levels between the first and the last for the ascending w.
func halve(levels, w []float32) {
	last := len(levels) - 1
	if last < 2 {
		return
	}
	levels[last/2] = best(w, levels[0], levels[last])
	halve(levels[:last/2+1], w)
	halve(levels[last/2:], w)
}

// best returns the level between a and c, both of which are in w.
func best(w []float32, a, c float32) float32 {
	if a == c {
		return a
	}
	w = w[sort.Search(len(w), func(i int) bool { return w[i] >= a }):]
	w = w[:sort.Search(len(w), func(i int) bool { return w[i] > c })]
	sum := 0.0
	for _, v := range w {
		sum += float64(v) - float64(a)
	}
	// The small number makes up for a sum that ends just below an integer.
	up := int(math.Floor(sum/(float64(c)-float64(a)) + 1e-12))
	return w[min(max(len(w)-up, 1), len(w))-1]
}
