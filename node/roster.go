package node

import (
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// A roster is the list of all workers, by rank.
type roster struct {
	ids   []peer.ID
	addrs [][]ma.Multiaddr // may be shorter than ids
	self  topology.Rank
}

// newRoster reads a list that a person wrote.
func newRoster(peers []Peer, n int, self peer.ID) (*roster, error) {
	if len(peers) != n {
		return nil, fmt.Errorf("node: roster: %d entries for %d workers", len(peers), n)
	}
	r := &roster{self: handshake.Unranked}
	for i, p := range peers {
		id, err := peer.Decode(p.ID)
		if err != nil {
			return nil, fmt.Errorf("node: roster: entry %d: id %q: %w", i, p.ID, err)
		}
		if j := slices.Index(r.ids, id); j >= 0 {
			return nil, fmt.Errorf("node: roster: entries %d and %d have the same id %s", j, i, id)
		}
		addrs, err := parseAddrs(p.Addrs, id)
		if err != nil {
			return nil, fmt.Errorf("node: roster: entry %d: %w", i, err)
		}
		r.ids, r.addrs = append(r.ids, id), append(r.addrs, addrs)
		if id == self {
			r.self = topology.Rank(i)
		}
	}
	if r.self == handshake.Unranked {
		return nil, &NetworkError{Op: opJoin, Err: fmt.Errorf("this peer's id %s is not in the roster of %d", self, n)}
	}
	return r, nil
}

// parseAddrs reads multiaddrs and takes the id off their end.
func parseAddrs(texts []string, id peer.ID) ([]ma.Multiaddr, error) {
	var out []ma.Multiaddr
	for _, text := range texts {
		a, err := ma.NewMultiaddr(text)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", text, err)
		}
		a, named := peer.SplitAddr(a)
		if named != "" && named != id {
			return nil, fmt.Errorf("address %q: names another id than %s", text, id)
		}
		if a == nil {
			return nil, fmt.Errorf("address %q: has no place to dial", text)
		}
		out = append(out, a)
	}
	return out, nil
}

// rank returns the rank of id and whether it has one.
func (r *roster) rank(id peer.ID) (topology.Rank, bool) {
	i := slices.Index(r.ids, id)
	return topology.Rank(i), i >= 0
}

// incomplete reports whether a worker other than this one has no address.
func (r *roster) incomplete() bool {
	for i, addrs := range r.addrs {
		if len(addrs) == 0 && topology.Rank(i) != r.self {
			return true
		}
	}
	return false
}

// store tells the host where the workers are.
func (r *roster) store(h host.Host) {
	for i, addrs := range r.addrs {
		h.Peerstore().AddAddrs(r.ids[i], addrs, peerstore.PermanentAddrTTL)
	}
}
