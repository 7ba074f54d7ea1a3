// Package topology builds the graph of a run and its mixing matrices, and computes what the
// theory asks of them:
//
//	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 8, Slack: 1})
//	if err != nil {
//		return err
//	}
//	rows := g.Sequence(0)      // weights and neighbours of worker 0, by exchange
//	s, err := g.Spectrum()     // eigenvalues, spectral gap, path sums
//
// A graph is a sequence of mixing matrices: W^(s) belongs to exchange s. Each is doubly
// stochastic. Most kinds have one symmetric matrix with Metropolis weights for all exchanges.
// Others repeat their matrices after a period, or draw them. Slack γ mixes each with the
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

// A Row is worker i's part of one exchange: its row of W^(s). It has its own weight W_ii, its incoming edges (In) and
// the peers it sends to (Out), both in increasing rank. In symmetric matrices In and Out name the same peers.
type Row struct {
	Self float64
	In   []Edge
	Out  []Rank
}

// A Sequence has one worker's rows of W^(0), W^(1), … A Row is the Sequence of a graph that does not change.
type Sequence interface {
	// At returns the row of exchange s ≥ 0, which is valid until the next call.
	At(s int) Row
	// Period returns after how many exchanges the rows repeat, ≥ 1; 0: never.
	Period() int
	// Neighbours returns the workers that this one ever receives from or sends to, in increasing rank.
	Neighbours() []Rank
	// Ahead returns how many exchanges a worker can be ahead of one that it sends to, ≥ 1. It is 1 if neighbours wait
	// for each other in every exchange.
	Ahead() int
	// Behind returns how many exchanges a receiver of the worker's messages can be behind it, ≥ 1. It is more than Ahead
	// if workers come and go.
	Behind() int
}

// At returns r for every exchange.
func (r Row) At(int) Row { return r }

// Period returns 1.
func (r Row) Period() int { return 1 }

// Ahead returns 1.
func (r Row) Ahead() int { return 1 }

// Behind returns 1.
func (r Row) Behind() int { return 1 }

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
