package algos

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Full carries models in full precision: 4 bytes per parameter, IEEE 754
// binary32, little-endian, in the order of the vector. What is recovered is
// what was sent: x̂ = x.
type Full struct{}

var _ Codec = Full{}

// Encode appends 4·len(x) bytes. On error dst is returned as it was.
func (Full) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	dst, err := appendFloats(dst, x)
	if err != nil {
		return dst, fmt.Errorf("full: round %d: %w", k, err)
	}
	return dst, nil
}

// block is the number of coordinates mixed at a time: the three scratch
// vectors of a block stay in the first-level cache.
const block = 1024

// Mix adds Σ_j w_j·(x_j − x) to acc. Both ends of an edge add exact negatives
// of each other. The own payload is not needed.
func (Full) Mix(acc []float32, _ int, x []float32, _ []byte, in []Message) (Mixed, error) {
	for _, m := range in {
		if err := checkFloats(m, len(x)); err != nil {
			return Mixed{}, err
		}
	}
	var (
		sums  [block]float32 // Σ_j w_j·(x_j − x)
		farth [block]uint32  // max_j |x_j − x| as bits, which are ordered like the numbers
		gap   uint32
		moved int
	)
	for lo := 0; lo < len(x); lo += block {
		hi := min(lo+block, len(x))
		sum, far := sums[:hi-lo], farth[:hi-lo]
		clear(sum)
		clear(far)
		for _, m := range in {
			addDifferences(sum, far, m.Weight, x[lo:hi], m.Payload[4*lo:4*hi])
		}
		for c, s := range sum {
			acc[lo+c] += s
			gap = max(gap, far[c])
			if far[c] != 0 {
				moved++
			}
		}
	}
	return Mixed{Gap: math.Float32frombits(gap), Moved: moved}, nil
}

// addDifferences adds w·(y − x) to sum and raises far to |y − x|, where y are
// the floats in payload.
func addDifferences(sum []float32, far []uint32, w float32, x []float32, payload []byte) {
	sum, far, payload = sum[:len(x)], far[:len(x)], payload[:4*len(x)]
	for c, v := range x {
		diff := math.Float32frombits(binary.LittleEndian.Uint32(payload[4*c:])) - v
		sum[c] += float32(w * diff)
		far[c] = max(far[c], math.Float32bits(diff)&^(1<<31))
	}
}
