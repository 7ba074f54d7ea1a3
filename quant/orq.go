package quant

import "fmt"

// ORQ rounds at random to s levels that make the expected squared error small
// (Xu, Huo and Huang, "Optimal Gradient Quantization Condition for
// Communication-Efficient Distributed Training", 2019). The ends are the
// smallest and the largest value of the bucket. With s = 2^K + 1, as in the paper, the level in
// the middle is the best one between the ends, and so on in both halves. For any other s the lower half
// may have one level less. The best level between a and c, over the m′ values w in [a, c], is
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
	ascending ascending
}

// NewORQ returns the compressor with s = 3 to 256 levels. A bucket of 0 is the whole vector. seed is
// the worker's own stream, rng.Stream(seed, rank).
func NewORQ(s, bucket int, seed uint64) (*ORQ, error) {
	if s < 3 || s > maxLevels {
		return nil, fmt.Errorf("quant: orq: %d levels: must be 3 to %d", s, maxLevels)
	}
	o := &ORQ{}
	var err error
	o.bucketed, err = newBucketed(design{
		name: "orq", rule: o, properties: Properties{Unbiased: true}, floats: s, levels: s, size: bucket, seed: seed,
	})
	return o, err
}

func (o *ORQ) fit(header, z []float32) {
	w := o.sorter.sort(z)
	header[0], header[len(header)-1] = w[0], w[len(w)-1]
	o.ascending.set(w)
	o.halve(header)
	o.use(header)
}

// halve chooses the levels between the first and the last.
func (o *ORQ) halve(levels []float32) {
	last := len(levels) - 1
	if last < 2 {
		return
	}
	levels[last/2] = o.ascending.best(levels[0], levels[last])
	o.halve(levels[:last/2+1])
	o.halve(levels[last/2:])
}

func (o *ORQ) lanes(packed []byte, z []float32, first int) bool {
	return o.laned && o.drawn(packed, z, first, &o.drawer)
}
