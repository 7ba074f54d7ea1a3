package registry

import (
	"bytes"
	"slices"
	"testing"

	"gossiptrainer/quant"
)

// clipping returns settings with which a compressor that clips can be built.
func clipping(c Compressor, bucket int) CompressorSettings {
	s := CompressorSettings{Name: c.Name, Bucket: bucket, Bits: 4, Variant: "zero", Norm: "linf",
		Mode: "stochastic", Rule: "mean", Table: []float64{0, 0.1, 0.4, 1}, RefitAt: []int{0}}
	if c.Name == "amq" || c.Name == "amqn" {
		s.Variant = "sym"
	}
	if c.Name == "bingrad_b" {
		s.Rule = "lloyd"
	}
	return s
}

// A bucket without deviation, of one coordinate or of equal ones, is compressed as without clipping: with a limit of 0
// its coordinates would never move.
func TestClippingLeavesBucketsWithoutDeviation(t *testing.T) {
	constant := func(n int, v float32) []float32 { return slices.Repeat([]float32{v}, n) }
	alternating := []float32{-1, 1, -1, 1, -1, 1} // |v| = σ: not clipped at 2.5
	vectors := map[string]struct {
		bucket int
		z      []float32
	}{
		"one coordinate":                  {0, []float32{-0.3}},
		"a last bucket of one coordinate": {6, append(slices.Clone(alternating), 0.25)},
		"buckets of one coordinate":       {1, []float32{3, -1e-30, 0, 1e30}},
		"a constant bucket":               {0, constant(3000, 0.1)},
		"constant buckets":                {4, append(constant(4, -1.7), constant(5, 1e-20)...)},
		"a constant last bucket":          {6, append(slices.Clone(alternating), 7, 7)},
		"denormal numbers":                {3, constant(5, 1e-44)},
	}
	clippers := 0
	for _, c := range compressors {
		if !c.Has("clip") {
			continue
		}
		clippers++
		for name, v := range vectors {
			made := func(clip float64) quant.Compressor {
				s := clipping(c, v.bucket)
				s.Clip = clip
				one, err := New(s, len(v.z), 7)
				if err != nil {
					t.Fatal(c.Name, err)
				}
				return one
			}
			want, err := made(0).Compress(nil, 0, v.z)
			if err != nil {
				t.Fatal(c.Name, err)
			}
			got, err := made(2.5).Compress(nil, 0, v.z)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s: % x with clipping, % x without (%v)", c.Name, name, ends(got), ends(want), err)
			}
		}
	}
	if clippers < 10 {
		t.Errorf("%d compressors clip", clippers)
	}
}

// ends shortens a payload for a message.
func ends(b []byte) []byte { return b[max(0, len(b)-24):] }
