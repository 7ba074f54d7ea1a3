// Package handover gives the run file, the secret and the checksums of the data from the machine that invites to the
// machines that join, over libp2p.
//
// Both ends prove the key of a token first, by the handshake of peers, and the machine that invites has the id in the
// token. Before that, a machine reads from the other one nothing but messages of a fixed size. The package writes no
// file, and judges no data: package setup does.
//
// A token is a short text with all that a machine needs to reach the machine that invites it, and to recognise it. Its
// key proves that a machine is invited.
package handover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// inviteProtocol has no version in its name: the challenge of a handshake begins with the version, so that both ends
// can name both versions.
const inviteProtocol protocol.ID = "/gossiptrainer/invite"

// lobby is the name under which machines look for each other before they have a run.
const lobby = "gossiptrainer lobby"

// MostSeats bounds the machines that one token admits: each keeps a connection until all are here.
const MostSeats = 256

// callers is the size of a run whose gate a presence has. It bounds the attempts per address, see join.NewGate.
const callers = 16

// A Role says whether a machine answers callers.
type Role string

// Roles.
const (
	Host  Role = "host"  // answers machines that join
	Guest Role = "guest" // refuses all connections from outside
)

// A Place says who a machine is and where it listens.
type Place struct {
	Identity *identity.Identity
	Role     Role
	Port     int // 0: a free one
	Log      *slog.Logger

	find func(ctx context.Context, h host.Host, found func(peer.AddrInfo)) // in place of mDNS, for tests
	wait *patience                                                         // for tests
}

// patience bounds the waits of a visit.
type patience struct {
	reach time.Duration // in which the host must answer
	hear  time.Duration // in which multicast of the host must arrive, where it passes
}

// A Presence is a machine that looks for others on the LAN and can be found there. Its methods may be called from
// several goroutines.
type Presence struct {
	host    *socket.Host
	gate    *join.Gate
	refused *socket.Refusals
	log     *slog.Logger
	wait    patience
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu    sync.Mutex
	heard map[peer.ID]bool
	first map[peer.ID]chan struct{} // closed when that machine is heard
}

// Appear begins the presence. The caller must Close it.
func Appear(at Place) (*Presence, error) {
	p := &Presence{
		refused: new(socket.Refusals), log: at.Log, heard: map[peer.ID]bool{}, first: map[peer.ID]chan struct{}{},
		wait: patience{reach: 5 * time.Second, hear: 3 * time.Second},
	}
	if at.wait != nil {
		p.wait = *at.wait
	}
	p.gate = join.NewGate(callers, p.refused, at.Log)
	settings := socket.Config{
		Key: at.Identity.Key(), Listen: listen(at.Port), Workers: callers, Gate: p.gate,
	}
	if at.Role == Guest {
		settings.Gate = shut{p.gate}
	}
	var err error
	if p.host, err = socket.New(settings); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	find := at.find
	if find == nil {
		find = func(ctx context.Context, h host.Host, found func(peer.AddrInfo)) {
			join.Discover(ctx, h, lobby, found, slog.New(slog.DiscardHandler))
		}
	}
	p.wg.Go(func() { find(ctx, p.host, p.found) })
	return p, nil
}

// shut is a gate that lets no connection in.
type shut struct{ *join.Gate }

// InterceptAccept refuses every connection before a byte is read.
func (shut) InterceptAccept(network.ConnMultiaddrs) bool { return false }

// Close ends the presence.
func (p *Presence) Close() error {
	p.cancel()
	p.gate.Close()
	err := p.host.Close()
	p.wg.Wait()
	return err
}

// mostHeard bounds the machines that a presence remembers.
const mostHeard = 4 * MostSeats

// found notes a machine that multicast has announced.
func (p *Presence) found(who peer.AddrInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if who.ID == p.host.ID() || len(p.heard) >= mostHeard && !p.heard[who.ID] {
		return
	}
	p.heard[who.ID] = true
	p.host.Peerstore().AddAddrs(who.ID, who.Addrs, peerstore.PermanentAddrTTL)
	if first := p.first[who.ID]; first != nil {
		close(first)
		delete(p.first, who.ID)
	}
}

// Others returns how many other machines set up a run on this LAN now.
func (p *Presence) Others() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// await returns a channel that is closed when the multicast of a machine has arrived.
func (p *Presence) await(id peer.ID) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.first[id]
	if p.heard[id] || c == nil {
		c = make(chan struct{})
	}
	if p.heard[id] {
		close(c)
	} else {
		p.first[id] = c
	}
	return c
}

// listen returns the addresses of a presence: of IPv4 where this machine has an address of it, or else of IPv6. So
// there is one port, which a token can hold.
func listen(number int) []string {
	four, six := false, false
	for _, i := range socket.Interfaces() {
		for _, ip := range i.Addrs {
			four, six = four || socket.Far(ip) && ip.Is4(), six || socket.Far(ip) && ip.Is6()
		}
	}
	if six && !four {
		return []string{fmt.Sprintf("/ip6/::/tcp/%d", number)}
	}
	return []string{fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", number)}
}

// where returns the addresses and the port for a token. Given addresses take the place of those of the interfaces.
func (p *Presence) where(given []netip.Addr) (addrs []netip.Addr, number uint16, err error) {
	for _, a := range p.host.Network().ListenAddresses() {
		if _, at, ok := split(a); ok {
			number = at
		}
	}
	for _, a := range socket.Reachable(p.host.Addrs()) {
		if ip, _, ok := split(a); ok && !slices.Contains(addrs, ip) {
			addrs = append(addrs, ip)
		}
	}
	if len(given) > 0 {
		addrs = given
	}
	if len(addrs) == 0 {
		if err := socket.Secluded(socket.Interfaces()); err != nil {
			return nil, 0, err
		}
		return nil, 0, errors.New("this machine has no address at which others could reach it: connect it to the LAN")
	}
	return addrs[:min(len(addrs), mostAddrs)], number, nil
}

// split returns the IP address and the TCP port of a multiaddr.
func split(a ma.Multiaddr) (ip netip.Addr, number uint16, ok bool) {
	at, err := manet.ToNetAddr(a)
	tcp, is := at.(*net.TCPAddr)
	if err != nil || !is {
		return netip.Addr{}, 0, false
	}
	to := tcp.AddrPort()
	return to.Addr().Unmap().WithZone(""), to.Port(), true
}
