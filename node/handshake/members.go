package handshake

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/topology"
)

// Members are all workers of a run, of which Self is this one.
type Members struct {
	IDs  []peer.ID // by rank
	Self topology.Rank
}

// Rank returns the rank of id, and whether it has one.
func (m Members) Rank(id peer.ID) (rank topology.Rank, known bool) {
	i := slices.Index(m.IDs, id)
	return topology.Rank(i), i >= 0
}
