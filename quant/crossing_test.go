package quant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Where sums in any order are sure of the sides and means, those are the ones of
// the definition, and they mostly are.
func TestSplitIsTheDefinition(t *testing.T) {
	n, no := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		z := drawVector(t)
		b, err := NewBinGradB(Threshold(rapid.IntRange(0, 1).Draw(t, "threshold")), 0)
		if err != nil {
			t.Fatal(err)
		}
		wantB0, wantLow, wantHigh := b.define(z)
		b0, low, high, sure := b.split(z)
		if n++; !sure {
			no++
			return
		}
		if float32(low) != float32(wantLow) || float32(high) != float32(wantHigh) {
			t.Fatalf("means %v and %v, want %v and %v", low, high, wantLow, wantHigh)
		}
		for i, v := range z {
			if (order(v) >= least(b0)) != (order(v) >= least(wantB0)) {
				t.Fatalf("%v at %d is on another side of %v than of %v", v, i, b0, wantB0)
			}
		}
	})
	if 2*no > n {
		t.Errorf("%d of %d are not sure", no, n)
	}
}

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
