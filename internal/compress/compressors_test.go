package compress

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/configs"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
)

// drawSettings draws settings of the named compressor, also of keys that have no effect on it.
func drawSettings(t *rapid.T, name string, d int) configs.Compressor {
	c := configs.Default().Algorithm.Compressor
	c.Name = name
	c.Bits = rapid.IntRange(2, 8).Draw(t, "bits")
	c.Levels = rapid.SampledFrom([]int{0, 3, 5, 6, 9, 17, 18}).Draw(t, "levels")
	c.Variant = rapid.SampledFrom([]string{"zero", "sym"}).Draw(t, "variant")
	if row, _ := registry.FindCompressor(name); row.Check != nil {
		if setting, _ := row.Check(registry.CompressorSettings(c)); setting == "levels" {
			c.Levels = 0
		}
	}
	c.Table = map[string][]float64{"zero": {0, 0.1, 0.3, 1}, "sym": {-1, -0.2, 0.1, 1}}[c.Variant]
	c.Rule = rapid.SampledFrom([]string{"mean", "lloyd"}).Draw(t, "rule")
	c.Mode = rapid.SampledFrom([]string{"nearest", "stochastic"}).Draw(t, "mode")
	c.Step = rapid.SampledFrom([]float64{1, 1e-3}).Draw(t, "step")
	c.K = rapid.IntRange(1, max(1, d)).Draw(t, "k")
	c.Norm = rapid.SampledFrom([]string{"l2", "linf"}).Draw(t, "norm")
	c.Bucket = rapid.SampledFrom([]int{0, 1, 7, 64, 1000}).Draw(t, "bucket")
	c.Clip = rapid.SampledFrom([]float64{0, 0, 0.5, 2.5}).Draw(t, "clip")
	c.Scaled = rapid.Bool().Draw(t, "scaled")
	c.RefitAt, c.RefitEvery = []int{0, 3}, 2
	return c
}

// plainer removes settings that this compressor does not support.
func plainer(c configs.Compressor) []configs.Compressor {
	unscaled, unclipped := c, c
	unscaled.Scaled, unclipped.Clip = false, 0
	neither := unscaled
	neither.Clip = 0
	return []configs.Compressor{c, unscaled, unclipped, neither}
}

// drawAwkward draws a vector of 0 to 3000 coordinates: zeros, constants, one outlier, denormals, and values on the
// borders of levels.
func drawAwkward(t *rapid.T) []float32 {
	d := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 3000)).Draw(t, "d")
	shape := rapid.SampledFrom([]string{"any", "zeros", "constant", "outlier", "denormal", "grid"}).Draw(t, "shape")
	key, z := rng.At(rapid.Uint64().Draw(t, "z"), 0), make([]float32, d)
	for i := range z {
		v := 2*key.Uniform(uint32(i)) - 1
		switch shape {
		case "zeros":
			v *= 0 // of both signs
		case "constant":
			v = -0.7
		case "denormal":
			v *= 1e-43
		case "grid":
			v = float32(math.Round(float64(4*v))) / 4
		}
		z[i] = v
	}
	if shape == "outlier" && d > 0 {
		z[d/2] = -1e6
	}
	return z
}

// Every receiver decodes a payload to the sender's vector, bit for bit, whatever both have sent before. This holds for
// every compressor in run files.
func TestEveryCompressorDecodesToTheSendersVector(t *testing.T) {
	for _, name := range registry.CompressorNames("") {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				z, k := drawAwkward(t), rapid.IntRange(0, 9).Draw(t, "k")
				sender, receiver := pair(t, name, len(z))
				if row, _ := registry.FindCompressor(name); row.Has("k") && len(z) == 0 {
					if _, err := sender.Compress(nil, k, z); err == nil {
						t.Fatal("coordinates of none")
					}
					return
				}
				payload, err := sender.Compress([]byte{7}, k, z)
				if err != nil || payload[0] != 7 || len(payload) != 1+sender.Len(len(z)) {
					t.Fatalf("%d bytes for %d, %v", len(payload)-1, sender.Len(len(z)), err)
				}
				own, theirs := decode(t, sender, len(z), k, payload[1:]), decode(t, receiver, len(z), k, payload[1:])
				bound := sender.Bound(len(z), payload[1:])
				for i, v := range own {
					if math.Float32bits(v) != math.Float32bits(theirs[i]) || !(float32(math.Abs(float64(v))) <= bound) {
						t.Fatalf("coordinate %d: %v at the sender, %v at the receiver, bound %v", i, v, theirs[i], bound)
					}
				}
				refuses(t, sender, z, k)
			})
		})
	}
}

// pair returns the compressor of a sender, and that of a receiver that has already decoded another vector.
func pair(t *rapid.T, name string, d int) (sender, receiver quant.Compressor) {
	for _, c := range plainer(drawSettings(t, name, d)) {
		var err error
		if sender, err = New(c, d, 5); err != nil {
			continue
		}
		if receiver, err = New(c, d, 5); err != nil {
			t.Fatal(err)
		}
		if d > 0 {
			other := make([]float32, d)
			other[d-1] = 3
			payload, err := receiver.Compress(nil, 0, other)
			if err != nil {
				t.Fatal(err)
			}
			decode(t, receiver, d, 0, payload)
		}
		return sender, receiver
	}
	t.Fatalf("no settings with which there is %s", name)
	return nil, nil
}

func decode(t *rapid.T, c quant.Compressor, d, k int, payload []byte) []float32 {
	out := make([]float32, d)
	if err := c.AddTo(out, 1, k, bytes.Clone(payload)); err != nil {
		t.Fatal(err)
	}
	return out
}

// refuses makes sure that a vector with a NaN or infinite coordinate is refused, and that nothing is written.
func refuses(t *rapid.T, c quant.Compressor, z []float32, k int) {
	if len(z) == 0 {
		return
	}
	bad := slices.Clone(z)
	inf := float32(math.Inf(1))
	bad[rapid.IntRange(0, len(z)-1).Draw(t, "at")] = rapid.SampledFrom([]float32{inf, -inf, inf - inf}).Draw(t, "bad")
	if got, err := c.Compress([]byte{7}, k, bad); err == nil || len(got) != 1 {
		t.Fatalf("%d bytes of what is no number, %v", len(got), err)
	}
}
