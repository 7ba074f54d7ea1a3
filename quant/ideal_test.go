package quant

import (
	"math"
	"testing"
)

func TestIdealBits(t *testing.T) {
	// Four symbols in buckets of two: half of them 1, half 0.
	z := []float32{2, 0, 0, 5}
	for name, test := range map[string]struct {
		c interface {
			Compressor
			IdealBits(d int, payload []byte) (float64, error)
		}
		want float64
	}{
		"qsgd":   {must(NewQSGD(3, 2, LInf, 0)).(*QSGD), 2*32 + 4},
		"minmax": {must(NewMinMax(8, 2, Nearest, 0)).(*MinMax), 2*64 + 4},
		"alq":    {adaptive(ALQ, 3, 2, LInf, Zero), 2*32 + 4 + 2*32},
	} {
		payload, err := test.c.Compress(nil, 1, z)
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.c.IdealBits(len(z), payload)
		if err != nil || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
		if _, err := test.c.IdealBits(len(z)+1, payload); err == nil {
			t.Errorf("%s: a payload of another length is accepted", name)
		}
	}
}

// Coding cannot be worse than packing, except for the fraction of a byte at the end of a bucket.
func TestIdealBitsAreAtMostThePackedBits(t *testing.T) {
	z := gaussian(5000)
	for name, c := range zoo(len(z)) {
		ideal, ok := c.(interface {
			IdealBits(d int, payload []byte) (float64, error)
		})
		if !ok {
			continue
		}
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ideal.IdealBits(len(z), payload); err != nil || got <= 0 || got > float64(8*len(payload)) {
			t.Errorf("%s: %v bits of %d: %v", name, got, 8*len(payload), err)
		}
	}
}
