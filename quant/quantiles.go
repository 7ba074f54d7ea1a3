package quant

import "fmt"

// Quantiles rounds at random to s levels, with equally many values of the bucket between any two. Xu,
// Huo and Huang, "Optimal Gradient Quantization Condition for Communication-Efficient Distributed
// Training", 2019, call it Linear-s and compare ORQ with it. Level k is the quantile k/(s−1): linear
// between the order statistics around h = (m−1)·k/(s−1), from 0.
//
// A bucket is its levels as floats and its symbols: 4s bytes and log₂ s bits per
// coordinate.
type Quantiles struct {
	bucketed
	carried
}

// NewQuantiles returns the compressor with 2 to 256 levels; a bucket of 0 is the
// whole vector. seed is the worker's own stream, rng.Stream(seed, rank).
func NewQuantiles(s, bucket int, seed uint64) (*Quantiles, error) {
	if s < 2 || s > maxLevels {
		return nil, fmt.Errorf("quant: linear_s: %d levels: must be 2 to %d", s, maxLevels)
	}
	q := &Quantiles{}
	var err error
	q.bucketed, err = newBucketed(design{
		name: "linear_s", rule: q, properties: Properties{Unbiased: true},
		floats: s, levels: s, size: bucket, seed: seed,
	})
	return q, err
}

func (q *Quantiles) fit(header, z []float32) {
	w := q.sorter.sort(z)
	last := len(w) - 1
	for k := range header {
		whole := last * k / (len(header) - 1)
		part := float64(last*k%(len(header)-1)) / float64(len(header)-1)
		low, high := float64(w[whole]), float64(w[min(whole+1, last)])
		header[k] = float32(low + float64(part*(high-low)))
	}
	q.use(header)
}

func (q *Quantiles) lanes(packed []byte, z []float32, first int) bool {
	return q.laned && q.drawn(packed, z, first, &q.drawer)
}
