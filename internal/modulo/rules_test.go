package modulo

import (
	"math"
	"testing"
)

func TestPortableRoundsUp(t *testing.T) {
	for _, exact := range []float64{1, 0.1, 1e-3, math.Pi, 1e-40} {
		got := portable(func(int) float64 { return exact })(0)
		if got < exact || got > exact*(1+1e-6)+1e-44 || float64(float32(got)) != got {
			t.Errorf("%v becomes %v, want the next float32", exact, got)
		}
	}
}
