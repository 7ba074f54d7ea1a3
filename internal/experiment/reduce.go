package experiment

import (
	"maps"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// allReduce is the algorithm that algorithm.reduce tells more of.
const allReduce = "allreduce"

// reductions are what algorithm.reduce stands for: each has a graph of its own.
var reductions = map[string]method{
	"ring": {
		kind:    topology.Ring,
		rows:    func(g *topology.Graph) []topology.Row { return topology.Cycle(g.N()) },
		build:   buildAllReduce,
		payload: func(r *Run) int { return floatBytes * largestChunk(r) },
		spans:   largestChunk,
	},
	"allgather": {
		kind: topology.Complete, rows: (*topology.Graph).Rows, build: buildAllGather, payload: compressedPayload,
		unsuited: wantsFeedback, compensated: wantsContraction,
	},
	"server": {
		kind: topology.Star, rows: (*topology.Graph).Rows, build: buildServer, payload: compressedPayload,
		unsuited: wantsUnbiased, compensated: wantsNoFeedback,
	},
}

// methodOf returns the method that a stands for.
func methodOf(a configs.Algorithm) (method, error) {
	m, ok := methods[a.Name]
	if !ok {
		return m, configs.Errorf("algorithm.name", "%q is not one of %v", a.Name, slices.Sorted(maps.Keys(methods)))
	}
	if a.Name != allReduce {
		return m, nil
	}
	if m, ok = reductions[a.Reduce]; !ok {
		return m, configs.Errorf("algorithm.reduce", "%q is not one of %v", a.Reduce, slices.Sorted(maps.Keys(reductions)))
	}
	if a.ErrorFeedback {
		m.unsuited = m.compensated
	}
	return m, nil
}

func buildAllReduce(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	return &algos.AllReduce{X: x, Alpha: r.schedule.StepSize, Rank: int(rank), Workers: r.N()}, nil
}

func buildAllGather(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.AllGather{X: x, Alpha: r.schedule.StepSize, Rank: int(rank), Feedback: r.cfg.Algorithm.ErrorFeedback, Compression: c}, err
}

// buildServer gives the server's messages a random stream of their own, the one
// after those of the workers.
func buildServer(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	if err != nil {
		return nil, err
	}
	mean, err := r.compressor(topology.Rank(r.N()))
	return &algos.Server{X: x, Alpha: r.schedule.StepSize, Rank: int(rank), Feedback: r.cfg.Algorithm.ErrorFeedback, Compression: c, Mean: mean}, err
}

// wantsFeedback is the rule of all-reduce by all-gather.
func wantsFeedback(_ configs.Compressor, p quant.Properties) string {
	if p.Unbiased {
		return ""
	}
	return "a biased compressor loses a part of every gradient for ever: set algorithm.error_feedback: true"
}

// wantsNoFeedback is the rule of all-reduce by a server, whose own message has
// no error feedback whatever the workers' have.
func wantsNoFeedback(c configs.Compressor, p quant.Properties) string {
	if p.Unbiased && !p.Contraction {
		return "error feedback amplifies the variance of an unbiased compressor: set algorithm.error_feedback: false"
	}
	return wantsUnbiased(c, p)
}
