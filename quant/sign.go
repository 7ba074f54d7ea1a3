package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Sign keeps the signs of a bucket and its mean magnitude, the scaled sign of
// Karimireddy et al., "Error Feedback Fixes SignSGD", ICML 2019:
//
//	C(z) = (|z|_1/m)·sign(z),  sign(0) = +1.
//
// A bucket is the scale as a float and one bit per coordinate, 1 for +:
// 4 + ⌈m/8⌉ bytes. It is a contraction with ω = |z|_1²/(m·|z|_2²).
type Sign struct {
	packing Packing
	bucket  int
}

// NewSign returns the compressor; a bucket of 0 is the whole vector.
func NewSign(bucket int) (*Sign, error) {
	if err := checkBucket("sign", bucket); err != nil {
		return nil, err
	}
	packing, err := NewPacking(2)
	return &Sign{packing: packing, bucket: bucket}, err
}

// Properties: a contraction.
func (s *Sign) Properties() Properties { return Properties{Contraction: true, Deterministic: true} }

// Len returns the bytes of a payload of d coordinates.
func (s *Sign) Len(d int) int { return bucketsLen(d, s.bucket, s.size) }

// size returns the bytes of a bucket of m coordinates.
func (s *Sign) size(m int) int { return signHeader + s.packing.Len(m) }

const signHeader = 4 // the scale

// Compress appends the buckets of z.
func (s *Sign) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("sign", k, z); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, s.Len(len(z)))
	for len(z) > 0 {
		m := bucketEnd(0, s.bucket, len(z))
		dst = s.append(dst, z[:m])
		z = z[m:]
	}
	return dst, nil
}

func (s *Sign) append(dst []byte, z []float32) []byte {
	sum := 0.0
	for _, v := range z {
		sum += math.Abs(float64(v))
	}
	scale := float32(sum / float64(len(z)))
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(scale))
	start := len(dst)
	dst = dst[:start+s.packing.Len(len(z))]
	bits := dst[start:]
	clear(bits)
	for i, v := range z {
		if v >= 0 {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

// Check makes sure that payload holds the buckets of d coordinates.
func (s *Sign) Check(d int, payload []byte) error {
	if err := checkLen("sign", payload, s.Len(d), d); err != nil {
		return err
	}
	for first := 0; first < d; first = bucketEnd(first, s.bucket, d) {
		m := bucketEnd(first, s.bucket, d) - first
		if scale := float32At(payload, 0); !finite(scale) || scale < 0 {
			return fmt.Errorf("quant: sign: bucket at %d: %v is no scale", first, scale)
		}
		if err := s.packing.Check(payload[signHeader:s.size(m)], m); err != nil {
			return fmt.Errorf("quant: sign: bucket at %d: %w", first, err)
		}
		payload = payload[s.size(m):]
	}
	return nil
}

// AddTo adds w times the scaled signs to acc.
func (s *Sign) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := s.Check(len(acc), payload); err != nil {
		return err
	}
	for len(acc) > 0 {
		m := bucketEnd(0, s.bucket, len(acc))
		up := float32(w * float32At(payload, 0))
		for i, bits := 0, payload[signHeader:]; i < m; i++ {
			if bits[i/8]>>(i%8)&1 == 1 {
				acc[i] += up
			} else {
				acc[i] -= up
			}
		}
		acc, payload = acc[m:], payload[s.size(m):]
	}
	return nil
}
