package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
)

// QSGD rounds the magnitudes of a bucket to s = 2^(b−1) − 1 equal parts of its
// norm and keeps the signs (Alistarh et al., "QSGD", NeurIPS 2017, section 3.1;
// with the largest magnitude as norm, section 4). With r_c = s·|z_c|/|z|,
//
//	level_c = ⌊r_c⌋ + [u < r_c − ⌊r_c⌋],  u uniform in [0, 1),
//	C(z)_c = |z|·sign(z_c)·level_c/s,  0 where all values are.
//
// That is unbiased, and E |C(z) − z|_2² ≤ q·|z|_2² with q = min(m/s², √m/s), for
// either norm. Multiplied by 1/(1+q) it is a contraction with ω = 1/(1+q).
//
// A bucket is the norm as a float, by which the sender decodes too, and the
// symbols level_c + 2^(b−1)·[z_c < 0 and level_c > 0] as a bit stream:
// 4 + ⌈m·b/8⌉ bytes.
type QSGD struct {
	Scaled bool // multiplied by 1/(1+q): a contraction, no longer unbiased

	packing Packing
	top     uint16 // s
	norm    Norm
	bucket  int
	seed    uint64
}

// A Norm measures a bucket.
type Norm int

const (
	// LInf is the largest magnitude.
	LInf Norm = iota
	// L2 is the Euclidean length.
	L2
)

// ParseNorm returns the norm of that name: l2 or linf.
func ParseNorm(name string) (Norm, error) {
	switch name {
	case "l2":
		return L2, nil
	case "linf":
		return LInf, nil
	}
	return 0, fmt.Errorf("quant: norm %q: must be l2 or linf", name)
}

// of returns the norm of z rounded to float32, which is no less than any
// magnitude in z, and Inf if it exceeds the floats.
func (n Norm) of(z []float32) float32 {
	if n == LInf {
		largest := uint32(0)
		for _, v := range z {
			largest = max(largest, magnitude(v))
		}
		return math.Float32frombits(largest)
	}
	squares := 0.0
	for _, v := range z {
		squares += float64(float64(v) * float64(v))
	}
	return float32(math.Sqrt(squares))
}

// NewQSGD returns the compressor with 2 to 8 bits per coordinate, sign
// included; a bucket of 0 is the whole vector. seed is the worker's own stream,
// rng.Stream(seed, rank).
func NewQSGD(bits, bucket int, norm Norm, seed uint64) (*QSGD, error) {
	if bits < 2 || bits > 8 {
		return nil, fmt.Errorf("quant: qsgd: %d bits: must be 2 to 8", bits)
	}
	if err := checkBucket("qsgd", bucket); err != nil {
		return nil, err
	}
	packing, err := NewPacking(1 << bits)
	return &QSGD{packing: packing, top: 1<<(bits-1) - 1, norm: norm, bucket: bucket, seed: seed}, err
}

// Properties: unbiased, or scaled to a contraction.
func (q *QSGD) Properties() Properties {
	return Properties{Unbiased: !q.Scaled, Contraction: q.Scaled}
}

// Len returns the bytes of a payload of d coordinates.
func (q *QSGD) Len(d int) int { return bucketsLen(d, q.bucket, q.size) }

// size returns the bytes of a bucket of m coordinates.
func (q *QSGD) size(m int) int { return qsgdHeader + q.packing.Len(m) }

const qsgdHeader = 4 // the norm

// Compress appends the buckets of z. A norm beyond the floats is an error.
func (q *QSGD) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("qsgd", k, z); err != nil {
		return dst, err
	}
	start, key := len(dst), rng.At(q.seed, k)
	dst = slices.Grow(dst, q.Len(len(z)))
	for first := 0; first < len(z); first = bucketEnd(first, q.bucket, len(z)) {
		bucket := z[first:bucketEnd(first, q.bucket, len(z))]
		norm := q.norm.of(bucket)
		if !finite(norm) {
			return dst[:start], fmt.Errorf("quant: qsgd: round %d: bucket at %d: its norm is Inf", k, first)
		}
		dst = q.append(dst, bucket, norm, first, key)
	}
	return dst, nil
}

// append appends the bucket z, which begins at coordinate first.
func (q *QSGD) append(dst []byte, z []float32, norm float32, first int, key rng.Key) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(norm))
	var symbols [blockLen]uint16
	for at := 0; at < len(z); at += blockLen {
		block := z[at:min(at+blockLen, len(z))]
		for i, v := range block {
			symbols[i] = q.Symbol(v, norm, float64(key.Uniform(uint32(first+at+i))))
		}
		var err error
		if dst, err = q.packing.Pack(dst, symbols[:len(block)]); err != nil {
			panic("internal error: " + err.Error()) // no level exceeds s
		}
	}
	return dst
}

// Symbol returns that of a coordinate v of a bucket with that norm, |v| ≤ norm,
// for the uniform number u in [0, 1).
func (q *QSGD) Symbol(v, norm float32, u float64) uint16 {
	if norm == 0 {
		return 0
	}
	r := float64(q.top) * math.Abs(float64(v)) / float64(norm)
	below := math.Floor(r)
	level := uint16(below)
	if u < r-below {
		level++
	}
	if v < 0 && level > 0 {
		return level + q.top + 1
	}
	return level
}

// Check makes sure that payload holds the buckets of d coordinates. The symbol
// of −0, which Compress never writes, is a 0.
func (q *QSGD) Check(d int, payload []byte) error {
	if err := checkLen("qsgd", payload, q.Len(d), d); err != nil {
		return err
	}
	for first := 0; first < d; first = bucketEnd(first, q.bucket, d) {
		m := bucketEnd(first, q.bucket, d) - first
		if norm := float32At(payload, 0); !finite(norm) || norm < 0 {
			return fmt.Errorf("quant: qsgd: bucket at %d: %v is no norm", first, norm)
		}
		if err := q.packing.Check(payload[qsgdHeader:q.size(m)], m); err != nil {
			return fmt.Errorf("quant: qsgd: bucket at %d: %w", first, err)
		}
		payload = payload[q.size(m):]
	}
	return nil
}

// AddTo adds w times the points of the symbols to acc.
func (q *QSGD) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := q.Check(len(acc), payload); err != nil {
		return err
	}
	var (
		symbols [blockLen]uint16
		points  [1 << 8]float32 // w·C(z)_c by symbol
	)
	for len(acc) > 0 {
		m := bucketEnd(0, q.bucket, len(acc))
		q.points(&points, w, float32At(payload, 0), m)
		packed := payload[qsgdHeader:q.size(m)]
		for at := 0; at < m; at += blockLen {
			n := min(blockLen, m-at)
			from, to := q.packing.Len(at), q.packing.Len(at+n)
			if err := q.packing.Unpack(symbols[:n], packed[from:to]); err != nil {
				return err // Check has seen the padding, nothing else can be wrong
			}
			for i, s := range symbols[:n] {
				acc[at+i] += points[uint8(s)]
			}
		}
		acc, payload = acc[m:], payload[q.size(m):]
	}
	return nil
}

// points lists w·C(z)_c by symbol for a bucket of m coordinates.
func (q *QSGD) points(dst *[1 << 8]float32, w, norm float32, m int) {
	length := float64(norm)
	if q.Scaled {
		length /= 1 + q.variance(m)
	}
	for level := range q.top + 1 {
		point := float32(w * float32(length*float64(level)/float64(q.top)))
		dst[level], dst[level+q.top+1] = point, -point
	}
}

// variance returns the bound q of a bucket of m coordinates.
func (q *QSGD) variance(m int) float64 {
	s := float64(q.top)
	return min(float64(m)/(s*s), math.Sqrt(float64(m))/s)
}
