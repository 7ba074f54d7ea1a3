package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
)

// MinMax rounds to 2^b points between the smallest and the largest value of a
// bucket, the quantizer of Cui et al., "MQGrad", 2018. With L = 2^b − 1,
//
//	q_c = min(L, ⌊(z_c − min)/((max − min)/L) + u⌋),  u = 1/2 or uniform in [0, 1),
//	C(z)_c = min + q_c·(max − min)/L,  min where all values are equal.
//
// A bucket is min and max as floats and its symbols as a bit stream:
// 8 + ⌈m·b/8⌉ bytes.
type MinMax struct {
	packing Packing
	bucket  int
	mode    Mode
	seed    uint64
}

// NewMinMax returns the compressor with 1 to 16 bits per coordinate; a bucket
// of 0 is the whole vector. seed is the worker's own stream,
// rng.Stream(seed, rank); only Stochastic needs it.
func NewMinMax(bits, bucket int, mode Mode, seed uint64) (*MinMax, error) {
	if bits < 1 || bits > 16 {
		return nil, fmt.Errorf("quant: minmax: %d bits: must be 1 to 16", bits)
	}
	if err := checkBucket("minmax", bucket); err != nil {
		return nil, err
	}
	packing, err := NewPacking(1 << bits)
	return &MinMax{packing: packing, bucket: bucket, mode: mode, seed: seed}, err
}

// Properties: no contraction, for the error is that of the extremes.
func (q *MinMax) Properties() Properties {
	return Properties{Unbiased: q.mode == Stochastic, Deterministic: q.mode == Nearest}
}

// Len returns the bytes of a payload of d coordinates.
func (q *MinMax) Len(d int) int { return bucketsLen(d, q.bucket, q.size) }

// size returns the bytes of a bucket of m coordinates.
func (q *MinMax) size(m int) int { return minmaxHeader + q.packing.Len(m) }

const minmaxHeader = 8 // min and max

// Compress appends the buckets of z.
func (q *MinMax) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("minmax", k, z); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, q.Len(len(z)))
	u := shift{q.mode, rng.At(q.seed, k)}
	for first := 0; first < len(z); first = bucketEnd(first, q.bucket, len(z)) {
		bucket := z[first:bucketEnd(first, q.bucket, len(z))]
		dst = q.append(dst, bucket, first, u)
	}
	return dst, nil
}

// append appends the bucket z, which begins at coordinate first.
func (q *MinMax) append(dst []byte, z []float32, first int, u shift) []byte {
	g := between(slices.Min(z), slices.Max(z), q.packing.Levels())
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(g.low))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(g.high))
	var symbols [blockLen]uint16
	for at := 0; at < len(z); at += blockLen {
		block := z[at:min(at+blockLen, len(z))]
		for i, v := range block {
			symbols[i] = g.symbol(v, u.at(first+at+i))
		}
		var err error
		if dst, err = q.packing.Pack(dst, symbols[:len(block)]); err != nil {
			panic("internal error: " + err.Error()) // symbol keeps them below 2^b
		}
	}
	return dst
}

// Check makes sure that payload holds the buckets of d coordinates.
func (q *MinMax) Check(d int, payload []byte) error {
	if err := checkLen("minmax", payload, q.Len(d), d); err != nil {
		return err
	}
	for first := 0; first < d; first = bucketEnd(first, q.bucket, d) {
		m := bucketEnd(first, q.bucket, d) - first
		low, high := float32At(payload, 0), float32At(payload, 1)
		if !finite(low) || !finite(high) || low > high {
			return fmt.Errorf("quant: minmax: bucket at %d: no range from %v to %v", first, low, high)
		}
		if err := q.packing.Check(payload[minmaxHeader:q.size(m)], m); err != nil {
			return fmt.Errorf("quant: minmax: bucket at %d: %w", first, err)
		}
		payload = payload[q.size(m):]
	}
	return nil
}

// AddTo adds w times the points of the symbols to acc.
func (q *MinMax) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := q.Check(len(acc), payload); err != nil {
		return err
	}
	var symbols [blockLen]uint16
	for len(acc) > 0 {
		m := bucketEnd(0, q.bucket, len(acc))
		g := between(float32At(payload, 0), float32At(payload, 1), q.packing.Levels())
		packed := payload[minmaxHeader:q.size(m)]
		for at := 0; at < m; at += blockLen {
			n := min(blockLen, m-at)
			from, to := q.packing.Len(at), q.packing.Len(at+n)
			if err := q.packing.Unpack(symbols[:n], packed[from:to]); err != nil {
				return err // Check has seen the padding, nothing else can be wrong
			}
			for i, s := range symbols[:n] {
				acc[at+i] += float32(w * g.value(s))
			}
		}
		acc, payload = acc[m:], payload[q.size(m):]
	}
	return nil
}

// A span is the points between the extremes of a bucket.
type span struct {
	low, high float32
	step      float64 // (max − min)/L, 0 if all values are equal
	top       float64 // L
}

func between(low, high float32, levels int) span {
	top := float64(levels - 1)
	return span{low: low, high: high, step: (float64(high) - float64(low)) / top, top: top}
}

func (g span) symbol(v float32, u float64) uint16 {
	if g.step == 0 {
		return 0
	}
	return uint16(min(g.top, math.Floor((float64(v)-float64(g.low))/g.step+u)))
}

func (g span) value(s uint16) float32 {
	return float32(float64(g.low) + float64(float64(s)*g.step))
}
