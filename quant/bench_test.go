package quant

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// field returns every compressor with the settings of a run.
func field() map[string]Compressor {
	const bucket = 8192
	return map[string]Compressor{
		"full":            Full{},
		"linear":          must(NewLinear(0.01, Stochastic, 1)),
		"minmax/8":        must(NewMinMax(8, bucket, Nearest, 1)),
		"qsgd/4":          must(NewQSGD(4, bucket, LInf, 1)),
		"qsgd/8":          must(NewQSGD(8, bucket, LInf, 1)),
		"terngrad":        clipping(2.5, must(NewTernGrad(bucket, 1))),
		"nuqsgd/4":        must(NewNUQSGD(4, bucket, L2, Zero, 1)),
		"nuqsgd/4/sym":    must(NewNUQSGD(4, bucket, L2, Symmetric, 1)),
		"nuqsgd/4/scaled": scaled(NewNUQSGD(4, bucket, L2, Zero, 1)),
		"nuqsgd/8":        must(NewNUQSGD(8, bucket, L2, Zero, 1)),
		"alq/4":           must(NewAdaptive(AdaptiveOptions{Bits: 4, Bucket: bucket}, 1)), // by the largest magnitude, with 0
		"alq/4/fitting":   adaptive(ALQ, 4, bucket, LInf, Zero),                           // in every round
		"amq/4":           must(NewAdaptive(AdaptiveOptions{Fit: AMQ, Bits: 4, Bucket: bucket, Form: Symmetric}, 1)),
		"amq/4/fitting":   adaptive(AMQ, 4, bucket, LInf, Symmetric),
		"orq/3":           must(NewORQ(3, bucket, 1)),
		"orq/9":           must(NewORQ(9, bucket, 1)),
		"orq/9/all":       must(NewORQ(9, 0, 1)),
		"linear_s/9":      must(NewQuantiles(9, bucket, 1)),
		"bingrad_pb":      must(NewBinGradPB(bucket, 1)),
		"bingrad_b/mean":  must(NewBinGradB(Mean, bucket)),
		"bingrad_b/lloyd": must(NewBinGradB(Lloyd, bucket)),
		"sign":            must(NewSign(bucket)),
		"topk":            must(NewTopK(benchDim / 100)),
		"randomk":         must(NewRandomK(benchDim/100, AsIs, 1)),
	}
}

const benchDim = 1 << 20

// noise returns a vector whose coordinates are distributed like those of gradients: many small, few
// large.
func noise(d int) []float32 {
	z, state := make([]float32, d), uint64(1)
	for i := range z {
		sum := 0.0
		for range 4 {
			state = state*6364136223846793005 + 1442695040888963407
			sum += float64(state>>11)/(1<<53) - 0.5
		}
		z[i] = float32(sum * sum * sum)
	}
	return z
}

// against alternates work with a copy of as many floats, and reports the time of work in copies.
func against(b *testing.B, work func()) {
	src, dst := noise(benchDim), make([]float32, benchDim)
	var working, copying time.Duration
	for b.Loop() {
		begin := time.Now()
		work()
		middle := time.Now()
		copy(dst, src)
		working += middle.Sub(begin)
		copying += time.Since(middle)
	}
	b.ReportMetric(float64(working)/float64(copying), "×copy")
	b.ReportMetric(float64(working)/float64(b.N)/benchDim, "ns/param")
}

func BenchmarkCompress(b *testing.B) {
	z := noise(benchDim)
	for _, name := range slices.Sorted(maps.Keys(field())) {
		c, payload := field()[name], []byte(nil)
		b.Run(name, func(b *testing.B) {
			against(b, func() { payload, _ = c.Compress(payload[:0], 0, z) })
		})
	}
}

func BenchmarkAddTo(b *testing.B) {
	z, acc := noise(benchDim), make([]float32, benchDim)
	for _, name := range slices.Sorted(maps.Keys(field())) {
		c := field()[name]
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			against(b, func() { _ = c.AddTo(acc, 0.5, 0, payload) })
		})
	}
}
