package quant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// If split is sure of the sides and means, they are those of the definition, and it mostly is sure.
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

// If a crossing is sure, it is the level of the definition, and it mostly is sure.
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

func TestSoonLimitIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z, c := drawVector(t), rapid.Float64Range(0.1, 5).Draw(t, "c")
		if got, sure := soonLimit(z, c); sure && got != clipLimit(z, c) {
			t.Fatalf("limit %v, want %v", got, clipLimit(z, c))
		}
	})
	if _, sure := soonLimit(noise(8192), 2.5); !sure {
		t.Error("that of noise is not sure")
	}
}

func TestBestLevelsAreThoseOfTheDefinition(t *testing.T) {
	var (
		a ascending
		s sorter
	)
	rapid.Check(t, func(t *rapid.T) {
		w := s.sort(drawVector(t))
		a.set(w)
		i := rapid.IntRange(0, len(w)-1).Draw(t, "low")
		j := rapid.IntRange(i, len(w)-1).Draw(t, "high")
		low, high := w[i], w[j]
		var inside []float32
		sum := 0.0
		for _, v := range w {
			if v >= low && v <= high {
				inside = append(inside, v)
				sum += float64(v) - float64(low)
			}
		}
		want := low
		if low < high {
			up := int(math.Floor(sum/(float64(high)-float64(low)) + 1e-12))
			want = inside[min(max(len(inside)-up, 1), len(inside))-1]
		}
		if got := a.best(low, high); got != want {
			t.Fatalf("%v between %v and %v, want %v", got, low, high, want)
		}
	})
}
