package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

const (
	uncalled = 200 * time.Millisecond // until who does not open the streams connects nevertheless
	steady   = 5 * time.Second        // a link that lived this long was no failure
)

// An edge is what this worker has with one neighbour, through all the links
// they make and lose. Its run is the only one that begins and ends links, so
// that the goroutines of the last one are over before the next one is told of.
type edge struct {
	links   *links
	rank    topology.Rank
	id      peer.ID
	dials   bool                 // this end opens the streams
	hears   bool                 // it is sent messages
	arrived chan *handshake.Talk // streams that the other end has opened and both agreed on
	awake   chan struct{}        // signals that there is a connection
	log     *slog.Logger

	sent, received        carried
	lost, silent, retries atomic.Int64 // see LinkStatus

	mu    sync.Mutex
	link  *link // nil while there is none
	since time.Time
	ever  bool   // there has been a link
	life  uint64 // epoch of the process at its other end
	left  bool   // this worker has gone on without it
	last  error  // why there is none
	twin  handshake.DuplicateTimer
	host  string // name of its machine, "" if unknown

	outlaw uint64        // epoch of the last process that was banned
	banned *RefusedError // nil if none was
}

// carried counts the frames of an edge in one direction, in bytes.
type carried struct {
	payload, stream      atomic.Int64
	messages, ofMessages atomic.Int64 // data frames with a payload, and their bytes on the stream
	pace                 pace
}

// count enters a frame whose payload took so many bytes on the stream.
func (c *carried) count(kind wire.Kind, payload, streamed int) {
	size := int64(wire.HeaderLen + streamed)
	if kind == wire.Data && payload > 0 {
		c.payload.Add(int64(payload))
		c.messages.Add(1)
		c.ofMessages.Add(size)
	}
	c.stream.Add(size)
}

func newEdge(l *links, rank topology.Rank) *edge {
	id := l.roster.IDs[rank]
	return &edge{
		links: l, rank: rank, id: id, dials: l.host.ID() < id, hears: slices.Contains(l.out, rank),
		arrived: make(chan *handshake.Talk, 1), awake: make(chan struct{}, 1), since: time.Now(),
		log: l.log.With("neighbour", int(rank)),
	}
}

// run makes links until the transport is closed or the neighbour has left.
func (e *edge) run() {
	defer e.clear()
	ctx, wait := e.links.ctx, socket.FirstRetry
	for ctx.Err() == nil {
		t, err := e.next(ctx)
		if err != nil {
			e.failed(err)
			e.rest(ctx, err, &wait)
			continue
		}
		began := time.Now()
		if left := e.serve(ctx, t); left && e.dials {
			return
		}
		if time.Since(began) > steady {
			wait = socket.FirstRetry
		}
		if e.dials {
			e.rest(ctx, nil, &wait)
		}
	}
}

// next waits for a stream on which both ends have agreed.
func (e *edge) next(ctx context.Context) (*handshake.Talk, error) {
	if e.dials {
		return e.dial(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	var knocking sync.WaitGroup
	defer knocking.Wait()
	defer end()
	knocking.Go(func() {
		for wait := uncalled; socket.Sleep(ctx, wait); wait = min(2*wait, socket.LastRetry) {
			e.knock(ctx)
		}
	})
	select {
	case t := <-e.arrived: // a link at its other end, which must not be kept waiting
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rouse ends the rest before the next try.
func (e *edge) rouse() {
	select {
	case e.awake <- struct{}{}:
	default:
	}
}

// dial opens a stream to the neighbour and greets it.
func (e *edge) dial(ctx context.Context) (*handshake.Talk, error) {
	s, err := e.links.host.Open(ctx, e.id, linkProtocol)
	if err != nil {
		return nil, err
	}
	t := handshake.New(s)
	if err := e.settle(t); err != nil {
		return nil, err
	}
	return t, nil
}

// reach says how far the neighbour may be from this worker.
func (e *edge) reach() handshake.Reach {
	r := handshake.Reach{Lead: e.links.lead}
	if j := e.links.journal; j != nil {
		r.Kept = true
		if e.hears {
			r.Oldest, _ = j.Span()
		}
	}
	return r
}

// recognise refuses a neighbour whose process is banned, one that has a link
// already, as another process, and one that has been started anew without a
// checkpoint where its place does not tell: it has lost its model.
func (e *edge) recognise(theirs handshake.Hello) *RefusedError {
	if no := e.outlawed(theirs); no != nil {
		return no
	}
	if e.current() != nil && e.renewed(theirs) {
		return handshake.Duplicated(fmt.Sprintf("worker %d", e.rank))
	}
	if e.links.elastic && e.links.paced && theirs.Round > 0 && e.renewed(theirs) { // somebody has given it a place
		e.forget()
		return nil
	}
	if e.forsaken() {
		return handshake.Refusal(LeftBehind, "worker %d has gone on without worker %d", e.links.me.Rank, e.rank)
	}
	if e.links.paced && !e.links.elastic || theirs.Durable != gossip.Undurable || !e.renewed(theirs) {
		return nil
	}
	return handshake.Refusal(LostState, "worker %d has been started anew and keeps no checkpoint", e.rank)
}

// renewed reports whether theirs is of another process than that of the last link.
func (e *edge) renewed(theirs handshake.Hello) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ever && e.life != theirs.Epoch
}

// settle says hello and agrees or refuses.
func (e *edge) settle(t *handshake.Talk) error {
	mine := e.links.hello()
	err := t.Greet(e.links.admission, mine, func(theirs handshake.Hello) *RefusedError {
		if no := mine.CompareShape(theirs); no != nil {
			return no
		}
		if no := e.recognise(theirs); no != nil {
			return no
		}
		if no := mine.ComparePlace(theirs, e.rank, e.reach()); no != nil && !(e.links.elastic && no.Reason == LostState) {
			return no
		}
		return nil
	})
	e.learn(t.Theirs.Host)
	if err == nil {
		err = t.Agree()
	}
	if err != nil {
		t.Stream.ResetWithError(handshake.CodeRefused)
	}
	return err
}

// machine returns the name of the neighbour's machine, "" if it is unknown.
func (e *edge) machine() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.host
}

// learn notes the name of the neighbour's machine, if it was told.
func (e *edge) learn(host string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host != "" {
		e.host = handshake.Printable(host)
	}
}

// failed notes that no link came about, and tells the worker of a refusal.
func (e *edge) failed(err error) {
	if e.links.ctx.Err() != nil {
		return
	}
	e.retries.Add(1)
	e.mu.Lock()
	e.last = err
	twin := e.twin.Sure(err, e.links.detect)
	e.mu.Unlock()
	var no *RefusedError
	if !errors.As(err, &no) {
		e.log.Debug("no link", "err", err)
		return
	}
	e.links.refused.Tell(e.log, "link refused", "refused "+no.Reason.String(), "why", no, "permanent", no.Permanent())
	if no.Permanent() || twin {
		e.links.emit(Event{Kind: Refused, Peer: e.rank, Err: no})
	}
}

// rest waits before the next try, longer each time. After a lasting refusal
// it waits until the other process is gone, or has been given a place.
func (e *edge) rest(ctx context.Context, err error, wait *time.Duration) {
	var no *RefusedError
	if errors.As(err, &no) && no.Permanent() && !(e.links.elastic && no.AboutPlace()) {
		for socket.Sleep(ctx, time.Second) && e.links.host.Network().Connectedness(e.id) == network.Connected {
		}
		*wait = socket.FirstRetry
		return
	}
	retry := time.NewTimer(*wait/2 + rand.N(*wait/2))
	defer retry.Stop()
	*wait = min(2**wait, socket.LastRetry)
	select {
	case <-retry.C:
	case <-e.awake:
		*wait = socket.FirstRetry
	case <-ctx.Done():
	}
}

// serve runs one link from beginning to end and reports whether the neighbour
// has left for good.
func (e *edge) serve(ctx context.Context, t *handshake.Talk) (left bool) {
	k := newLink(e, t)
	met := gossip.Meeting{
		Theirs: t.Theirs.Round, Ours: t.Mine.Round, Durable: t.Theirs.Durable, Kept: t.Mine.Durable,
		Process: t.Theirs.Epoch, Renewed: e.renewed(t.Theirs),
	}
	e.set(k, nil)
	e.links.emit(Event{Kind: LinkUp, Peer: e.rank, Met: met})
	e.log.Debug("link up")
	k.start()
	select {
	case <-k.over:
	case newer := <-e.arrived:
		k.fail(errors.New("the neighbour has made a new link"))
		if old := t.Stream.Conn(); old != newer.Stream.Conn() {
			e.links.hangUp(old) // the neighbour has given it up, or cannot tell us
		}
		e.putBack(newer)
	case <-ctx.Done():
		k.fail(ctx.Err())
	}
	err, left := k.wait()
	e.set(nil, err)
	if left {
		e.log.Debug("neighbour has left")
		e.links.emit(Event{Kind: PeerDone, Peer: e.rank})
		return true
	}
	e.lost.Add(1)
	if _, silent := errors.AsType[*silentError](err); silent {
		e.silent.Add(1)
	}
	e.log.Info("link down", "why", err)
	e.links.emit(Event{Kind: LinkDown, Peer: e.rank, Err: err})
	return false
}

// set enters the link there is now, or nil and why there is none.
func (e *edge) set(k *link, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.link, e.last, e.since = k, why, time.Now()
	if k != nil {
		e.ever, e.life = true, k.epoch
	}
}

func (e *edge) current() *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.link
}
