package kernel

import (
	"fmt"
	"testing"
	"time"
)

// layers are the convolutions of ResNet-20 and the dense layer of an MLP, on
// eight images.
var layers = []struct {
	name string
	windowCase
}{
	{"16ch 32x32", windowCase{1, 32, 32, 16, 3, 1, 16}},
	{"32ch 16x16", windowCase{2, 16, 16, 32, 3, 1, 32}},
	{"64ch 8x8", windowCase{8, 8, 8, 64, 3, 1, 64}},
	{"3ch 32x32", windowCase{1, 32, 32, 3, 3, 1, 16}},
	{"dense 784-256", windowCase{1, 1, 128, 784, 1, 1, 256}},
}

// share alternately measures the multiply-adds per second of work and of the tier's peak, and reports
// the best of each.
func share(b *testing.B, tier Tier, perCall int, work func()) {
	best, peak := 0.0, 0.0
	for b.Loop() {
		start := time.Now()
		n := tier.MultiplyAdds(1 << 20)
		peak = max(peak, float64(n)/time.Since(start).Seconds())
		start = time.Now()
		const calls = 8
		for range calls {
			work()
		}
		best = max(best, calls*float64(perCall)/time.Since(start).Seconds())
	}
	b.ReportMetric(2*best/1e9, "GFLOP/s")
	if peak > 0 {
		b.ReportMetric(100*best/peak, "%peak")
	}
}

// BenchmarkMomentum compares the momentum of units whose gradient has been 0 for long with that of others. Subnormal
// numbers would make it many times as slow.
func BenchmarkMomentum(b *testing.B) {
	const params, rounds, mu = 266_610, 1000, 0.9
	for _, tier := range Available() {
		b.Run(tier.String(), func(b *testing.B) {
			none, dead, g, m := make([]float32, params), numbers(params, 1), numbers(params, 2), numbers(params, 3)
			for range rounds {
				tier.Momentum(none, dead, mu)
				clear(none)
			}
			took := func(g, m []float32) time.Duration {
				start := time.Now()
				tier.Momentum(g, m, mu)
				return time.Since(start)
			}
			longest := time.Duration(1<<63 - 1)
			dying, living := longest, longest
			for b.Loop() {
				clear(none)
				dying, living = min(dying, took(none, dead)), min(living, took(g, m))
			}
			b.ReportMetric(float64(living.Nanoseconds())/params, "ns/param")
			b.ReportMetric(float64(dying)/float64(living), "dead/living")
		})
	}
}

func BenchmarkConvolve(b *testing.B) {
	for _, l := range layers {
		in, w, f, quads := l.build()
		pixels := l.images * l.h * l.w
		out := make([]float32, pixels*l.channels)
		for _, tier := range Available() {
			b.Run(fmt.Sprintf("%s/%v", l.name, tier), func(b *testing.B) {
				share(b, tier, pixels*w.Rows*w.Len*l.channels, func() { tier.Convolve(out, in, w, f, quads) })
			})
		}
	}
}

func BenchmarkOuter(b *testing.B) {
	for _, l := range layers {
		in, win, _, _ := l.build()
		dy := numbers(l.images*l.h*l.w*l.channels, 1)
		wide, high := (l.w-1)*l.step+l.k, (l.h-1)*l.step+l.k
		w := Walk{
			Count: [3]int{l.images, l.h, l.w},
			StepA: [3]int{wide * high * l.c, l.step * wide * l.c, l.step * l.c},
			StepB: [3]int{l.h * l.w * l.channels, l.w * l.channels, l.channels},
		}
		var quads []Quad
		for r := range win.Rows {
			for j := 0; j < win.Len; j += 4 {
				first := max(0, min(j, win.Len-4))
				quads = append(quads, Quad{In: r*win.Step + first, Out: (r*win.Len + first) * l.channels})
			}
		}
		sums := make([]float32, win.Rows*win.Len*l.channels)
		for _, tier := range Available() {
			b.Run(fmt.Sprintf("%s/%v", l.name, tier), func(b *testing.B) {
				share(b, tier, l.images*l.h*l.w*win.Rows*win.Len*l.channels, func() {
					tier.Outer(sums, in, dy, Products{l.channels, quads, &w})
				})
			})
		}
	}
}
