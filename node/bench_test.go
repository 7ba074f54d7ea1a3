package node

import (
	"fmt"
	"testing"
)

// BenchmarkRound measures a full-precision round of all workers of a ring, over real sockets and with
// a gradient that costs nothing.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct{ n, dim int }{{8, 25_000}, {4, 270_000}} {
		b.Run(fmt.Sprintf("ring of %d, %d parameters", c.n, c.dim), func(b *testing.B) {
			job := task{n: c.n, dim: c.dim, rounds: b.N}
			nodes := newCluster(b, c.n, c.dim, nil)
			b.ReportAllocs()
			b.ResetTimer()
			finals, errs := nodes.run(b, b.Context(), job)
			b.StopTimer()
			for i, err := range errs {
				if err != nil {
					b.Fatalf("worker %d: %v", i, err)
				}
			}
			b.ReportMetric(float64(finals[0].Sent.Wire)/float64(finals[0].Sent.Payload), "wire/payload")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
		})
	}
}
