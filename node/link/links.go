package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// Links hold one long-lived stream per neighbour of a worker, and replace a lost one. One goroutine
// uses them and must keep receiving from Events. Any goroutine may call Trouble, Bytes, Messages,
// Carried and Status.
type Links struct {
	s     shared
	watch *network.NotifyBundle // wakes edges of new connections

	mu     sync.Mutex
	edges  map[topology.Rank]*edge
	closed bool
}

// eventRoom is how many events may wait for the worker; with more, readers wait.
const eventRoom = 64

// leastPool bounds the bytes of free buffers of a small run.
const leastPool = 1 << 20

// Start begins to make the links of c.Rows. It fails if c's coder cannot code payloads. The caller must
// Close them.
func Start(c Config) (*Links, error) {
	mail, err := newMailroom(&c)
	if err != nil {
		return nil, err
	}
	c.Limit = max(c.Limit, handshake.MaxStop)
	l := &Links{edges: make(map[topology.Rank]*edge)}
	s := &l.s
	s.Config, s.mail, s.events = c, mail, make(chan Event, eventRoom)
	if c.Rows.Period() != 1 {
		s.order = newOrder()
	}
	s.pool.room = max(leastPool, c.Room)
	s.pool.most.Store(int64(c.Limit))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	l.introduce(c.Hello.Round, c.Hello.Durable)
	for _, rank := range c.Rows.Neighbours() {
		l.meet(rank)
	}
	c.Host.SetStreamHandler(Protocol, l.accept)
	c.Host.SetStreamHandler(socket.ProbeProtocol, l.measured)
	l.watch = &network.NotifyBundle{ConnectedF: l.connected}
	c.Host.Network().Notify(l.watch)
	return l, nil
}

// Close ends all links at once, even without a bye, and waits for their goroutines.
func (l *Links) Close() error {
	l.s.Host.RemoveStreamHandler(Protocol)
	l.s.Host.RemoveStreamHandler(socket.ProbeProtocol)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.s.Host.Network().StopNotify(l.watch)
	l.s.cancel()
	l.s.wg.Wait()
	return nil
}

// Widen lets neighbours send frames with at least limit bytes of payload from now on.
func (l *Links) Widen(limit int) {
	l.s.pool.most.Store(max(l.s.pool.most.Load(), int64(limit)))
}

// Lay says how the payloads of the frames that follow are coded. The coder stays, and so does what all have begun with.
func (l *Links) Lay(out work.Coding) { l.s.mail.Layout, l.s.mail.Span = out.Layout, out.Span }

// Done returns a channel that Close closes.
func (l *Links) Done() <-chan struct{} { return l.s.ctx.Done() }

// connected wakes the edge of a neighbour that has a new connection.
func (l *Links) connected(_ network.Network, c network.Conn) {
	if socket.Dialled(c) {
		return // a contest knows
	}
	if rank, known := l.s.Members.Rank(c.RemotePeer()); known {
		if e := l.find(rank); e != nil {
			e.rouse()
		}
	}
}

// accept answers a stream that another peer has opened. A peer that is no neighbour gets a refusal.
func (l *Links) accept(s network.Stream) {
	t := handshake.New(s)
	rank, known := l.s.Members.Rank(t.Peer)
	e := l.find(rank)
	if e == nil && known && l.s.Fit.Elastic {
		e = l.meet(rank)
	}
	switch {
	case !known:
		l.refuse(t, handshake.Refusal(handshake.Stranger, "peer %s is not in the roster of run %s",
			t.Peer, handshake.Printable(l.s.Admission.Run)))
		s.Conn().Close()
	case e == nil:
		l.refuse(t, handshake.Refusal(handshake.Stranger, "worker %d is no neighbour of worker %d", rank, l.s.Hello.Rank))
	case e.dials:
		e.wake(t)
	default:
		e.greet(t)
	}
}

// measured answers a neighbour that measures a connection, and notes the result.
func (l *Links) measured(s network.Stream) {
	rank, known := l.s.Members.Rank(s.Conn().RemotePeer())
	e := l.find(rank)
	if !known || e == nil {
		s.Reset()
		return
	}
	if speed, err := l.s.Host.AnswerProbe(s); err == nil {
		e.ways.note(socket.Remote(s.Conn()), speed, true, 0)
	}
}

func (l *Links) refuse(t *handshake.Talk, no *handshake.RefusedError) {
	t.TurnAway(l.s.Admission, no, func(err error) { handshake.Tell(l.s.Refused, l.s.Log, "refused a peer", err) })
}

// meet returns the edge with a worker and starts it if it is new; nil when the links are closed.
func (l *Links) meet(rank topology.Rank) *edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.edges[rank]
	if e == nil && !l.closed {
		e = newEdge(&l.s, rank)
		l.edges[rank] = e
		l.s.wg.Go(e.run)
	}
	return e
}

// find returns the edge with a worker, nil if there is none.
func (l *Links) find(rank topology.Rank) *edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.edges[rank]
}

// edge returns the edge with a worker. Under the policy reweight a worker may have one to another that it has never
// called, which has asked it for a place: that edge begins here.
func (l *Links) edge(peer topology.Rank) *edge {
	e := l.find(peer)
	if e == nil && l.s.Fit.Elastic {
		e = l.meet(peer)
	}
	if e == nil {
		panic(fmt.Sprintf("internal error: link: worker %d is no neighbour of worker %d", peer, l.s.Hello.Rank))
	}
	return e
}

// all returns the edges in increasing rank.
func (l *Links) all() []*edge {
	l.mu.Lock()
	defer l.mu.Unlock()
	edges := make([]*edge, 0, len(l.edges))
	for _, e := range l.edges {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b *edge) int { return cmp.Compare(a.rank, b.rank) })
	return edges
}

// Send hands frames to the writers of their links; without a link a frame is lost.
func (l *Links) Send(frames []gossip.Frame) {
	for len(frames) > 0 {
		same := frames[:gossip.Shared(frames)]
		l.sendOne(same)
		frames = frames[len(same):]
	}
}

// sendOne sends one frame to several neighbours.
func (l *Links) sendOne(same []gossip.Frame) {
	if same[0].Stored != nil { // no other neighbour gets it
		same = []gossip.Frame{l.s.mail.fetch(same[0])}
	}
	if same[0].Kind == gossip.Request {
		l.edge(same[0].To).asks(same[0])
	}
	cost := entropy.LinkCost(0)
	if l.s.mail.codes(same[0]) {
		for _, f := range same {
			cost += l.edge(f.To).cost()
		}
	}
	p := l.s.mail.mailing(same[0], len(same), cost)
	for _, f := range same {
		o := outgoing{frame: f, mailing: p}
		if k := l.edge(f.To).current(); k != nil {
			k.out.put(o)
		} else {
			o.close()
		}
	}
}

// Control changes links.
func (l *Links) Control(c gossip.Control) {
	switch c.Kind {
	case gossip.CallPeer:
		if e := l.meet(c.Peer); e != nil {
			e.needs(true)
		}
	case gossip.MeetPeer:
		if e := l.meet(c.Peer); e != nil {
			e.owes()
		}
	case gossip.RestPeer:
		l.edge(c.Peer).needs(false)
	case gossip.LeavePeer:
		l.edge(c.Peer).leave()
		l.drop(c.Peer, errLeft)
	case gossip.DropLink:
		l.drop(c.Peer, c.Why)
	case gossip.BanPeer:
		no := banned(c.Peer, c.Why)
		l.edge(c.Peer).ban(no)
		l.drop(c.Peer, no)
	case gossip.Introduce:
		l.introduce(c.Place, c.Durable)
	case gossip.StopRun:
		l.stop(c.Why)
	}
}

// introduce enters the place of this worker, and that of its oldest checkpoint, into later hellos.
func (l *Links) introduce(place, durable int) {
	l.s.place.Store(int64(place))
	l.s.durable.Store(int64(durable))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.edges {
		e.turn.wake()
	}
}

// banned returns the refusal of a process that is banned because of why.
func banned(peer topology.Rank, why error) *handshake.RefusedError {
	no := handshake.Refusal(handshake.Misbehaved, "%v", why)
	no.Peer = fmt.Sprintf("of worker %d", peer)
	return no
}

// stop tells all neighbours that the run has stopped.
func (l *Links) stop(err error) {
	why, ok := errors.AsType[*handshake.StoppedError](err)
	if !ok {
		panic(fmt.Sprintf("internal error: link: a run is stopped by %T", err))
	}
	text := handshake.EncodeStop(why)
	for _, e := range l.all() {
		if k := e.current(); k != nil {
			k.out.last(outgoing{frame: gossip.Frame{Kind: gossip.Bye, Payload: text}})
		}
	}
}

// drop ends the link to peer.
func (l *Links) drop(peer topology.Rank, why error) {
	if k := l.edge(peer).current(); k != nil {
		k.fail(why)
	}
}

// Recycle returns the payload of a received frame for later frames.
func (l *Links) Recycle(payload []byte) { l.s.pool.Put(payload) }

// Buffers lends the memory of received payloads to the machine, for those that it sends.
func (l *Links) Buffers() gossip.Lender { return &l.s.pool }

// Events delivers the events of all links. It is never closed.
func (l *Links) Events() <-chan Event { return l.s.events }

// Introduction returns the hello for neighbours that meet this worker now.
func (l *Links) Introduction() handshake.Hello { return l.s.hello() }

// Serves reports whether id is a neighbour whose link does not rest.
func (l *Links) Serves(id peer.ID) bool {
	rank, known := l.s.Members.Rank(id)
	if !known {
		return false
	}
	e := l.find(rank)
	return e != nil && !e.rests()
}

// Over returns the connection of the link to id. Where there may be several connections, it waits for the link. It is
// nil if there is no link, or if there is one connection anyway.
func (l *Links) Over(ctx context.Context, id peer.ID) network.Conn {
	rank, known := l.s.Members.Rank(id)
	e := l.find(rank)
	if !known || e == nil || l.s.Ways == nil || len(l.s.Ways(rank)) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handshake.Timeout)
	defer cancel()
	if k := e.link(ctx); k != nil {
		return k.stream.Conn()
	}
	return nil
}

// Trouble describes the link to peer, for users.
func (l *Links) Trouble(peer topology.Rank) string { return l.edge(peer).trouble() }

// Bytes returns the bytes of all links together. Wire counts all bytes at this host's sockets.
func (l *Links) Bytes() (sent, received record.Bytes) {
	for _, e := range l.all() {
		sent.Add(e.sent.Bytes())
		received.Add(e.received.Bytes())
	}
	wire := l.s.Host.Total()
	sent.Wire, received.Wire = wire.Sent, wire.Received
	return sent, received
}

// Messages counts the messages that all links together have sent.
func (l *Links) Messages() record.Messages {
	var m record.Messages
	for _, e := range l.all() {
		m.Add(e.sent.Messages())
	}
	return m
}

// Carried returns the bytes of each link, in increasing rank.
func (l *Links) Carried() []Bytes {
	var out []Bytes
	for _, e := range l.all() {
		out = append(out, e.carried())
	}
	return out
}

// Status returns a snapshot of each link, in increasing rank.
func (l *Links) Status() []Status {
	var out []Status
	for _, e := range l.all() {
		out = append(out, e.status())
	}
	return out
}
