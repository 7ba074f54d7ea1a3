package compress

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
)

// BenchmarkAgainstMoniqua compares every compressor that has a number of bits with the modulo codec of the same bits.
// It measures the time to encode a gradient, and to add a message to a vector, as multiples of the codec's. Both are
// measured in turn, and the shortest times count.
func BenchmarkAgainstMoniqua(b *testing.B) {
	const d = 1 << 18
	z := heavy(d)
	for _, name := range registry.CompressorNames("") {
		for _, c := range widths(name) {
			made, err := New(c, d, 1)
			if err != nil {
				b.Fatal(err)
			}
			bits := made.Bits()
			codec, err := moniqua.New(1<<bits, moniqua.Dither, func(int) float64 { return 0.2 }, 1, 0)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", name, bits), func(b *testing.B) { compare(b, made, codec, z) })
		}
	}
}

// widths returns the settings of a compressor by its bits, with buckets of 8192; none if it has no number of bits.
func widths(name string) (all []configs.Compressor) {
	c := configs.Default().Algorithm.Compressor
	c.Name, c.Bucket, c.RefitAt = name, 8192, []int{0}
	if row, _ := registry.FindCompressor(name); !row.Has("bits") {
		if made, err := New(c, 1, 1); err == nil && made.Bits() == 1 {
			all = append(all, c)
		}
		return all
	}
	for bits := 2; bits <= 8; bits++ {
		c.Bits = bits
		all = append(all, c)
	}
	return all
}

// heavy returns d numbers spread like the coordinates of gradients: many small
// ones, few large.
func heavy(d int) []float32 {
	key, z := rng.At(3, 0), make([]float32, d)
	for i := range z {
		sum := 0.0
		for j := range 4 {
			sum += float64(key.Uniform(uint32(4*i+j))) - 0.5
		}
		z[i] = float32(math.Pow(sum, 3) / 8)
	}
	return z
}

// compare reports the ratios of a compressor to a codec.
func compare(b *testing.B, made quant.Compressor, codec *moniqua.Codec, z []float32) {
	acc := slices.Clone(z)
	payload, err := made.Compress(nil, 0, z)
	if err != nil {
		b.Fatal(err)
	}
	own, err := codec.Encode(nil, 0, z)
	if err != nil {
		b.Fatal(err)
	}
	in := []algos.Message{{From: 1, Weight: 0.25, Payload: own}}
	var least [4]time.Duration
	clock := func(i int, work func() error) {
		begin := time.Now()
		if err := work(); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(begin); least[i] == 0 || took < least[i] {
			least[i] = took
		}
	}
	for b.Loop() {
		clock(0, func() (err error) { payload, err = made.Compress(payload[:0], 1, z); return err })
		clock(1, func() (err error) { own, err = codec.Encode(own[:0], 0, z); return err })
		clock(2, func() error { return made.AddTo(acc, 0.25, 1, payload) })
		clock(3, func() error { _, err := codec.Mix(acc, 0, z, own, in); return err })
	}
	b.ReportMetric(float64(least[0])/float64(least[1]), "encode/codec")
	b.ReportMetric(float64(least[2])/float64(least[3]), "decode/codec")
	b.ReportMetric(float64(least[0])/float64(len(z)), "ns/encode")
	b.ReportMetric(float64(least[2])/float64(len(z)), "ns/decode")
}
