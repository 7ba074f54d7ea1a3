// Package node runs one worker of a run as a libp2p peer: identity, discovery,
// links to the graph neighbours, telemetry and an orderly end.
//
// It drives a gossip.Machine and computes nothing itself; it knows neither
// configuration files nor the names of algorithms, models and data sets.
//
// This package is the driver. Its parts are packages below it. Package socket has the host, limits and counters.
// Package identity has keys and secrets, and handshake what two peers say before frames. Above these stand join
// (the members of a run), telemetry (the status topic), link (frames) and vector (whole vectors).
package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/join"
	"gossiptrainer/node/link"
	"gossiptrainer/node/socket"
	"gossiptrainer/node/telemetry"
	"gossiptrainer/node/vector"
	"gossiptrainer/topology"
)

// Values of Options.Transport and Options.Security.
const (
	TCP   = socket.TCP
	QUIC  = socket.QUIC
	TLS   = socket.TLS
	Noise = socket.Noise
	None  = socket.None
)

// defaultDetect is how long a neighbour may be silent if Options.Detect is 0.
const defaultDetect = 15 * time.Second

// A Section is a part of the settings that all peers of a run must share.
type Section = handshake.Section

// A Peer is one entry of the roster; its index is its rank.
type Peer = join.Peer

// Options name the run of this peer and the addresses at which others reach it.
type Options struct {
	RunID      string             // at most 64 bytes; peers of one run share it
	Sections   []Section          // compared one by one when peers meet
	Host       string             // name of this machine for users; cut at 63 bytes
	N          int                // workers
	Dim        int                // parameters
	Roster     []Peer             // all workers in rank order; empty: mDNS and roll call
	Held       *topology.Rank     // without a roster: the rank whose state this peer has, which it keeps; nil: none
	Contacts   []peer.AddrInfo    // without a roster: peers to call, besides those that mDNS finds
	JoinSecret string             // proves that a peer belongs to the run; needed besides a roster where there is one
	Identity   *identity.Identity // nil: a new one for this run only
	Listen     []string           // multiaddrs; empty: all interfaces, free ports
	Transport  string             // TCP (also "") or QUIC
	Security   string             // for TCP: TLS (also ""), Noise or None
	Trusted    []netip.Prefix     // networks besides loopback on which Security may be None
	// Network limits the bytes that this peer sends, over TCP only; the zero value sets no limit.
	Network shape.Network
	// Throttled says that Throttle may be called, over TCP only.
	Throttled bool
	// Detect is how long a neighbour may be silent before it counts as lost, at least 1 second; 0 is
	// 15 seconds. All peers need the same value.
	Detect time.Duration
	// JoinTimeout bounds the roll call; 0 waits for ever.
	JoinTimeout time.Duration
	Logger      *slog.Logger // nil: silent
	// Observe gets this peer's events and those that others publish, one at a time. It must not call
	// the node.
	Observe func(record.Event)

	find func(found func(peer.AddrInfo)) // in place of mDNS, for tests
}

// A Node is one peer. Its life is New, Join, Run, Finish, Close.
type Node struct {
	opts Options
	host *socket.Host
	gate *join.Gate
	log  *slog.Logger
	me   handshake.Hello // sent to every peer; Join fills in the rank

	admission handshake.Admission
	vectors   *vector.Service

	refused refusals
	vitals  vitals
	ctx     context.Context // until Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	observing sync.Mutex // one event at a time

	mu sync.Mutex
	stage
}

// A stage is the progress of a node, under its lock.
type stage struct {
	roster *join.Roster // nil before Join knows it
	roll   *join.RollCall
	links  *link.Links
	topic  *telemetry.Topic
	closed bool
	lost   vector.Absence // of a worker during an average
}

// New starts a peer that listens but knows no other peer yet. The caller must Close it.
func New(o Options) (*Node, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	n := &Node{opts: o, vitals: vitals{rank: handshake.Unranked}}
	n.log = slog.New(&placedHandler{o.Logger.Handler(), &n.vitals}).
		With("run", o.RunID, "peer", handshake.Short(o.Identity.Peer()))
	n.gate = join.NewGate(o.N, &n.refused.Refusals, n.log)
	if err := n.takeRoster(&o); err != nil {
		return nil, err
	}
	h, err := socket.New(socket.Config{
		Key: o.Identity.Key(), KeyFile: o.Identity.Path(),
		Listen: o.Listen, Transport: o.Transport, Security: o.Security, Trusted: o.Trusted,
		Workers: o.N, Network: o.Network, Throttled: o.Throttled, Gate: n.gate, Keep: n.gate.Belongs,
	})
	if cannot, ok := errors.AsType[*socket.ListenError](err); ok {
		return nil, &NetworkError{Op: "start", Err: cannot}
	}
	if err != nil {
		return nil, err
	}
	n.host = h
	if o.Security == None {
		n.log.Warn("links are not encrypted", "security", None, "trusted", o.Trusted)
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.admission = handshake.Admission{Self: h.ID(), Run: o.RunID, Secret: []byte(o.JoinSecret)}
	n.me = handshake.Hello{
		N: o.N, Dim: o.Dim, Rank: handshake.Unranked, Durable: gossip.Undurable, Epoch: randomEpoch(),
		Host: o.Host[:min(len(o.Host), handshake.MaxHost)],
	}
	n.me.Declare(o.Sections)
	n.vectors = vector.New(vector.Config{
		Host: h, Hello: n.hello, Admission: &n.admission, Detect: o.Detect, Refused: &n.refused.Refusals, Log: n.log,
	})
	if n.roster != nil {
		n.adopt(n.roster)
	}
	return n, nil
}

// complete checks the options and fills in defaults.
func (o *Options) complete() error {
	switch {
	case o.RunID == "" || len(o.RunID) > handshake.MaxRunID:
		return fmt.Errorf("node: run id %q: want 1 to %d bytes", o.RunID, handshake.MaxRunID)
	case o.N < 1 || o.N > handshake.MaxWorkers:
		return fmt.Errorf("node: %d workers: want 1 to %d", o.N, handshake.MaxWorkers)
	case o.Dim < 1:
		return fmt.Errorf("node: %d parameters: want at least 1", o.Dim)
	case len(o.Sections) > handshake.MaxSections:
		return fmt.Errorf("node: %d sections: want at most %d", len(o.Sections), handshake.MaxSections)
	case o.Transport != "" && o.Transport != TCP && o.Transport != QUIC:
		return fmt.Errorf("node: transport %q: want %q or %q", o.Transport, socket.TCP, socket.QUIC)
	case o.Transport == QUIC && (o.Network.Limited() || o.Throttled):
		return errors.New("node: limits are kept over tcp only: choose transport tcp")
	case o.Detect != 0 && o.Detect < time.Second:
		return fmt.Errorf("node: detect %v: want at least 1s", o.Detect)
	}
	if err := o.checkSecurity(); err != nil {
		return err
	}
	for _, s := range o.Sections {
		if s.Name == "" || len(s.Name) > handshake.MaxSectionName {
			return fmt.Errorf("node: section %q: want a name of 1 to %d bytes", s.Name, handshake.MaxSectionName)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Detect == 0 {
		o.Detect = defaultDetect
	}
	if o.Observe == nil {
		o.Observe = func(record.Event) {}
	}
	if o.Identity == nil {
		who, err := identity.Ephemeral()
		if err != nil {
			return err
		}
		o.Identity = who
	}
	return nil
}

// ID returns the peer id in its usual text form.
func (n *Node) ID() string { return n.host.ID().String() }

// Addrs returns the multiaddrs at which others reach this peer.
func (n *Node) Addrs() []string {
	var out []string
	for _, a := range n.host.Addrs() {
		out = append(out, a.String())
	}
	return out
}

// SetRoster names all workers in rank order, before Join. Callers that learn addresses only when the
// peers have started use it.
func (n *Node) SetRoster(peers []Peer) error {
	r, err := n.parse(peers)
	if err == nil {
		n.adopt(r)
	}
	return err
}

func (n *Node) parse(peers []Peer) (*join.Roster, error) {
	r, err := join.ParseRoster(peers, n.opts.N, n.opts.Identity.Peer())
	if errors.Is(err, join.ErrNotListed) {
		err = &NetworkError{Op: opJoin, Err: err}
	}
	return r, err
}

func (n *Node) adopt(r *join.Roster) {
	r.Store(n.host)
	n.gate.Know(r.IDs)
	n.host.Know(r.Self, r.IDs)
	n.mu.Lock()
	n.roster = r
	n.me.Rank = int(r.Self)
	n.vitals.settle(n.me.Rank)
	n.mu.Unlock()
	n.vectors.Know(r.Members)
}

// hello returns what this peer says to members that it meets without a link.
func (n *Node) hello() handshake.Hello {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.me
}

// Join returns this peer's rank: at once with a roster or alone, otherwise when the roll call is
// complete. Its errors are of type *NetworkError.
func (n *Node) Join(ctx context.Context) (topology.Rank, error) {
	n.mu.Lock()
	r := n.roster
	n.mu.Unlock()
	if r == nil && n.opts.N == 1 {
		r = &join.Roster{Members: handshake.Members{IDs: []peer.ID{n.host.ID()}}}
		n.adopt(r)
	}
	if r == nil {
		var err error
		if r, err = n.callRoll(ctx); err != nil {
			return 0, err
		}
		n.adopt(r)
	}
	if n.roll == nil && r.Incomplete() {
		n.discover(n.located)
	}
	return r.Self, nil
}

// callRoll joins a run without a roster.
func (n *Node) callRoll(ctx context.Context) (*join.Roster, error) {
	if n.opts.JoinTimeout > 0 {
		var cancel context.CancelFunc
		late := fmt.Errorf("no agreement within %v", n.opts.JoinTimeout)
		ctx, cancel = context.WithTimeoutCause(ctx, n.opts.JoinTimeout, late)
		defer cancel()
	}
	hello := n.me
	if held := n.opts.Held; held != nil && int(*held) < n.opts.N {
		hello.Rank = int(*held)
	}
	roll := join.Call(join.Config{
		Host: n.host, Gate: n.gate, Hello: hello, Admission: &n.admission, Detect: n.opts.Detect,
		Refused: &n.refused.Refusals, Log: n.log,
	})
	n.mu.Lock()
	n.roll = roll
	n.mu.Unlock()
	n.discover(roll.Found)
	for _, c := range n.opts.Contacts {
		roll.Found(c)
	}
	r, err := roll.Roster(ctx, func(here int, detail string) {
		n.observe(record.Event{Status: &record.Status{
			Rank: handshake.Unranked, State: record.Joining, Detail: detail, Here: here,
		}})
	})
	if err != nil {
		return nil, &NetworkError{Op: opJoin, Err: err}
	}
	return r, nil
}

// discover looks for peers of the run by multicast until the node is closed.
func (n *Node) discover(found func(peer.AddrInfo)) {
	found = join.Others(n.host, found, n.sameIdentity)
	if n.opts.find != nil {
		n.opts.find(found)
		return
	}
	n.wg.Go(func() { join.Discover(n.ctx, n.host, n.opts.RunID, found, n.log) })
}

// sameIdentity tells the user of a machine that announces the identity of this one.
func (n *Node) sameIdentity(twin *socket.TwinError) {
	twin.Tell(&n.refused.Refusals, n.log)
	n.mu.Lock()
	roll := n.roll
	n.mu.Unlock()
	if roll != nil {
		roll.Twin(twin)
	}
}

// located stores the address of a worker that the roster names without one.
func (n *Node) located(who peer.AddrInfo) {
	if rank, known := n.roster.Rank(who.ID); known && rank != n.roster.Self {
		n.host.Peerstore().AddAddrs(who.ID, who.Addrs, peerstore.PermanentAddrTTL)
	}
}

// Stop ends the run for all workers, this one included; each reports this peer
// and the reason. Before Run it does nothing.
func (n *Node) Stop(reason string) {
	t := n.Topic()
	if t == nil {
		return
	}
	n.vectors.Leave()
	why := &StoppedError{Rank: n.roster.Self, Reason: reason}
	t.Stop(why)
	t.StopOthers(why)
	t.Flush(time.Now())
}

// Close ends everything that New and Join started.
func (n *Node) Close() error {
	n.mu.Lock()
	done, roll, links, topic := n.closed, n.roll, n.links, n.topic
	n.closed = true
	n.mu.Unlock()
	if done {
		return nil
	}
	n.cancel()
	n.gate.Close()
	n.vectors.Close()
	var errs []error
	if topic != nil {
		topic.Close()
	}
	if links != nil {
		errs = append(errs, links.Close())
	}
	if roll != nil {
		roll.Close()
	}
	n.wg.Wait()
	return errors.Join(append(errs, n.host.Close())...)
}

// joinTopic returns the status topic of this node, which stays the same if it runs again.
func (n *Node) joinTopic(w *Worker) (*telemetry.Topic, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.topic != nil {
		return n.topic, nil
	}
	var notice func(from topology.Rank, text []byte) func()
	if w.Program != nil {
		notice = w.Program.Notice
	}
	var err error
	n.topic, err = telemetry.Join(telemetry.Config{
		Host: &pinnedHost{n.gate.Guard(n.host), n}, Run: n.opts.RunID, Members: n.roster.Members, Process: n.me.Epoch,
		Limits:  record.Limits{Peers: n.opts.N, Rounds: w.mostRounds(n.opts.N)},
		Slowest: n.host.Slowest(), Observe: n.observe, Notice: notice, Log: n.log,
	})
	return n.topic, err
}

// Topic returns the status topic, nil before Run.
func (n *Node) Topic() *telemetry.Topic {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.topic
}

// observe hands one event at a time to the observer.
func (n *Node) observe(e record.Event) {
	if s := e.Status; s != nil && s.Rank == n.me.Rank {
		n.vitals.say(*s)
	}
	n.observing.Lock()
	defer n.observing.Unlock()
	n.opts.Observe(e)
}

func randomEpoch() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
