package quant

import (
	"fmt"
	"math"

	"gossiptrainer/internal/kernel"
)

// MinMax rounds to 2^b points between the smallest and the largest value of a bucket, the quantizer of
// Cui et al., "MQGrad", 2018. With L = 2^b − 1,
//
//	q_c = min(L, ⌊(z_c − min)/((max − min)/L) + u⌋),  u = 1/2 or uniform in [0, 1),
//	C(z)_c = min + q_c·(max − min)/L,  min where all values are equal.
//
// A bucket is min and max as floats and its symbols as a bit stream:
// 8 + ⌈m·b/8⌉ bytes.
type MinMax struct {
	bucketed
	mode Mode
	span span // of the last fitted or opened bucket
	w    float32
	points
	rounder kernel.Rounder
	laned   bool // rounder is set
}

// NewMinMax returns the compressor with 1 to 16 bits per coordinate; a bucket of 0 is the whole
// vector. seed is the worker's own stream, rng.Stream(seed, rank). Only Stochastic needs it.
func NewMinMax(bits, bucket int, mode Mode, seed uint64) (*MinMax, error) {
	if bits < 1 || bits > 16 {
		return nil, fmt.Errorf("quant: minmax: %d bits: must be 1 to 16", bits)
	}
	q := &MinMax{mode: mode}
	var err error
	q.bucketed, err = newBucketed(design{
		name: "minmax", rule: q,
		// It is no contraction: the error depends on the extremes only.
		properties: Properties{Unbiased: mode == Stochastic, Deterministic: mode == Nearest},
		floats:     2, levels: 1 << bits, size: bucket, seed: seed,
	})
	return q, err
}

func (q *MinMax) fit(header, z []float32) {
	header[0], header[1] = kernel.Best().Extremes(z)
	q.span = between(header, q.packing.Levels())
	draw := kernel.Above
	if q.mode == Nearest {
		draw = kernel.Nearest
	}
	q.laned = q.rounder.Set(kernel.Parts{Low: header[0], Unit: q.span.step, Draw: draw})
}

func (q *MinMax) round(symbols []uint16, z, u []float32) {
	g, z, u := q.span, z[:len(symbols)], u[:len(symbols)]
	if g.step == 0 {
		clear(symbols)
		return
	}
	for i, v := range z {
		symbols[i] = uint16(min(g.top, int32((float64(v)-g.low)/g.step+float64(u[i]))))
	}
}

func (q *MinMax) lanes(packed []byte, z []float32, first int) bool {
	if !q.laned {
		return false
	}
	v := &q.vectors
	done, doubtful := v.tier.Round(v.bytes[:len(z)], z, &q.rounder, kernel.Uniform{Key: q.key, First: first}, v.doubt[:])
	return q.settle(packed, z, first, done, doubtful)
}

func (q *MinMax) spread(z []float32) float64 {
	g, total := q.span, 0.0
	if g.step == 0 {
		return 0
	}
	for _, v := range z {
		r := (float64(v) - g.low) / g.step
		part := r - math.Floor(r)
		if q.mode == Nearest {
			off := min(part, 1-part)
			total += float64(off * off)
		} else {
			total += float64(part * (1 - part))
		}
	}
	return total * g.step * g.step
}

func (q *MinMax) check(header []float32) error {
	if header[0] > header[1] {
		return fmt.Errorf("no range from %v to %v", header[0], header[1])
	}
	return nil
}

func (q *MinMax) open(header []float32, w float32) {
	q.span, q.w = between(header, q.packing.Levels()), w
	if table := q.table(); table != nil {
		for s := range q.packing.Levels() {
			table[s] = q.point(s)
		}
	}
}

// table returns a table if a bucket has more coordinates than the table entries.
func (q *MinMax) table() *points {
	if levels := q.packing.Levels(); levels > len(q.points) || q.size > 0 && q.size < levels {
		return nil
	}
	return &q.points
}

func (q *MinMax) add(acc []float32, symbols []uint16) {
	acc = acc[:len(symbols)]
	for i, s := range symbols {
		acc[i] += q.point(int(s))
	}
}

// point returns w times the value of a symbol.
func (q *MinMax) point(s int) float32 {
	return float32(q.w * float32(q.span.low+float64(float64(s)*q.span.step)))
}

// A span describes the points between the extremes of a bucket.
type span struct {
	low, step float64 // step is (max − min)/L, 0 if all values are equal
	top       int32   // L
}

func between(header []float32, levels int) span {
	low, high := float64(header[0]), float64(header[1])
	return span{low: low, step: (high - low) / float64(levels-1), top: int32(levels - 1)}
}
