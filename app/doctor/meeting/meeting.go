// Package meeting lets the doctors of several machines find each other and test the ways between them. They test
// connections in both directions, multicast and packets of full length, and measure latency, rate and clocks.
//
// A meeting has the identity, the addresses and the encryption of the run. Each end proves the join secret by the
// handshake of a peer before it tells or measures anything. Datagrams carry a code that the secret keys. The package
// judges nothing: package doctor does.
package meeting

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/gossip"
	"gossiptrainer/node"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

const (
	doctorProtocol protocol.ID = "/gossiptrainer/doctor/1.0.0"

	// attempt bounds one try to connect, and again is the time between two.
	attempt = 3 * time.Second
	again   = 200 * time.Millisecond
	// settle is how long a meeting waits for multicast and datagrams after it has met all others.
	settle = 1500 * time.Millisecond
)

// A Config describes a machine that takes part in a meeting.
type Config struct {
	Node  node.Options // of the run; without an Identity a new one is made
	Facts Facts
	Rates bool          // whether to measure rates
	Wait  time.Duration // end of the meeting, unless all workers have been met before
	Now   func() time.Time

	find func(ctx context.Context, h host.Host, found func(peer.AddrInfo)) // in place of mDNS, for tests
}

// Facts are told to a machine that has proven the secret.
type Facts struct {
	Host     string                     `json:"host"`
	Identity string                     `json:"identity"` // id of its key; "" if it has none yet
	Version  string                     `json:"version"`
	Commit   string                     `json:"commit"`
	Platform string                     `json:"platform"`
	MTU      int                        `json:"mtu"` // least of its interfaces, in bytes
	Sections map[string]json.RawMessage `json:"sections"`
	Addrs    []string                   `json:"addrs"` // at which it listens
}

// A Way is the state of connections to one address of a machine.
type Way string

// Ways.
const (
	Untested Way = ""
	Open     Way = "open"    // TCP connects
	Refused  Way = "refused" // the machine answers that nothing listens there
	Silent   Way = "silent"  // there is no answer
)

// A Hearing says which messages without a connection have arrived.
type Hearing struct {
	Multicast bool
	Datagram  int // bytes of the longest IP packet, 0 without any
}

// An Other is another machine of the meeting.
type Other struct {
	ID      string
	Rank    int // handshake.Unranked without a roster
	Addrs   []string
	Met     bool    // all has been exchanged
	Err     error   // why it was not met; nil: nothing was tried
	Heard   Hearing // from it
	HearsUs Hearing // as it says
	Out, In Way     // from here to it, and from it to here
	Facts   Facts
	Figures
}

// Figures are the measurements of a pair.
type Figures struct {
	Latency time.Duration // least round trip
	Offset  time.Duration // its clock minus the one here
	RateOut float64       // bit/s from here to it, 0 = not measured
	RateIn  float64       // bit/s from it to here
}

// A Result is the outcome of a meeting for one machine.
type Result struct {
	ID        string
	Listen    error    // nil, or why the addresses of the run file cannot be used: free ports were taken
	Addrs     []string // at which this machine listens
	Datagrams bool     // whether datagrams were exchanged: they need a secret and TCP
	Others    []Other  // by rank, then by id
	Twin      error    // a *socket.TwinError if another machine shows the identity of this one, else nil
}

// A meeting is the part of this machine.
type meeting struct {
	c         Config
	host      *socket.Host
	gate      *join.Gate
	admission handshake.Admission
	hello     handshake.Hello
	roster    *join.Roster // nil: members are found
	beacons   *beacons     // nil: no datagrams
	listen    error
	twin      error // under mu
	ctx       context.Context
	wg        sync.WaitGroup

	wire sync.Mutex // held while a rate is measured

	mu     sync.Mutex
	others map[peer.ID]*other
	news   chan struct{}
}

// An other is what this machine knows of another one, under the lock of the meeting.
type other struct {
	Other
	id      peer.ID
	over    bool          // met, or refused for good by a machine that belongs
	greeted bool          // by visit, which alone uses it
	reach   chan struct{} // closed when Out is Open
	linked  chan struct{} // signals a new connection
}

// Hold meets the other machines of a run. It ends after c.Wait, or earlier when all workers of the run have been met.
// Its error says that this machine cannot take part at all.
func Hold(ctx context.Context, c Config) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	m := &meeting{c: c, ctx: ctx, others: make(map[peer.ID]*other), news: make(chan struct{}, 1)}
	if err := m.open(); err != nil {
		return nil, err
	}
	m.begin()
	m.wait()
	m.mu.Lock()
	cancel() // nothing begins after this, see meetAt
	m.mu.Unlock()
	m.gate.Close()
	m.wg.Wait()
	result := m.result()
	return result, m.host.Close()
}

// open starts the host. If the addresses of the run file cannot be used, it takes free ports.
func (m *meeting) open() (err error) {
	o := &m.c.Node
	if o.Identity == nil {
		if o.Identity, err = identity.Ephemeral(); err != nil {
			return err
		}
	}
	self := o.Identity.Peer()
	if len(o.Roster) > 0 {
		if m.roster, err = join.ParseRoster(o.Roster, o.N, self); err != nil {
			return err
		}
		if len(o.Listen) == 0 {
			o.Listen, _ = m.roster.Listening(o.Transport, socket.Here)
		}
	}
	silent := slog.New(slog.DiscardHandler)
	m.gate = join.NewGate(o.N, new(socket.Refusals), silent)
	settings := socket.Config{
		Key: o.Identity.Key(), KeyFile: o.Identity.Path(), Listen: o.Listen,
		Transport: o.Transport, Security: o.Security, Trusted: o.Trusted,
		Workers: o.N, Gate: m.gate,
	}
	m.host, err = socket.New(settings)
	if _, taken := errors.AsType[*socket.ListenError](err); taken && len(o.Listen) > 0 {
		m.listen, settings.Listen = err, nil
		m.host, err = socket.New(settings)
	}
	if err != nil {
		return err
	}
	m.admission = handshake.Admission{Self: self, Run: o.RunID, Secret: []byte(o.JoinSecret)}
	m.hello = handshake.Hello{
		N: o.N, Dim: o.Dim, Rank: handshake.Unranked, Durable: gossip.Undurable,
		Host: o.Host[:min(len(o.Host), handshake.MaxHost)],
	}
	for _, a := range m.host.Addrs() {
		m.c.Facts.Addrs = append(m.c.Facts.Addrs, a.String())
	}
	if o.JoinSecret != "" && o.Transport != socket.QUIC {
		nonce := [nonceLen]byte{}
		rand.Read(nonce[:])
		m.beacons = &beacons{key: beaconKey(o.JoinSecret, o.RunID), self: hashOf(self), nonce: nonce}
	}
	return nil
}

// begin enters the members of the roster, answers callers and looks for others.
func (m *meeting) begin() {
	m.host.Network().Notify(&network.NotifyBundle{ConnectedF: func(_ network.Network, c network.Conn) {
		m.linked(c.RemotePeer())
	}})
	m.host.SetStreamHandler(doctorProtocol, func(s network.Stream) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.ctx.Err() == nil {
			m.wg.Go(func() { m.serve(s) })
		}
	})
	if m.roster != nil {
		m.gate.Know(m.roster.IDs)
		m.roster.Store(m.host)
		for rank, id := range m.roster.IDs {
			if id != m.host.ID() {
				m.meetAt(id, rank, m.roster.Addrs[rank])
			}
		}
	}
	m.sendBeacons()
	find := m.c.find
	if find == nil {
		find = func(ctx context.Context, h host.Host, found func(peer.AddrInfo)) {
			// A service of their own: running peers would take a doctor for a peer that does not answer.
			join.Discover(ctx, h, m.c.Node.RunID+" doctor", found, slog.New(slog.DiscardHandler))
		}
	}
	found := join.Others(m.host, m.found, func(twin *socket.TwinError) { m.change(func() { m.twin = twin }) })
	m.wg.Go(func() { find(m.ctx, m.host, found) })
}

// found notes another machine that multicast has announced.
func (m *meeting) found(who peer.AddrInfo) {
	rank, listed := m.rankOf(who.ID)
	if !listed {
		return
	}
	if o := m.meetAt(who.ID, rank, who.Addrs); o != nil {
		m.change(func() { o.Heard.Multicast = true })
	}
}

// rankOf returns the rank of a machine in the roster, and whether it may take part. Without a roster all may that prove
// the secret, and none has a rank.
func (m *meeting) rankOf(id peer.ID) (rank int, listed bool) {
	if m.roster == nil {
		return handshake.Unranked, true
	}
	known, listed := m.roster.Rank(id)
	return int(known), listed
}

// meetAt notes the addresses of a machine, and calls it from now on. It returns nil if there are too many.
func (m *meeting) meetAt(id peer.ID, rank int, addrs []ma.Multiaddr) *other {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.others[id]
	if o == nil {
		if len(m.others) >= 2*m.c.Node.N+16 || m.ctx.Err() != nil {
			return nil
		}
		o = &other{Other: Other{ID: id.String(), Rank: rank}, id: id,
			reach: make(chan struct{}), linked: make(chan struct{}, 1)}
		m.others[id] = o
		m.wg.Go(func() { m.visit(o) })
		m.wg.Go(func() { m.reachOut(o) })
	}
	m.host.Peerstore().AddAddrs(id, addrs, peerstore.PermanentAddrTTL)
	for _, a := range addrs {
		if text := a.String(); !slices.Contains(o.Addrs, text) {
			o.Addrs = append(o.Addrs, text)
		}
	}
	return o
}

// linked tells the visit of a machine that there is a connection.
func (m *meeting) linked(id peer.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.others[id]; o != nil {
		select {
		case o.linked <- struct{}{}:
		default:
		}
	}
}

// change changes the state of a machine.
func (m *meeting) change(how func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	how()
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// wait returns when all workers have been met and heard, or when the time is over.
func (m *meeting) wait() {
	var heard <-chan time.Time
	for {
		m.mu.Lock()
		met, silent := 0, 0
		for _, o := range m.others {
			if o.over {
				met++
			}
			if !o.Heard.Multicast || m.beacons != nil && min(o.Heard.Datagram, o.HearsUs.Datagram) < fullPacket {
				silent++
			}
		}
		all := met == len(m.others) && met >= m.c.Node.N-1
		m.mu.Unlock()
		if all && silent == 0 {
			return
		}
		if all && heard == nil {
			heard = time.After(settle)
		}
		select {
		case <-m.news:
		case <-heard:
			return
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *meeting) result() *Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Result{ID: m.host.ID().String(), Listen: m.listen, Addrs: m.c.Facts.Addrs, Datagrams: m.beacons != nil,
		Twin: m.twin}
	for _, o := range m.others {
		r.Others = append(r.Others, o.Other)
	}
	slices.SortFunc(r.Others, func(a, b Other) int { return cmp.Or(a.Rank-b.Rank, cmp.Compare(a.ID, b.ID)) })
	return r
}
