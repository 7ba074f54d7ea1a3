package gossip_test

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// compressed are D² and the algorithms with compressors. Most of their messages need all earlier ones. A frame used
// twice, out of order or not at all would leave replicas and public copies apart for ever.
var compressed = []family{
	{"d2", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, _ algos.Compression) gossip.Algorithm {
			return &algos.D2{X: x, Alpha: decreasing, Codec: algos.Full{}}
		})
	}},
	{"moniqua of 4 bits on d2", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, _ algos.Compression) gossip.Algorithm {
			return &algos.D2{X: x, Alpha: decreasing, Codec: &moniqua.Codec{Levels: 16, Theta: constantly(20), Seed: 1}}
		})
	}},
	{"choco", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.Choco{X: x, Alpha: decreasing, Gamma: 0.3, Compression: c}
		})
	}},
	{"deepsqueeze", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.DeepSqueeze{X: x, Alpha: decreasing, Eta: 0.3, Compression: c}
		})
	}},
	{"dcd", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, row topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.DCD{X: x, Alpha: decreasing, Row: row, Compression: c}
		})
	}},
	{"ecd", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, row topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.ECD{X: x, Alpha: decreasing, Row: row, Compression: c}
		})
	}},
	{"all-gather", func(g graph, dim, rounds int) setup {
		return g.reducing(topology.Complete, dim, rounds,
			func(i int, x []float32, c algos.Compression, _ quant.Compressor) gossip.Algorithm {
				return &algos.AllGather{X: x, Alpha: decreasing, Rank: i, Compression: c}
			})
	}},
	{"all-gather with feedback", func(g graph, dim, rounds int) setup {
		return g.reducing(topology.Complete, dim, rounds,
			func(i int, x []float32, c algos.Compression, _ quant.Compressor) gossip.Algorithm {
				return &algos.AllGather{X: x, Alpha: decreasing, Rank: i, Feedback: true, Compression: c}
			})
	}},
	{"server", func(g graph, dim, rounds int) setup {
		return g.reducing(topology.Star, dim, rounds,
			func(i int, x []float32, c algos.Compression, mean quant.Compressor) gossip.Algorithm {
				return &algos.Server{X: x, Alpha: decreasing, Rank: i, Compression: c, Mean: mean}
			})
	}},
	{"server with feedback", func(g graph, dim, rounds int) setup {
		return g.reducing(topology.Star, dim, rounds,
			func(i int, x []float32, c algos.Compression, mean quant.Compressor) gossip.Algorithm {
				return &algos.Server{X: x, Alpha: decreasing, Rank: i, Feedback: true, Compression: c, Mean: mean}
			})
	}},
	{"naive", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.Naive{X: x, Alpha: decreasing, Compression: c}
		})
	}},
}

// compressing gives every worker the compressors of the rows.
func (g graph) compressing(dim, rounds int, rule func([]float32, topology.Row,
	algos.Compression) gossip.Algorithm) setup {
	rows := g.rows()
	return setup{rows: rows, dim: dim, rounds: rounds, alg: func(i int, x []float32) gossip.Algorithm {
		return rule(x, rows[i], compression(dim, i, rows[i]))
	}}
}

// reducing does the same for an all-reduce of as many workers, on a graph of its own; mean returns the compressor of a
// server.
func (g graph) reducing(kind topology.Kind, dim, rounds int,
	rule func(i int, x []float32, c algos.Compression, mean quant.Compressor) gossip.Algorithm) setup {
	rows := g.on(kind)
	return setup{rows: rows, dim: dim, rounds: rounds, alg: func(i int, x []float32) gossip.Algorithm {
		return rule(i, x, compression(dim, i, rows[i]), compressor(dim, len(rows)))
	}}
}

// on returns the rows of another graph with as many workers.
func (g graph) on(kind topology.Kind) []topology.Row {
	other, err := topology.New(topology.Spec{Kind: kind, N: len(g), Slack: 1})
	if err != nil {
		panic(err)
	}
	return other.Rows(0)
}

// compression returns the compressors of a worker and of its neighbours.
func compression(dim, i int, row topology.Row) algos.Compression {
	c := algos.Compression{Own: compressor(dim, i)}
	for _, e := range row.In {
		c.In = append(c.In, compressor(dim, int(e.Peer)))
	}
	return c
}

// compressor gives every worker a compressor with randomness of its own: random-k on even ranks, a stochastic grid on
// odd ones. Both have payloads of an even length, unlike the frames of spoil.
func compressor(dim, i int) quant.Compressor {
	stream := rng.Stream(7, i)
	if i%2 == 0 {
		c, err := quant.NewRandomK(1+dim/3, quant.AsIs, stream)
		return certain(c, err)
	}
	c, err := quant.NewLinear(0.05, quant.Stochastic, stream)
	return certain(c, err)
}

func certain(c quant.Compressor, err error) quant.Compressor {
	if err != nil {
		panic(err)
	}
	return c
}
