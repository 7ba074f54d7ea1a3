package quant

import (
	"math"

	"gossiptrainer/internal/kernel"
)

// Sign keeps the signs of a bucket and its mean magnitude, the scaled sign of
// Karimireddy et al., "Error Feedback Fixes SignSGD", ICML 2019:
//
//	C(z) = (|z|_1/m)·sign(z),  sign(0) = +1.
//
// A bucket is the scale as a float and one bit per coordinate, 1 for +:
// 4 + ⌈m/8⌉ bytes. It is a contraction with ω = |z|_1²/(m·|z|_2²).
type Sign struct {
	bucketed
	points
}

// NewSign returns the compressor; a bucket of 0 is the whole vector.
func NewSign(bucket int) (*Sign, error) {
	s := &Sign{}
	var err error
	s.bucketed, err = newBucketed(design{
		name: "sign", rule: s, properties: Properties{Contraction: true, Deterministic: true},
		floats: 1, levels: 2, size: bucket,
		robust: true, // the gain of a value, 2|z_c|·scale − scale², only grows with |z_c|
	})
	return s, err
}

func (s *Sign) fit(header, z []float32) {
	header[0] = meanMagnitude(z)
}

// meanMagnitude returns |z|_1/m, the sum taken in order, rounded to float32.
func meanMagnitude(z []float32) float32 {
	mean := func(sum float64) float32 { return float32(sum / float64(len(z))) }
	if tier := kernel.Best(); tier != kernel.Off {
		if mean, sure := inAnyOrder(tier.Magnitudes(z), len(z), mean); sure {
			return mean
		}
	}
	sum := 0.0
	for _, v := range z {
		sum += math.Abs(float64(v))
	}
	return mean(sum)
}

func (s *Sign) round(symbols []uint16, z, _ []float32) {
	z = z[:len(symbols)]
	zero := least(0)
	for i, v := range z {
		symbols[i] = uint16(uint64(zero-order(v)-1) >> 63)
	}
}

func (s *Sign) lanes(packed []byte, z []float32, _ int) bool {
	s.vectors.tier.Signs(packed, z, 0)
	return true
}

func (s *Sign) spread(z []float32) float64 {
	scale, total := float64(s.header[0]), 0.0
	for _, v := range z {
		off := math.Abs(float64(v)) - scale
		total += float64(off * off)
	}
	return total
}

func (s *Sign) check(header []float32) error { return checkScale(header) }

func (s *Sign) open(header []float32, w float32) {
	up := float32(w * header[0])
	s.points[0], s.points[1] = -up, up
}
