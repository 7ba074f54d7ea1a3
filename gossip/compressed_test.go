package gossip_test

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// compressed are D² and the algorithms whose messages only make sense after
// all earlier ones: a frame used twice, out of order or not at all would leave
// replicas and public copies apart for ever.
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
	{"naive", func(g graph, dim, rounds int) setup {
		return g.compressing(dim, rounds, func(x []float32, _ topology.Row, c algos.Compression) gossip.Algorithm {
			return &algos.Naive{X: x, Alpha: decreasing, Compression: c}
		})
	}},
}

// compressing gives every worker compressors with randomness of their own:
// random-k on even ranks, a stochastic grid on odd ones. Both have payloads of
// an even length, which no frame of spoil has.
func (g graph) compressing(dim, rounds int, rule func([]float32, topology.Row, algos.Compression) gossip.Algorithm) setup {
	rows := g.rows()
	of := func(i int) algos.Compressor {
		stream := rng.Stream(7, i)
		if i%2 == 0 {
			c, err := quant.NewRandomK(1+dim/3, quant.AsIs, stream)
			return certain(c, err)
		}
		c, err := quant.NewLinear(0.05, quant.Stochastic, stream)
		return certain(c, err)
	}
	return setup{rows: rows, dim: dim, rounds: rounds, alg: func(i int, x []float32) gossip.Algorithm {
		c := algos.Compression{Own: of(i)}
		for _, e := range rows[i].In {
			c.In = append(c.In, of(int(e.Peer)))
		}
		return rule(x, rows[i], c)
	}}
}

func certain(c algos.Compressor, err error) algos.Compressor {
	if err != nil {
		panic(err)
	}
	return c
}
