package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// TopK keeps the K coordinates of largest magnitude; among equal ones those with the lowest index
// (Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory", NeurIPS 2018). They are sent as pairs of
// index, uint32, and value, float32, with increasing index: 8K bytes. It is a contraction with ω ≥
// K/d.
type TopK struct {
	k    int
	keys []uint32 // magnitudes that may be the k-th largest
}

// NewTopK returns the compressor that keeps k ≥ 1 coordinates. A vector with
// fewer is refused.
func NewTopK(k int) (*TopK, error) {
	if k < 1 {
		return nil, fmt.Errorf("quant: topk: k %d: must be at least 1", k)
	}
	return &TopK{k: k}, nil
}

// Properties: a contraction.
func (t *TopK) Properties() Properties { return Properties{Contraction: true, Deterministic: true} }

const pairLen = 8 // index and value

// Bits returns 32, as there is no fixed number: most coordinates take no bits.
func (t *TopK) Bits() int { return fullBits }

// Len returns the bytes of a payload, which do not depend on the number of coordinates.
func (t *TopK) Len(int) int { return pairLen * t.k }

// Compress appends the largest coordinates of z.
func (t *TopK) Compress(dst []byte, round int, z []float32) ([]byte, error) {
	if err := checkVector("topk", round, z); err != nil {
		return dst, err
	}
	if err := t.fits(len(z)); err != nil {
		return dst, err
	}
	least, ties := t.threshold(z)
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

// threshold returns the k-th largest magnitude in z, and how many coordinates of that magnitude are
// among the k largest. It finds 11, 10 and 10 bits of it by counting. After the first count, only
// magnitudes with these bits are left.
func (t *TopK) threshold(z []float32) (least uint32, ties int) {
	var counts [1 << 11]int
	for _, v := range z {
		counts[magnitude(v)>>20]++
	}
	first, rest := kth(&counts, 1<<11-1, t.k)
	t.keys = slices.Grow(t.keys[:0], len(z))[:len(z)]
	kept := 0
	for _, v := range z {
		m := magnitude(v)
		t.keys[kept] = m
		kept += equal(m>>20, first)
	}
	keys := t.keys[:kept]
	clear(counts[:])
	for _, m := range keys {
		counts[m>>10&(1<<10-1)]++
	}
	second, rest := kth(&counts, 1<<10-1, rest)
	clear(counts[:])
	for _, m := range keys {
		if m>>10 == first<<10|second {
			counts[m&(1<<10-1)]++
		}
	}
	third, rest := kth(&counts, 1<<10-1, rest)
	return first<<20 | second<<10 | third, rest
}

// kth returns the digit of the k-th largest of the counted magnitudes, with digits up to largest, and
// its place among those with this digit.
func kth(counts *[1 << 11]int, largest uint32, k int) (digit uint32, rest int) {
	for digit = largest; counts[digit] < k; digit-- {
		k -= counts[digit]
	}
	return digit, k
}

// equal returns 1 if a and b are equal, else 0.
func equal(a, b uint32) int { return int((uint64(a^b) - 1) >> 63) }

// Check returns an error unless payload holds K coordinates of d in increasing order.
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

// Bound returns the largest magnitude sent.
func (t *TopK) Bound(_ int, payload []byte) float32 {
	largest := uint32(0)
	for i := range t.k {
		largest = max(largest, magnitude(float32At(payload, 2*i+1)))
	}
	return math.Float32frombits(largest)
}

// AddTo adds w times the sent coordinates to acc.
func (t *TopK) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := t.Check(len(acc), payload); err != nil {
		return err
	}
	for i := range t.k {
		acc[binary.LittleEndian.Uint32(payload[pairLen*i:])] += float32(w * float32At(payload, 2*i+1))
	}
	return nil
}
