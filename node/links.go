package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

const linkProtocol protocol.ID = "/gossiptrainer/link/1.0.0"

// links is the Transport over libp2p: one long-lived stream per neighbour,
// opened by the smaller peer id, so that no two peers hold two.
type links struct {
	host      *socket.Host
	log       *slog.Logger
	me        handshake.Hello
	admission *handshake.Admission
	roster    handshake.Members
	limit     int              // bytes of payload
	paced     bool             // neighbours are in the same exchange or the next
	out       []topology.Rank  // whom the worker tells, by its row
	elastic   bool             // lost neighbours are done without, and others take their place
	lead      int              // exchanges that one neighbour can be ahead of the other, if paced
	detect    time.Duration    // silence that a neighbour is allowed
	journal   *journal.Journal // nil: no message is sent twice
	events    chan Event
	guests    chan guest
	place     atomic.Int64 // exchanges finished, for the hello
	durable   atomic.Int64 // those of the newest checkpoint
	refused   *refusals
	pool      pool
	coding    *coding // nil: payloads go out as they are
	heads     heads

	watch  *network.NotifyBundle // wakes edges
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	edges  map[topology.Rank]*edge
	closed bool
}

var (
	_ Transport = (*links)(nil)
	_ meter     = (*links)(nil)
)

// eventRoom is how many events may wait for the worker; readers wait beyond.
const eventRoom = 64

// newLinks starts making the links that the row of w asks for.
func newLinks(n *Node, w *Worker, c *coding) *links {
	ctx, cancel := context.WithCancel(context.Background())
	l := &links{
		host: n.host, log: n.log, me: n.me, admission: &n.admission, roster: n.roster.Members, limit: max(w.MaxPayload, handshake.MaxStop), paced: !w.Asynchronous, elastic: w.Lost == Reweight, lead: gossip.SlotsOf(w.Machine).Lead,
		detect: n.opts.Detect, out: w.Row.Out,
		edges: make(map[topology.Rank]*edge), events: make(chan Event, eventRoom), guests: make(chan guest),
		refused: &n.refused, coding: c, ctx: ctx, cancel: cancel,
	}
	l.journal = w.journal()
	l.durable.Store(int64(w.durable()))
	l.place.Store(int64(w.place()))
	for _, rank := range neighbours(w.Row) {
		l.meet(rank)
	}
	if w.Lost == Reweight && w.Save != nil && !w.Asynchronous {
		l.host.SetStreamHandler(joinProtocol, l.sponsor)
	}
	l.host.SetStreamHandler(linkProtocol, l.accept)
	l.watch = &network.NotifyBundle{ConnectedF: l.connected}
	l.host.Network().Notify(l.watch)
	return l
}

// connected wakes the edge with a neighbour that is there, perhaps again.
func (l *links) connected(_ network.Network, c network.Conn) {
	if rank, known := l.roster.Rank(c.RemotePeer()); known {
		if e := l.find(rank); e != nil {
			e.rouse()
		}
	}
}

// neighbours returns whom row hears or tells, in increasing rank.
func neighbours(row topology.Row) []topology.Rank {
	all := slices.Clone(row.Out)
	for _, e := range row.In {
		all = append(all, e.Peer)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// serves reports whether id is a neighbour.
func (l *links) serves(id peer.ID) bool {
	rank, known := l.roster.Rank(id)
	return known && l.find(rank) != nil
}

// hello returns what to say of this peer now.
func (l *links) hello() handshake.Hello {
	h := l.me
	h.Round, h.Durable = int(l.place.Load()), int(l.durable.Load())
	return h
}

// accept answers a stream that another peer has opened. Strangers get a
// refusal before anything they send is read.
func (l *links) accept(s network.Stream) {
	t := handshake.New(s)
	rank, known := l.roster.Rank(t.Peer)
	e := l.find(rank)
	if e == nil && known && l.elastic {
		e = l.meet(rank)
	}
	switch {
	case !known:
		l.refuse(t, handshake.Refusal(Stranger, "peer %s is not in the roster of run %s", t.Peer, handshake.Printable(l.admission.Run)))
		s.Conn().Close()
	case e == nil:
		l.refuse(t, handshake.Refusal(Stranger, "worker %d is no neighbour of worker %d", rank, l.me.Rank))
	case e.dials:
		e.answer(t)
	default:
		e.greet(t)
	}
}

func (l *links) refuse(t *handshake.Talk, no *RefusedError) {
	no.Peer = t.Peer.String()
	l.refused.Tell(l.log, "refused a peer", "refused "+no.Reason.String(), "why", no)
	t.Refuse(no)
}

// emit delivers an event, or gives up when the transport is closed.
func (l *links) emit(e Event) {
	select {
	case l.events <- e:
	case <-l.ctx.Done():
	}
}

// Send hands frames to the writers of their links, where there are any.
func (l *links) Send(frames []gossip.Frame) {
	for len(frames) > 0 {
		same := frames[:gossip.Shared(frames)]
		l.sendOne(same)
		frames = frames[len(same):]
	}
}

// sendOne sends one message to several neighbours.
func (l *links) sendOne(same []gossip.Frame) {
	toll := entropy.Toll(0)
	if l.coding != nil {
		for _, f := range same {
			toll += l.edge(f.To).toll()
		}
	}
	p, number := l.coding.mailing(same[0], len(same), toll), l.heads.number(len(same))
	for _, f := range same {
		o := outgoing{frame: f, mailing: p, message: number}
		if k := l.edge(f.To).current(); k != nil {
			k.out.put(o)
		} else {
			o.close()
		}
	}
}

// Control does something to links.
func (l *links) Control(c gossip.Control) {
	switch c.Kind {
	case gossip.CallPeer:
		l.meet(c.Peer)
	case gossip.LeavePeer:
		l.leave(c.Peer)
	case gossip.DropLink:
		l.drop(c.Peer, c.Why)
	case gossip.BanPeer:
		l.edge(c.Peer).ban(c.Why)
		l.drop(c.Peer, c.Why)
	case gossip.Introduce:
		l.place.Store(int64(c.Place))
		l.durable.Store(int64(c.Durable))
	case gossip.StopRun:
		l.stop(c.Why)
	}
}

// stop says on all links that the run is over early.
func (l *links) stop(err error) {
	why, ok := errors.AsType[*StoppedError](err)
	if !ok {
		panic(fmt.Sprintf("internal error: node: a run is stopped by %T", err))
	}
	text := handshake.EncodeStop(why)
	for _, e := range l.all() {
		if k := e.current(); k != nil {
			k.out.only(outgoing{frame: gossip.Frame{Kind: gossip.Bye, Payload: text}})
		}
	}
}

// drop ends the link to peer.
func (l *links) drop(peer topology.Rank, why error) {
	if k := l.edge(peer).current(); k != nil {
		k.fail(why)
	}
}

func (l *links) edge(peer topology.Rank) *edge {
	e := l.find(peer)
	if e == nil {
		panic(fmt.Sprintf("internal error: node: worker %d is no neighbour of worker %d", peer, l.me.Rank))
	}
	return e
}

// Recycle gives a buffer back for later frames.
func (l *links) Recycle(payload []byte) { l.pool.put(payload) }

// Events delivers what happens on the links.
func (l *links) Events() <-chan Event { return l.events }

// Trouble says how the link to peer is.
func (l *links) Trouble(peer topology.Rank) string { return l.edge(peer).trouble() }

// Bytes returns what all links together have carried; Wire is all that passed
// this host's sockets.
func (l *links) Bytes() (sent, received record.Bytes) {
	for _, e := range l.all() {
		sent.Payload += e.sent.payload.Load()
		sent.Stream += e.sent.stream.Load()
		received.Payload += e.received.payload.Load()
		received.Stream += e.received.stream.Load()
	}
	wire := l.host.Total()
	sent.Wire, received.Wire = wire.Out, wire.In
	return sent, received
}

// Messages counts what all links together have sent.
func (l *links) Messages() record.Messages {
	var m record.Messages
	for _, e := range l.all() {
		m.Count += e.sent.messages.Load()
		m.Stream += e.sent.ofMessages.Load()
	}
	return m
}

// perLink returns what each link has carried, in increasing rank.
func (l *links) perLink() []LinkBytes {
	var out []LinkBytes
	for _, e := range l.all() {
		out = append(out, e.carried())
	}
	return out
}

// hangUp closes a connection. That may take seconds, for its last words.
func (l *links) hangUp(c network.Conn) { l.wg.Go(func() { c.Close() }) }

// Close ends all links and waits for what served them.
func (l *links) Close() error {
	l.host.RemoveStreamHandler(linkProtocol)
	l.host.RemoveStreamHandler(joinProtocol)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.host.Network().StopNotify(l.watch)
	l.cancel()
	l.wg.Wait()
	return nil
}
