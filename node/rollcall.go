package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
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

// A rollCall finds the members of a run: every peer that is discovered is
// called, must show the same run file and the same secret, and then takes part
// in an assembly. It goes on answering after that, for those who come late and
// those who come back.
type rollCall struct {
	host      *socket.Host
	log       *slog.Logger
	me        handshake.Hello
	admission *handshake.Admission
	gate      *gate
	tally     *socket.Refusals
	detect    time.Duration // silence that the other end of a call is allowed
	began     time.Time

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	assembly assembly
	calls    map[peer.ID]*call // who can be spoken to
	sought   map[peer.ID]bool  // who was discovered
	refused  map[peer.ID]*RefusedError
	last     map[peer.ID]error // why somebody discovered is not there
	twin     handshake.DuplicateTimer
	twinned  bool          // another process has this identity
	changed  chan struct{} // signals any of this
}

func newRollCall(n *Node) *rollCall {
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollCall{
		host: n.host, log: n.log, me: n.me, admission: &n.admission, gate: n.gate, tally: &n.refused.Refusals, detect: n.opts.Detect,
		began: time.Now(), ctx: ctx, cancel: cancel,
		assembly: newAssembly(n.host.ID(), n.opts.N),
		calls:    make(map[peer.ID]*call), sought: make(map[peer.ID]bool),
		refused: make(map[peer.ID]*RefusedError), last: make(map[peer.ID]error),
		changed: make(chan struct{}, 1),
	}
	r.host.SetStreamHandler(rollProtocol, r.accept)
	return r
}

// close hangs up.
func (r *rollCall) close() {
	r.host.RemoveStreamHandler(rollProtocol)
	r.cancel()
	r.mu.Lock()
	for _, c := range r.calls {
		c.talk.Stream.Reset()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// found takes in that a peer was discovered.
func (r *rollCall) found(who peer.AddrInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.sought[who.ID]
	if who.ID == r.host.ID() || r.ctx.Err() != nil || r.full(who.ID) != nil || !known && len(r.sought) >= r.room() {
		return
	}
	r.host.Peerstore().AddAddrs(who.ID, socket.Reachable(who.Addrs), peerstore.PermanentAddrTTL)
	if known || r.assembly.mine.phase == committed {
		return
	}
	r.sought[who.ID] = true
	r.wg.Go(func() { r.seek(who.ID) })
}

// room is how many peers a roll call remembers, of those that do not belong.
func (r *rollCall) room() int { return 64 + 4*r.me.N }

// seek calls a peer until the roll call is over. The greater id first leaves
// it to the smaller, which may not have discovered it.
func (r *rollCall) seek(id peer.ID) {
	wait := socket.FirstRetry
	if r.host.ID() > id {
		socket.Sleep(r.ctx, time.Second)
	}
	for r.ctx.Err() == nil && !r.over() {
		if c := r.current(id); c != nil {
			select {
			case <-c.done:
			case <-r.ctx.Done():
			}
			continue
		}
		err := r.call(id)
		r.failed(id, err)
		if lasting(err) {
			for socket.Sleep(r.ctx, time.Second) && r.host.Network().Connectedness(id) == network.Connected {
			}
			wait = socket.FirstRetry
			continue
		}
		socket.Sleep(r.ctx, wait/2+rand.N(wait/2))
		wait = min(2*wait, socket.LastRetry)
	}
}

// call opens a stream to id and stays on it to its end.
func (r *rollCall) call(id peer.ID) error {
	s, err := r.host.Open(r.ctx, id, rollProtocol)
	if err != nil {
		return err
	}
	return r.meet(handshake.New(s), true)
}

// accept answers a call.
func (r *rollCall) accept(s network.Stream) {
	t := handshake.New(s)
	r.failed(t.Peer, r.meet(t, false))
}

// meet makes sure of the other end and listens to its ballots.
func (r *rollCall) meet(t *handshake.Talk, opened bool) error {
	defer t.Stream.Reset()
	err := t.Greet(r.admission, r.me, func(theirs handshake.Hello) *RefusedError { return r.judge(t.Peer, theirs) })
	if err == nil {
		err = t.Agree()
	}
	if err != nil {
		return err
	}
	r.gate.admitted(t.Stream.Conn())
	return r.converse(newCall(t, opened == (r.host.ID() < t.Peer), r.detect))
}

// judge refuses who knows the secret but has another run file, or comes to a
// run that has all its members.
func (r *rollCall) judge(id peer.ID, theirs handshake.Hello) *RefusedError {
	if no := r.me.CompareShape(theirs); no != nil {
		return no
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full(id)
}

func (r *rollCall) full(id peer.ID) *RefusedError {
	if set := r.assembly.mine.set; r.assembly.mine.phase == committed && !slices.Contains(set, id) {
		return &RefusedError{Peer: id.String(), Reason: RunFull, Detail: fmt.Sprintf("run is full (%d of %d)", len(set), r.me.N)}
	}
	return nil
}

// converse exchanges ballots until the call ends.
func (r *rollCall) converse(c *call) error {
	if err := r.enter(c); err != nil {
		return err
	}
	var writing sync.WaitGroup
	writing.Go(c.write)
	defer writing.Wait()
	defer r.remove(c)
	for {
		c.talk.Stream.SetReadDeadline(time.Now().Add(r.detect))
		text, err := c.talk.Expect(handshake.AboutBallot, handshake.MaxMessage)
		if err != nil {
			return err
		}
		b, err := parseBallot(text, r.me.N)
		if err != nil {
			return c.talk.Refuse(handshake.Refusal(Protocol, "%v", err))
		}
		r.update(func() { r.assembly.others[c.talk.Peer] = b })
	}
}

var errSupplanted = errors.New("there is a call with this peer already")

// enter makes c the call with its peer. Of two at once, both ends keep the one
// that the smaller id has opened; one with another process is refused.
func (r *rollCall) enter(c *call) error {
	id := c.talk.Peer
	var err error
	var no *RefusedError
	r.update(func() {
		old := r.calls[id]
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
		r.calls[id] = c
		r.assembly.others[id] = ballot{}
		delete(r.refused, id)
		delete(r.last, id)
		c.tell(r.assembly.mine, r.full(id))
	})
	if no != nil {
		return c.talk.Refuse(no)
	}
	return err
}

func (r *rollCall) remove(c *call) {
	c.hangUp()
	r.update(func() {
		if id := c.talk.Peer; r.calls[id] == c {
			delete(r.calls, id)
			delete(r.assembly.others, id)
		}
	})
}

// update changes what is known and tells everybody what follows from it.
func (r *rollCall) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	if r.assembly.step() {
		for id, c := range r.calls {
			c.tell(r.assembly.mine, r.full(id))
		}
	}
	r.signal()
}

func (r *rollCall) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// failed notes why a peer is not there.
func (r *rollCall) failed(id peer.ID, err error) {
	if err == nil || r.ctx.Err() != nil || errors.Is(err, errSupplanted) {
		return
	}
	var no *RefusedError
	refused := errors.As(err, &no)
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused && no.Reason == Duplicate && no.Remote {
		r.twinned = r.twin.Sure(err, r.detect)
	}
	known := r.refused[id]
	switch {
	case known == nil && !r.sought[id] && len(r.refused)+len(r.last) >= r.room(): // strangers take no more memory
	case refused && no.Permanent():
		r.refused[id] = no
	default:
		r.last[id] = err
	}
	r.signal()
	if refused && (known == nil || known.Reason != no.Reason) {
		r.tally.Tell(r.log, "peer refused", "refused "+no.Reason.String(), "why", no)
		return
	}
	r.log.Debug("no call", "with", handshake.Short(id), "err", err)
}

func lasting(err error) bool {
	var no *RefusedError
	return errors.As(err, &no) && no.Permanent()
}

func (r *rollCall) current(id peer.ID) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

func (r *rollCall) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.assembly.mine.phase == committed
}
