package experiment

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// Closing returns who takes the place of the neighbours of a worker that are lost,
// nil where nobody does.
func (r *Run) Closing(rank topology.Rank) *topology.Closing {
	if !r.Reweights() {
		return nil
	}
	return r.graph.Closing(rank)
}

// Join builds a worker that was lost and comes back with the state of its sponsor,
// the one neighbour that it has at first.
func (r *Run) Join(rank, sponsor topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := r.checkRank(rank); err != nil {
		return nil, err
	}
	b, err := r.builder(rank, nil)
	if err != nil {
		return nil, err
	}
	b.row = topology.Row{Out: []topology.Rank{sponsor}}
	if c := r.Closing(rank); c != nil {
		b.row.In = []topology.Edge{{Peer: sponsor, Weight: c.Weight}}
		b.row.Self = 1 - c.Weight
	}
	return b.alone(s)
}

// reach bounds the exchanges in which a note crosses the graph. What remains of a
// graph that loses workers is no wider than all of them in a row; as many
// exchanges again may pass while gaps are closed.
func (r *Run) reach() int {
	if r.Reweights() {
		return 2 * r.N()
	}
	return r.graph.Diameter()
}

// partners returns those with whom a worker of AD-PSGD may ever exchange.
func (b *builder) partners() []topology.Rank {
	if c := b.Closing(b.rank); c != nil {
		return c.Up
	}
	return b.row.Out
}

// smallRing is the size up to which the path sums of rings do not simply grow.
const smallRing = 8

// spectrum returns that of the graph. A ring that closes its gaps may become any
// smaller one, so its path sums are the largest of theirs; ρ is largest as it is.
func (r *Run) spectrum() (topology.Spectrum, error) {
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
