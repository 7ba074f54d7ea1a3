package conformance

import (
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// compressed returns worker i's update rule with its compressors.
func (r *run) compressed(t *testing.T, i int, x []float32) gossip.Algorithm {
	t.Helper()
	a := r.Algorithm
	of := func(j topology.Rank) quant.Compressor {
		return a.Compressor.compressor(t, rng.Stream(uint64(a.Seed), int(j)))
	}
	row := r.rows[i]
	c := algos.Compression{Own: of(topology.Rank(i))}
	for _, e := range row.In {
		c.In = append(c.In, of(e.Peer))
	}
	switch a.Name {
	case "choco":
		return &algos.Choco{X: x, Alpha: r.alpha, Gamma: float32(a.Gamma), Compression: c}
	case "deepsqueeze":
		return &algos.DeepSqueeze{X: x, Alpha: r.alpha, Eta: float32(a.Eta), Compression: c}
	case "dcd":
		return &algos.DCD{X: x, Alpha: r.alpha, Row: row, Compression: c}
	case "ecd":
		return &algos.ECD{X: x, Alpha: r.alpha, Row: row, Compression: c}
	case "naive":
		return &algos.Naive{X: x, Alpha: r.alpha, Compression: c}
	case "allreduce":
		return r.reducing(i, x, c, of(topology.Rank(len(r.rows))))
	}
	t.Fatalf("%s takes no compressor", a.Name)
	return nil
}

// reduceRows returns whom n workers of an all-reduce hear and tell: the graph of
// the file plays no part.
func (a runAlgorithm) reduceRows(t *testing.T, n int) []topology.Row {
	t.Helper()
	if a.Compressor == nil {
		return topology.Cycle(n)
	}
	kind := topology.Complete
	if a.Server != "" {
		kind = topology.Star
	}
	g, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g.Rows()
}

// reducing returns worker i's all-reduce with its compressors; mean is that of
// a server which compresses the mean again. Any other one sends it as it is.
func (r *run) reducing(i int, x []float32, c algos.Compression, mean quant.Compressor) gossip.Algorithm {
	a := r.Algorithm
	if a.Server == "" {
		return &algos.AllGather{X: x, Alpha: r.alpha, Rank: i, Feedback: a.ErrorFeedback, Compression: c}
	}
	if a.Server != "double" {
		mean = quant.Full{}
	}
	return &algos.Server{X: x, Alpha: r.alpha, Rank: i, Feedback: a.ErrorFeedback, Compression: c, Mean: mean}
}

// reduceBytes returns what the workers of an all-reduce send. The reference does
// not count that of a plain one, and of a server neither what it tells the
// others, as much as they tell it if it is compressed again, nor that its own
// gradient stays at home.
func (r *run) reduceBytes() []int {
	want, d, n := make([]int, len(r.rows)), len(r.X0[0]), len(r.rows)
	copy(want, r.BytesSent)
	switch {
	case r.Algorithm.Server == "double":
		want[0] *= n - 1
	case r.Algorithm.Server != "":
		want[0] = r.Steps * (n - 1) * 4 * d
	case r.Algorithm.Compressor == nil:
		for i := range want {
			for hop := range n - 1 { // all chunks but i+1 are sent while reducing, all but i+2 while gathering
				want[i] += r.Steps * (chunkBytes(d, n, i-hop) + chunkBytes(d, n, i+1-hop))
			}
		}
	}
	return want
}

// chunkBytes returns the size of chunk c modulo n of d floats.
func chunkBytes(d, n, c int) int {
	c = (c + n) % n
	return 4 * ((c+1)*d/n - c*d/n)
}
