package quant

import (
	"gossiptrainer/internal/vec"
	"math"
	"testing"
)

// Decoded values stay within Bound.
func TestNoCoordinateExceedsTheBound(t *testing.T) {
	const d = 300
	z := make([]float32, d)
	for _, size := range []float64{1e-20, 1, 1e20} {
		for i := range z {
			z[i] = float32(size * math.Sin(float64(7*i)))
		}
		for name, c := range zoo(d) {
			payload, err := c.Compress(nil, 3, z)
			if err != nil {
				continue // out of a grid's reach
			}
			decoded := make([]float32, d)
			if err := c.AddTo(decoded, 1, 3, payload); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			largest := vec.MaxAbs(decoded)
			if got := c.Bound(d, payload); !(got >= largest) || float64(got) > size*400+1 {
				t.Errorf("%s: bound %v of values up to %v, made from values up to %v", name, got, largest, size)
			}
		}
	}
}
