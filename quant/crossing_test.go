package quant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Where a crossing is sure, it is the level of the definition, and it mostly is.
func TestCrossingIsTheDefinition(t *testing.T) {
	var (
		c     crossing
		s     sorter
		n, no int
	)
	rapid.Check(t, func(t *rapid.T) {
		z := drawVector(t)
		sizes := make([]float32, len(z))
		for i, v := range z {
			sizes[i] = math.Float32frombits(magnitude(v))
		}
		want := float32(saturation(s.sort(sizes)))
		got, sure := c.level(z)
		if n++; !sure {
			no++
		} else if got != want {
			t.Fatalf("level %v, want %v", got, want)
		}
	})
	if 2*no > n {
		t.Errorf("%d levels of %d are not sure", no, n)
	}
	if _, sure := c.level(noise(8192)); !sure {
		t.Error("that of noise is not sure")
	}
}
