package node

import (
	"math"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/stats"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// BenchmarkMixTogether decides whether mixing the pieces of a message on two cores helps. Two workers of 25 million
// coordinates at 8 bits have each other's messages when the gradient comes. Worker 0 mixes on one core and on two, in
// turns, and worker 1 waits: the process has the machine for itself. Ratios below 1 speak for two cores.
func BenchmarkMixTogether(b *testing.B) {
	const dim = 25_000_000
	g, err := topology.New(topology.Spec{Kind: topology.Path, N: 2, Slack: 1})
	if err != nil {
		b.Fatal(err)
	}
	var workers [2]*gossip.Worker
	for i := range workers {
		rank := topology.Rank(i)
		codec, err := moniqua.New(256, moniqua.Dither, func(int) float64 { return 1 }, 1, rank)
		if err != nil {
			b.Fatal(err)
		}
		codec.Verify = true
		x := make([]float32, dim)
		for c := range x {
			x[c] = float32(math.Sin(float64(c))) + 0.1*float32(i)
		}
		rule := &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0 }, Codec: codec}
		if workers[i], err = gossip.New(rank, g.Sequence(rank), rule, 2*b.N+2); err != nil {
			b.Fatal(err)
		}
	}
	gradient := make([]float32, dim)
	var alone, both, ratios []float64
	for turn := range 2*b.N + 2 {
		exchangeFrames(b, workers)
		lanes := 1 + turn%2
		workers[0].Use(func(parts int, work func(part int)) {
			machine.Do(lanes, parts, func(_, part int) { work(part) })
		})
		began := time.Now()
		if err := workers[0].Gradient(gradient, 1, 0); err != nil {
			b.Fatal(err)
		}
		took := time.Since(began).Seconds()
		if err := workers[1].Gradient(gradient, 1, 0); err != nil {
			b.Fatal(err)
		}
		switch {
		case turn < 2: // warms up
		case lanes == 1:
			alone = append(alone, took)
		default:
			both = append(both, took)
			ratios = append(ratios, took/alone[len(alone)-1])
		}
	}
	b.ReportMetric(1e3*stats.Median(alone), "ms/one-core")
	b.ReportMetric(1e3*stats.Median(both), "ms/two-cores")
	b.ReportMetric(stats.Median(ratios), "two/one")
	b.ReportMetric(0, "ns/op")
}

// exchangeFrames hands all frames of two workers over.
func exchangeFrames(b *testing.B, workers [2]*gossip.Worker) {
	for more := true; more; {
		more = false
		for _, w := range workers {
			r := w.Ready()
			if r.Failed != nil {
				b.Fatal(r.Failed)
			}
			for _, f := range r.Send {
				f.Payload = slices.Clone(f.Payload)
				if err := workers[f.To].Receive(f); err != nil {
					b.Fatal(err)
				}
			}
			more = more || r.More || len(r.Send) > 0
		}
	}
}
