package join

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

const rollProtocol protocol.ID = "/gossiptrainer/rollcall/1.0.0"

// A Config describes the peer of a roll call.
type Config struct {
	Host      *socket.Host
	Gate      *Gate
	Hello     handshake.Hello // describes this peer; Rank is the one whose state it has, or Unranked
	Admission *handshake.Admission
	Detect    time.Duration // longest silence of the other end of a call
	Refused   *socket.Refusals
	Log       *slog.Logger
}

// A RollCall finds the members of a run. It calls every discovered peer. The peer must prove the same
// run file and the same secret, and then takes part in an assembly. Nothing that a peer says before its
// proof changes the outcome. A RollCall still answers after that, for peers that come late or come back.
type RollCall struct {
	c      Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	census  census
	changed chan struct{} // signals a change of the census
}

// Call begins a roll call. The caller must Close it.
func Call(c Config) *RollCall {
	ctx, cancel := context.WithCancel(context.Background())
	r := &RollCall{
		c: c, ctx: ctx, cancel: cancel,
		census: newCensus(c.Host.ID(), c.Hello.N), changed: make(chan struct{}, 1),
	}
	r.census.assembly.holds(c.Host.ID(), c.Hello.Rank)
	c.Host.SetStreamHandler(rollProtocol, r.accept)
	return r
}

// Close ends all calls.
func (r *RollCall) Close() {
	r.c.Host.RemoveStreamHandler(rollProtocol)
	r.cancel()
	r.mu.Lock()
	for _, c := range r.census.calls {
		c.talk.Stream.Reset()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// mostAddrs is how many addresses of a peer a roll call keeps: anybody can announce more.
const mostAddrs = 32

// Found notes a discovered peer and calls it.
func (r *RollCall) Found(who peer.AddrInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if who.ID == r.c.Host.ID() || r.ctx.Err() != nil || r.census.full(who.ID) != nil {
		return
	}
	book := r.c.Host.Peerstore()
	ctx, stop := context.WithCancel(r.ctx)
	forgotten, begin, ok := r.census.remember(who.ID, stop)
	if !begin {
		stop()
	}
	if !ok {
		return
	}
	if forgotten != "" {
		book.ClearAddrs(forgotten)
	}
	if len(book.Addrs(who.ID)) < mostAddrs {
		book.AddAddrs(who.ID, who.Addrs[:min(len(who.Addrs), mostAddrs)], peerstore.PermanentAddrTTL)
	}
	if begin {
		r.wg.Go(func() {
			defer stop()
			r.seek(ctx, who.ID)
		})
	}
}

// Twin notes, for users, that another machine announces the identity of this one.
func (r *RollCall) Twin(twin *socket.TwinError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.census.twin == nil {
		r.census.twin = twin
		r.signal()
	}
}

// seek calls a peer until the roll call is over. The greater id waits a second for the smaller one's
// call, and then calls itself, since the smaller one may not have discovered it.
func (r *RollCall) seek(ctx context.Context, id peer.ID) {
	wait := socket.FirstRetry
	if r.c.Host.ID() > id {
		socket.Sleep(ctx, time.Second)
	}
	for ctx.Err() == nil && !r.over() {
		if c := r.current(id); c != nil {
			select {
			case <-c.done:
			case <-ctx.Done():
			}
			continue
		}
		err := r.call(ctx, id)
		r.failed(id, err)
		if handshake.Lasting(err) {
			for socket.Sleep(ctx, time.Second) && r.c.Host.Network().Connectedness(id) == network.Connected {
			}
			wait = socket.FirstRetry
			continue
		}
		socket.Sleep(ctx, wait/2+rand.N(wait/2))
		wait = min(2*wait, socket.LastRetry)
	}
}

// call opens a stream to id and stays on it to its end.
func (r *RollCall) call(ctx context.Context, id peer.ID) error {
	s, err := r.c.Host.Open(ctx, id, rollProtocol)
	if err != nil {
		return err
	}
	return r.meet(handshake.New(s), true)
}

// accept answers a call.
func (r *RollCall) accept(s network.Stream) {
	t := handshake.New(s)
	r.failed(t.Peer, r.meet(t, false))
}

// meet authenticates the other end and reads its ballots.
func (r *RollCall) meet(t *handshake.Talk, opened bool) error {
	defer t.Stream.Reset()
	err := t.Greet(r.c.Admission, r.c.Hello, func(theirs handshake.Hello) *handshake.RefusedError {
		return r.judge(t.Peer, theirs)
	})
	if err == nil {
		err = t.Agree()
	}
	if err != nil {
		return err
	}
	r.c.Gate.Admitted(t.Stream.Conn())
	return r.converse(newCall(t, opened == (r.c.Host.ID() < t.Peer), r.c.Detect))
}

// judge refuses a peer that knows the secret but has another run file, or that comes when the run has
// all its members.
func (r *RollCall) judge(id peer.ID, theirs handshake.Hello) *handshake.RefusedError {
	if no := r.c.Hello.CompareShape(theirs); no != nil {
		return no
	}
	if held := r.c.Hello.Rank; held != handshake.Unranked && held == theirs.Rank {
		return handshake.Refusal(handshake.OtherRank, "both peers have the state of worker %d: one of them resumes "+
			"from a copy of the other one's run folder", held)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.census.full(id)
}

// converse exchanges ballots until the call ends.
func (r *RollCall) converse(c *call) error {
	if err := r.enter(c); err != nil {
		return err
	}
	var writing sync.WaitGroup
	writing.Go(c.write)
	defer writing.Wait()
	defer r.remove(c)
	for {
		c.talk.Stream.SetReadDeadline(time.Now().Add(r.c.Detect))
		text, err := c.talk.Expect(handshake.AboutBallot, handshake.MaxMessage)
		if err != nil {
			return err
		}
		b, err := parseBallot(text, r.c.Hello.N)
		if err != nil {
			return c.talk.Refuse(handshake.Refusal(handshake.Protocol, "%v", err))
		}
		r.update(func() { r.census.assembly.others[c.talk.Peer] = b })
	}
}

var errSupplanted = errors.New("there is already a call with this peer")

// enter makes c the call with its peer. Of two calls at once, both ends keep the one that the smaller
// id has opened. enter refuses a call of another process of that peer.
func (r *RollCall) enter(c *call) error {
	id := c.talk.Peer
	var err error
	var no *handshake.RefusedError
	r.update(func() {
		old := r.census.calls[id]
		switch {
		case old == nil:
		case old.talk.Theirs.Epoch != c.talk.Theirs.Epoch:
			no = handshake.Duplicated("peer " + handshake.Short(id))
			return
		case old.lower && !c.lower:
			err = errSupplanted
			return
		default:
			old.hangUp()
		}
		r.census.calls[id], r.census.processes[id] = c, c.talk.Theirs.Epoch
		r.census.assembly.others[id] = ballot{}
		r.census.assembly.holds(id, c.talk.Theirs.Rank)
		delete(r.census.refused, id)
		delete(r.census.last, id)
		c.tell(r.census.assembly.mine, r.census.full(id))
	})
	if no != nil {
		return c.talk.Refuse(no)
	}
	return err
}

func (r *RollCall) remove(c *call) {
	c.hangUp()
	r.update(func() {
		if id := c.talk.Peer; r.census.calls[id] == c {
			delete(r.census.calls, id)
			delete(r.census.assembly.others, id)
		}
	})
}

// update changes the census and sends the resulting ballot to all.
func (r *RollCall) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	if r.census.assembly.step() {
		for id, c := range r.census.calls {
			c.tell(r.census.assembly.mine, r.census.full(id))
		}
	}
	r.signal()
}

func (r *RollCall) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// failed notes why a peer is not connected.
func (r *RollCall) failed(id peer.ID, err error) {
	if err == nil || r.ctx.Err() != nil || errors.Is(err, errSupplanted) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.census.miss(id, err, r.c.Detect)
	r.signal()
	handshake.Tell(r.c.Refused, r.c.Log, "peer refused", err)
	r.c.Log.Debug("no call", "with", handshake.Short(id), "err", err)
}

func (r *RollCall) current(id peer.ID) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.census.calls[id]
}

func (r *RollCall) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.census.complete()
}
