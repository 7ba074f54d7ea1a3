package kernel

import "math"

// Magnitude returns the largest bits of |x_i| among the coordinates, 0 if there
// are none. Without their signs floats are ordered like their bits: NaN, then
// Inf, then the numbers.
func (t Tier) Magnitude(x []float32) uint32 {
	var lanes [16]uint32
	n := 0
	switch t {
	case AVX512:
		n = len(x) &^ 63
		magnitudeAVX512(x[:n], &lanes)
	case AVX2:
		n = len(x) &^ 31
		magnitudeAVX2(x[:n], &lanes)
	}
	most := uint32(0)
	for _, m := range lanes {
		most = max(most, m)
	}
	for _, v := range x[n:] {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return most
}
