// Package topology builds the graph of a run and its mixing matrix W, and computes what the
// theory asks of them:
//
//	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 8, Slack: 1})
//	if err != nil {
//		return err
//	}
//	row := g.Row(0)            // weights and neighbours of worker 0
//	s, err := g.Spectrum()     // eigenvalues, spectral gap, path sums
//
// W has Metropolis weights: it is symmetric and doubly stochastic. Slack γ mixes it with the
// identity, γW + (1−γ)I.
//
// A graph is a value that does not change. The package opens no links and knows nothing of
// models, messages or time.
package topology

import "slices"

// A Rank is a worker's index i in W, 0..n−1.
type Rank int

// An Edge is one off-diagonal entry W_ij of worker i's row.
type Edge struct {
	Peer   Rank
	Weight float64
}

// A Row is worker i's part of the graph. It has its own weight W_ii, its incoming edges (In) and the peers it sends to
// (Out), both in increasing rank. In undirected graphs In and Out name the same peers.
type Row struct {
	Self float64
	In   []Edge
	Out  []Rank
}

// Neighbours returns the workers that this one receives from or sends to, in increasing rank.
func (r Row) Neighbours() []Rank {
	all := slices.Clone(r.Out)
	for _, e := range r.In {
		all = append(all, e.Peer)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Cycle returns the n rows of the directed cycle i → i+1 mod n, along which a ring all-reduce passes its chunks. Worker
// i receives from i−1 and sends to i+1. Its weights are 1 and are no mixing matrix. n = 1 gives one row without edges.
func Cycle(n int) []Row {
	rows := make([]Row, n)
	if n == 1 {
		rows[0].Self = 1
		return rows
	}
	for i := range rows {
		rows[i] = Row{
			In:  []Edge{{Peer: Rank((i + n - 1) % n), Weight: 1}},
			Out: []Rank{Rank((i + 1) % n)},
		}
	}
	return rows
}
