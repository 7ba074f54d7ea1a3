package node

import (
	"cmp"
	"slices"

	"gossiptrainer/topology"
)

// meet returns the edge with a worker and begins to make links, if it has not
// begun; nil when the transport is closed.
func (l *links) meet(rank topology.Rank) *edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.edges[rank]
	if e == nil && !l.closed {
		e = newEdge(l, rank)
		l.edges[rank] = e
		l.wg.Go(e.run)
	}
	return e
}

// find returns the edge with a worker, nil if there is none.
func (l *links) find(rank topology.Rank) *edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.edges[rank]
}

// all returns the edges in increasing rank.
func (l *links) all() []*edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	edges := make([]*edge, 0, len(l.edges))
	for _, e := range l.edges {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b *edge) int { return cmp.Compare(a.rank, b.rank) })
	return edges
}

// leave ends the link to peer and refuses others.
func (l *links) leave(peer topology.Rank) {
	e := l.edge(peer)
	e.mu.Lock()
	e.left = true
	e.mu.Unlock()
	l.drop(peer, errLeft)
}

// forget takes the neighbour back: it is another process.
func (e *edge) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = false
}

// forsaken reports whether this worker has gone on without that one.
func (e *edge) forsaken() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left
}
