package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// TopK keeps the K coordinates of largest magnitude, of equal ones those with
// the lowest index (Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory",
// NeurIPS 2018). They are sent as pairs of index, uint32, and value, float32,
// with increasing index: 8K bytes. It is a contraction with ω ≥ K/d.
type TopK struct{ k int }

// NewTopK returns the compressor that keeps k ≥ 1 coordinates. A vector with
// fewer is refused.
func NewTopK(k int) (*TopK, error) {
	if k < 1 {
		return nil, fmt.Errorf("quant: topk: k %d: must be at least 1", k)
	}
	return &TopK{k}, nil
}

// Properties: a contraction.
func (t *TopK) Properties() Properties { return Properties{Contraction: true, Deterministic: true} }

const pairLen = 8 // index and value

// Len returns the bytes of a payload, whatever the number of coordinates.
func (t *TopK) Len(int) int { return pairLen * t.k }

// Compress appends the largest coordinates of z.
func (t *TopK) Compress(dst []byte, round int, z []float32) ([]byte, error) {
	if err := checkVector("topk", round, z); err != nil {
		return dst, err
	}
	if err := t.fits(len(z)); err != nil {
		return dst, err
	}
	least, ties := threshold(z, t.k)
	dst = slices.Grow(dst, pairLen*t.k)
	for c, v := range z {
		m := magnitude(v)
		if m < least || m == least && ties == 0 {
			continue
		}
		if m == least {
			ties--
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

func (t *TopK) fits(d int) error {
	if t.k > d {
		return fmt.Errorf("quant: topk: k %d: a vector has only %d coordinates", t.k, d)
	}
	return nil
}

// magnitude returns |v| as bits, which are ordered like the numbers.
func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }

// threshold returns the magnitude of the k-th largest of z, and how many of
// that magnitude are among the k largest. It finds 11, 10 and 10 bits of it in
// three passes, by counting.
func threshold(z []float32, k int) (least uint32, ties int) {
	var counts [1 << 11]int
	rest := k
	for _, digit := range [3]struct{ low, width uint }{{20, 11}, {10, 10}, {0, 10}} {
		clear(counts[:])
		above := digit.low + digit.width
		for _, v := range z {
			if m := magnitude(v); m>>above == least>>above {
				counts[m>>digit.low&(1<<digit.width-1)]++
			}
		}
		bucket := uint32(1<<digit.width - 1)
		for counts[bucket] < rest {
			rest -= counts[bucket]
			bucket--
		}
		least |= bucket << digit.low
	}
	return least, rest
}

// Check makes sure that payload holds K coordinates of d in increasing order.
func (t *TopK) Check(d int, payload []byte) error {
	if err := t.fits(d); err != nil {
		return err
	}
	if err := checkLen("topk", payload, pairLen*t.k, d); err != nil {
		return err
	}
	next := 0
	for i := range t.k {
		index := int(binary.LittleEndian.Uint32(payload[pairLen*i:]))
		if index < next || index >= d {
			return fmt.Errorf("quant: topk: index %d at %d: must be %d to %d", index, i, next, d-1)
		}
		if !finite(float32At(payload, 2*i+1)) {
			return fmt.Errorf("quant: topk: coordinate %d is NaN or Inf", index)
		}
		next = index + 1
	}
	return nil
}

// Bound returns the largest magnitude that was sent.
func (t *TopK) Bound(_ int, payload []byte) float32 {
	largest := uint32(0)
	for i := range t.k {
		largest = max(largest, magnitude(float32At(payload, 2*i+1)))
	}
	return math.Float32frombits(largest)
}

// AddTo adds w times the coordinates sent to acc.
func (t *TopK) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := t.Check(len(acc), payload); err != nil {
		return err
	}
	for i := range t.k {
		acc[binary.LittleEndian.Uint32(payload[pairLen*i:])] += float32(w * float32At(payload, 2*i+1))
	}
	return nil
}
