package node

import (
	"context"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// A pinnedHost opens streams to neighbours over the connections of their links. Where two machines have several
// connections for a while, both ends use the same one. Gossipsub needs that: it forgets the topics of a peer when a
// connection with one of the two streams ends.
type pinnedHost struct {
	host.Host
	node *Node
}

// NewStream opens a stream to a peer.
func (h *pinnedHost) NewStream(ctx context.Context, id peer.ID, among ...protocol.ID) (network.Stream, error) {
	h.node.mu.Lock()
	links := h.node.links
	h.node.mu.Unlock()
	if c := links.Over(ctx, id); c != nil {
		return h.node.host.OpenOn(ctx, c, among...)
	}
	return h.Host.NewStream(ctx, id, among...)
}
