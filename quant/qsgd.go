package quant

import (
	"fmt"
	"math"

	"gossiptrainer/internal/kernel"
)

// QSGD rounds the magnitudes of a bucket to s = 2^(b−1) − 1 equal parts of its norm and keeps the
// signs. It is that of Alistarh et al., "QSGD", NeurIPS 2017, section 3.1; section 4 has the largest
// magnitude as norm. With r_c = s·|z_c|/|z|,
//
//	level_c = ⌊r_c⌋ + [u < r_c − ⌊r_c⌋],  u uniform in [0, 1),
//	C(z)_c = |z|·sign(z_c)·level_c/s,  0 where all values are.
//
// It is unbiased, and E |C(z) − z|_2² ≤ q·|z|_2² with q = min(m/s², √m/s) for either norm. Scale uses
// this q.
//
// A bucket is the norm as a float, by which the sender decodes too, and the symbols as a bit stream: 4
// + ⌈m·b/8⌉ bytes. A symbol is level_c + 2^(b−1)·[z_c < 0 and level_c > 0]. Given 2s + 1 levels in place
// of bits, it is level_c + s·[z_c < 0 and level_c > 0], in groups of symbols: about log₂(2s + 1) bits.
type QSGD struct {
	bucketed
	norm   Norm
	top    uint16  // s
	length float64 // of the last fitted bucket
	points
	rounder kernel.Rounder
	laned   bool // rounder is set
}

// NewQSGD returns the compressor with 2 to 8 bits per coordinate, sign included. A bucket of 0 is the
// whole vector. seed is the worker's own stream, rng.Stream(seed, rank).
func NewQSGD(bits, bucket int, norm Norm, seed uint64) (*QSGD, error) {
	if bits < 2 || bits > 8 {
		return nil, fmt.Errorf("quant: qsgd: %d bits: must be 2 to 8", bits)
	}
	return newQSGD(1<<(bits-1)-1, 1<<bits, bucket, norm, seed)
}

// NewQSGDLevels returns the compressor with an odd number of levels from 3 to 255, zero and as many on
// either side: the QSGD-s of Xu, Huo and Huang, 2019. Other arguments are those of NewQSGD. By the largest
// magnitude, 3 levels are those of TernGrad.
func NewQSGDLevels(levels, bucket int, norm Norm, seed uint64) (*QSGD, error) {
	if err := checkLevels("qsgd", levels, Zero); err != nil {
		return nil, err
	}
	return newQSGD(levels/2, levels, bucket, norm, seed)
}

// newQSGD returns the compressor with top equal parts and a number of symbols.
func newQSGD(top, symbols, bucket int, norm Norm, seed uint64) (*QSGD, error) {
	q := &QSGD{norm: norm, top: uint16(top)}
	var err error
	q.bucketed, err = newBucketed(design{
		name: "qsgd", rule: q, properties: Properties{Unbiased: true},
		floats: 1, levels: symbols, size: bucket, seed: seed,
		telling: true, bound: q.variance,
	})
	return q, err
}

// variance returns the bound q of a bucket of m coordinates.
func (q *QSGD) variance(m int) float64 {
	s := float64(q.top)
	return min(float64(m)/(s*s), math.Sqrt(float64(m))/s)
}

func (q *QSGD) fit(header, z []float32) {
	header[0] = q.norm.of(z)
	q.length = float64(header[0])
	if q.length == 0 {
		q.length = 1 // every level is 0
	}
	q.laned = q.rounder.Set(kernel.Parts{
		Unit: q.length / float64(q.top), Draw: kernel.Below, Magnitudes: true, Sign: q.packing.mark(),
	})
}

// ratio returns r of a coordinate of magnitude m.
func (q *QSGD) ratio(m uint32) float64 {
	return float64(q.top) * float64(math.Float32frombits(m)) / q.length
}

func (q *QSGD) round(symbols []uint16, z, u []float32) {
	z, u = z[:len(symbols)], u[:len(symbols)]
	minus := q.packing.minus()
	for i, v := range z {
		r := q.ratio(magnitude(v))
		level := uint16(int32(r))
		if float64(u[i]) < r-float64(int32(r)) {
			level++
		}
		// A negative value of level 0 has no sign: −level has a top bit but for 0.
		sign := uint16(math.Float32bits(v)>>31) & (-level >> 15)
		symbols[i] = level + sign*minus
	}
}

func (q *QSGD) lanes(packed []byte, z []float32, first int) bool {
	if !q.laned {
		return false
	}
	v := &q.vectors
	done, doubtful := v.tier.Round(v.bytes[:len(z)], z, &q.rounder, kernel.Uniform{Key: q.key, First: first}, v.doubt[:])
	q.packing.unmark(v.bytes[:done])
	return q.settle(packed, z, first, done, doubtful)
}

func (q *QSGD) spread(z []float32) float64 {
	unit, total := q.length/float64(q.top), 0.0
	for _, v := range z {
		r := q.ratio(magnitude(v))
		part := r - math.Floor(r)
		total += float64(part * (1 - part))
	}
	return total * unit * unit
}

// check: the symbol of −0, which Compress never writes, is a 0.
func (q *QSGD) check(header []float32) error { return checkScale(header) }

func (q *QSGD) open(header []float32, w float32) {
	minus := q.packing.minus()
	for level := range q.top + 1 {
		point := float32(w * float32(float64(header[0])*float64(level)/float64(q.top)))
		q.points[level], q.points[level+minus] = point, -point // the top level may replace −0
	}
}
