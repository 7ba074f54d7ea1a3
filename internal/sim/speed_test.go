package sim

import (
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/stats"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// many returns workers of D-PSGD with d parameters on a graph.
func many(b *testing.B, kind topology.Kind, n, d, rounds int) (all []work.Task) {
	b.Helper()
	graph, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1})
	if err != nil {
		b.Fatal(err)
	}
	for i, rows := range graph.Sequences() {
		alg := &algos.DPSGD{X: make([]float32, d), Alpha: alpha, Codec: algos.Full{}}
		m, err := gossip.New(topology.Rank(i), rows, alg, rounds)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, work.Task{Rank: topology.Rank(i), Machine: m, Gradient: pull(i), Rounds: rounds, Rows: rows})
	}
	return all
}

// BenchmarkOnePeer compares graphs of 1,000 workers, which run in turns. The ratio is the median, over the turns, of
// the updates a second on the one-peer exponential graph to those on the ring.
func BenchmarkOnePeer(b *testing.B) {
	const n, d, rounds = 1000, 1000, 40
	kinds := []topology.Kind{topology.Ring, topology.OnePeerExponential}
	var ratios, fast, slow []float64
	for b.Loop() {
		var took [2]time.Duration
		for i, kind := range kinds {
			workers := many(b, kind, n, d, rounds)
			began := time.Now()
			if _, err := Run(b.Context(), workers, Options{Compute: takes(time.Millisecond)}); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(began)
		}
		ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
		slow = append(slow, n*rounds/took[0].Seconds())
		fast = append(fast, n*rounds/took[1].Seconds())
	}
	b.ReportMetric(stats.Median(ratios), "one-peer/ring")
	b.ReportMetric(stats.Median(fast), "one-peer-updates/s")
	b.ReportMetric(stats.Median(slow), "ring-updates/s")
}
