package experiment

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// Closing returns the workers that replace the lost neighbours of a worker, nil where the run does not close gaps.
func (r *Run) Closing(rank topology.Rank) *topology.Closing {
	if !r.Reweights() {
		return nil
	}
	return r.graph.Closing(rank)
}

// Join builds a lost worker that comes back with the state of its sponsor, at first its only neighbour.
func (r *Run) Join(rank, sponsor topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := r.checkRank(rank); err != nil {
		return nil, err
	}
	b, err := r.builder(rank, nil)
	if err != nil {
		return nil, err
	}
	row := topology.Row{Out: []topology.Rank{sponsor}}
	if c := r.Closing(rank); c != nil {
		row.In = []topology.Edge{{Peer: sponsor, Weight: c.Weight}}
		row.Self = 1 - c.Weight
	}
	b.rows = row
	return b.alone(s)
}

// reach bounds the exchanges in which a note crosses the graph. A graph that loses workers is at most as wide as a path
// of all of them. Closing gaps may take as many exchanges again.
func (r *Run) reach() int {
	if r.Reweights() {
		return 2 * r.N()
	}
	return reachOf(r.graph)
}

// reachOf is reach of a graph that loses no workers.
func reachOf(g *topology.Graph) int { return max(g.Reach(), g.Period()) }

// partners returns the workers with which a worker of AD-PSGD may ever exchange.
func (b *builder) partners() []topology.Rank {
	if c := b.Closing(b.rank); c != nil {
		return c.Up
	}
	return b.rows.At(0).Out
}

// smallRing is the size up to which the path sums of rings may shrink as the ring grows.
const smallRing = 8

// spectrum returns the spectrum of a static graph. A ring that closes its gaps may become any smaller ring, so its path
// sums are the largest of theirs; ρ is largest for the full ring.
func (r *Run) spectrum() (topology.Spectrum, error) {
	if !r.graph.Spec().Kind.Static() {
		return topology.Spectrum{}, nil
	}
	s, err := r.graph.Spectrum()
	if err != nil || !r.Reweights() {
		return s, err
	}
	slack := r.graph.Spec().Slack
	specs := []topology.Spec{{Kind: topology.Path, N: 2, Slack: slack * 2 / 3}} // two survivors: an edge of γ/3
	for n := 3; n < min(r.N(), smallRing); n++ {
		specs = append(specs, topology.Spec{Kind: topology.Ring, N: n, Slack: slack})
	}
	for _, spec := range specs {
		g, err := topology.New(spec)
		if err != nil {
			return s, err
		}
		smaller, err := g.Spectrum()
		if err != nil {
			return s, err
		}
		s.S, s.S1, s.Rho = max(s.S, smaller.S), max(s.S1, smaller.S1), max(s.Rho, smaller.Rho)
	}
	return s, nil
}
