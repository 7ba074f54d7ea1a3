package quant

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The level between two others is the best one: no value, in the data or between, has a smaller
// expected error.
func TestORQFindsTheBestLevel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := slices.Clone(vectors(rt))
		slices.Sort(w)
		a, c := w[0], w[len(w)-1]
		risk := func(level float32) (sum float64) {
			var table cells
			table.reset([]float64{float64(a), float64(level), float64(c)}, 1)
			return table.spread(w)
		}
		var levels ascending
		levels.set(w)
		got := risk(levels.best(a, c))
		for i, v := range w {
			for _, other := range []float32{v, v + (w[min(i+1, len(w)-1)]-v)/3} {
				if want := risk(other); got > want*(1+1e-9)+1e-10 {
					rt.Fatalf("level %v has an error of %v, %v one of %v", levels.best(a, c), got, other, want)
				}
			}
		}
	})
}

func TestBinGradPBFindsTheBestLevel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		b, err := NewBinGradPB(0, 1)
		if err != nil {
			rt.Fatal(err)
		}
		got := b.Variance(z)
		for level := range 400 {
			b.level = float64(level) / 100
			if want := b.spread(z); got > want*(1+1e-6)+1e-30 {
				rt.Fatalf("%v has an error of %v, %v one of %v", b.header[0], got, b.level, want)
			}
		}
	})
}

// Lloyd's iteration never increases the error, and ends at a fixed point.
func TestBinGradBByLloydIsAFixedPoint(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		mean, err := NewBinGradB(Mean, 0)
		if err != nil {
			rt.Fatal(err)
		}
		lloyd, err := NewBinGradB(Lloyd, 0)
		if err != nil {
			rt.Fatal(err)
		}
		if a, b := lloyd.Variance(z), mean.Variance(z); a > b*(1+1e-6)+1e-30 {
			rt.Fatalf("error %v by lloyd, %v by the mean", a, b)
		}
		// The means and the level are rounded to float32, so values next to the level belong to either
		// side.
		a, b := float64(lloyd.means[0]), float64(lloyd.means[1])
		tolerance := 1e-6 * max(math.Abs(a), math.Abs(b))
		level := (a + b) / 2
		levels := []float64{level}
		for _, v := range z {
			if v := float64(v); math.Abs(v-level) <= tolerance {
				levels = append(levels, v, math.Nextafter(v, math.Inf(1)))
			}
		}
		if !slices.ContainsFunc(levels, func(level float64) bool {
			low, high := means(z, level)
			return math.Abs(low-a) <= tolerance && math.Abs(high-b) <= tolerance
		}) {
			rt.Fatalf("means %v are no fixed point of %v", lloyd.means, z)
		}
	})
}

func TestLevelsOfBucketsByHand(t *testing.T) {
	tests := []struct {
		name string
		c    Compressor
		z    []float32
		want []float32
		size int
	}{
		// R = (0+1+2+3+10)/10 = 1.6: the level is the fourth of five.
		{"orq on its levels", must(NewORQ(3, 0, 1)), []float32{10, 0, 3, 0}, []float32{10, 0, 3, 0}, 13},
		{"linear_s on the quartiles", must(NewQuantiles(5, 0, 1)), []float32{4, 3, 0, 1, 2}, []float32{4, 3, 0, 1, 2}, 22},
		{"terngrad of one magnitude", must(NewTernGrad(0, 1)), []float32{2, -2, 0, 2}, []float32{2, -2, 0, 2}, 5},
		{"bingrad_b of two values", must(NewBinGradB(Mean, 0)), []float32{3, -1, 3, -1}, []float32{3, -1, 3, -1}, 9},
		{"bingrad_b of a constant", must(NewBinGradB(Lloyd, 2)), []float32{0.3, 0.3, -2}, []float32{0.3, 0.3, -2}, 18},
		{"bingrad_b by lloyd", must(NewBinGradB(Lloyd, 0)), []float32{0, 0, 0, 4, 16}, []float32{1, 1, 1, 1, 16}, 9},
		{"bingrad_pb of one magnitude", must(NewBinGradPB(0, 1)), []float32{1, -1, 1}, []float32{1, -1, 1}, 5},
		{"bingrad_pb saturates", must(NewBinGradPB(0, 1)), []float32{-1, 2}, []float32{-1, 1}, 5},
	}
	for _, test := range tests {
		payload, err := test.c.Compress(nil, 0, test.z)
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded(t, test.c, 0, len(test.z), payload); !slices.Equal(got, test.want) || len(payload) != test.size {
			t.Errorf("%s: %v in %d bytes, want %v in %d", test.name, got, len(payload), test.want, test.size)
		}
	}
	for what, err := range map[string]error{
		"orq of 2":        second(NewORQ(2, 0, 1)),
		"orq of 257":      second(NewORQ(257, 0, 1)),
		"linear_s of 1":   second(NewQuantiles(1, 0, 1)),
		"linear_s of 257": second(NewQuantiles(257, 0, 1)),
		"nu1-bit qsgd":    second(NewNUQSGD(1, 0, L2, Zero, 1)),
		"a bucket":        second(NewTernGrad(-1, 1)),
		"a variant":       second(ParseForm("none")),
		"a rule":          second(ParseThreshold("median")),
	} {
		if err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
}
