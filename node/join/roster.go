package join

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
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

// ParseRoster reads a user's list of n workers. Its error wraps ErrNotListed if self is missing.
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
	for i := range r.Addrs {
		h.Peerstore().AddAddrs(r.IDs[i], r.dialled(i), peerstore.PermanentAddrTTL)
	}
}

// dialled returns the addresses at which this worker calls another one. Of an entry with others, loopback addresses are
// for the peers of that machine, whose entries have some as well.
func (r *Roster) dialled(rank int) []ma.Multiaddr {
	addrs := r.Addrs[rank]
	here := len(r.Addrs) > int(r.Self) && len(socket.Loopback(r.Addrs[r.Self])) > 0
	if far := socket.Reachable(addrs); !here && len(far) > 0 {
		return far
	}
	return addrs
}

// Listening returns the addresses at which this worker listens where its user names none: its own of the roster, over
// the transport of its host. Where no interface has one (see here), a router or a container forwards it to this
// machine. Then the worker listens at its port on all interfaces, and forwarded has the address.
func (r *Roster) Listening(transport string, here func(netip.Addr) bool) (listen []string, forwarded []ma.Multiaddr) {
	var exact []ma.Multiaddr
	for _, a := range r.Addrs[r.Self] {
		ip, numeric := socket.AddrOf(a)
		_, err := a.ValueForProtocol(ma.P_QUIC_V1)
		switch quic := err == nil; {
		case quic != (transport == socket.QUIC):
		case numeric && (here(ip) || ip.IsLoopback()):
			exact = append(exact, a)
		default:
			if !ip.IsUnspecified() {
				forwarded = append(forwarded, a)
			}
			listen = append(listen, everywhere(a, ip))
		}
	}
	for _, a := range exact {
		if ip, _ := socket.AddrOf(a); !slices.Contains(listen, everywhere(a, ip)) {
			listen = append(listen, a.String())
		}
	}
	slices.Sort(listen)
	return slices.Compact(listen), forwarded
}

// everywhere returns the port of an address on all interfaces, of IPv4 for a name.
func everywhere(a ma.Multiaddr, ip netip.Addr) string {
	_, port := ma.SplitFunc(a, func(c ma.Component) bool {
		return c.Protocol().Code == ma.P_TCP || c.Protocol().Code == ma.P_UDP
	})
	if ip.Is6() {
		return "/ip6/::" + port.String()
	}
	return "/ip4/0.0.0.0" + port.String()
}
