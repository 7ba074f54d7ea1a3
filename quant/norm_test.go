package quant

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Machines with lanes sum in another order. The result must be that of the order of the coordinates,
// even between two floats.
func TestSumsAreThoseInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := drawVector(t)
		if rapid.Bool().Draw(t, "tie") {
			for i := range z { // their mean lies between two floats
				z[i] = 1 + float32(i%2)*0x1p-23
			}
		}
		sum := 0.0
		for _, v := range z {
			sum += math.Abs(float64(v))
		}
		if got, want := meanMagnitude(z), float32(sum/float64(len(z))); got != want {
			t.Fatalf("mean magnitude %v, want %v", got, want)
		}
		if got, want := L2.of(z), float32(math.Sqrt(squaredLength(z))); got != want {
			t.Fatalf("length %v, want %v", got, want)
		}
	})
}

func TestATieIsNotSettledInAnyOrder(t *testing.T) {
	identity := func(v float64) float32 { return float32(v) }
	if _, sure := inAnyOrder(1+0x1p-24, 1, identity); sure {
		t.Error("the middle of two floats was settled")
	}
	if v, sure := inAnyOrder(1.5, 1<<20, identity); !sure || v != 1.5 {
		t.Errorf("1.5 gives %v, settled %v", v, sure)
	}
}
