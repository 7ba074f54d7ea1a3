package join

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/topology"
)

// A Peer is one entry of the roster; its index is its rank.
type Peer struct {
	ID    string
	Addrs []string // multiaddrs, with or without /p2p/ID at the end
}

// ErrNotListed says that the roster lacks this peer.
var ErrNotListed = errors.New("this peer is not in the roster")

// A Roster has the ids and the addresses of all workers.
type Roster struct {
	handshake.Members
	Addrs [][]ma.Multiaddr // by rank; may be shorter than IDs
}

// ParseRoster reads a user's list of n workers. Its error wraps ErrNotListed if self is none of them.
func ParseRoster(peers []Peer, n int, self peer.ID) (*Roster, error) {
	if len(peers) != n {
		return nil, fmt.Errorf("join: roster: %d entries for %d workers", len(peers), n)
	}
	r := &Roster{Members: handshake.Members{Self: handshake.Unranked}}
	for i, p := range peers {
		id, err := peer.Decode(p.ID)
		if err != nil {
			return nil, fmt.Errorf("join: roster: entry %d: id %q: %w", i, p.ID, err)
		}
		if j := slices.Index(r.IDs, id); j >= 0 {
			return nil, fmt.Errorf("join: roster: entries %d and %d have the same id %s", j, i, id)
		}
		addrs, err := parseAddrs(p.Addrs, id)
		if err != nil {
			return nil, fmt.Errorf("join: roster: entry %d: %w", i, err)
		}
		r.IDs, r.Addrs = append(r.IDs, id), append(r.Addrs, addrs)
		if id == self {
			r.Self = topology.Rank(i)
		}
	}
	if r.Self == handshake.Unranked {
		return nil, fmt.Errorf("%w: its id is %s, and the %d entries have others", ErrNotListed, self, n)
	}
	return r, nil
}

// parseAddrs reads multiaddrs and removes the id at their end.
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
			return nil, fmt.Errorf("address %q: has no address to dial", text)
		}
		out = append(out, a)
	}
	return out, nil
}

// Incomplete reports whether a worker other than this one has no address.
func (r *Roster) Incomplete() bool {
	for i, addrs := range r.Addrs {
		if len(addrs) == 0 && topology.Rank(i) != r.Self {
			return true
		}
	}
	return false
}

// Store enters the addresses of the workers at the host.
func (r *Roster) Store(h host.Host) {
	for i, addrs := range r.Addrs {
		h.Peerstore().AddAddrs(r.IDs[i], addrs, peerstore.PermanentAddrTTL)
	}
}
