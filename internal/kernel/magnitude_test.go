package kernel

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestMagnitudeSeesEveryCoordinate(t *testing.T) {
	for _, tier := range Available() {
		for _, n := range []int{0, 1, 31, 32, 63, 64, 65, 130, 200} {
			x := random(3, n)
			for i := range x {
				for _, v := range []float32{-7, 7, float32(math.Inf(-1)), float32(math.NaN()), -float32(math.NaN())} {
					old := x[i]
					x[i] = v
					if got := tier.Magnitude(x); got != math.Float32bits(v)&^(1<<31) {
						t.Fatalf("%v: %v at %d of %d: %#x", tier, v, i, n, got)
					}
					bytes := make([]byte, 1, 4*n+1)
					for _, v := range x {
						bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
					}
					if got := tier.MagnitudeLE(bytes[1:]); got != math.Float32bits(v)&^(1<<31) {
						t.Fatalf("%v: %v at %d of %d floats as bytes: %#x", tier, v, i, n, got)
					}
					x[i] = old
				}
			}
			if got := math.Float32frombits(tier.Magnitude(x)); n > 0 && !(got > 0 && got <= 0.5) {
				t.Errorf("%v: %v of %d numbers below 1/2", tier, got, n)
			}
		}
	}
}
