package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/report"
	"gossiptrainer/topology"
)

const rollProtocol protocol.ID = "/gossiptrainer/rollcall/1.0.0"

// A rollCall finds the members of a run: every peer that is discovered is
// called, must show the same run file and the same secret, and then takes part
// in an assembly. It goes on answering after that, for those who come late and
// those who come back.
type rollCall struct {
	host   host.Host
	log    *slog.Logger
	me     hello
	secret []byte
	count  func(reason string)

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	assembly assembly
	calls    map[peer.ID]*call // who can be spoken to
	sought   map[peer.ID]bool  // who was discovered
	refused  map[peer.ID]*RefusedError
	last     map[peer.ID]error // why somebody discovered is not there
	changed  chan struct{}     // signals any of this
}

func newRollCall(n *Node) *rollCall {
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollCall{
		host: n.host, log: n.log, me: n.me, secret: []byte(n.opts.JoinSecret), count: n.refused.count,
		ctx: ctx, cancel: cancel,
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
		c.talk.stream.Reset()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// found takes in that a peer was discovered.
func (r *rollCall) found(who peer.AddrInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if who.ID == r.host.ID() || r.ctx.Err() != nil || r.full(who.ID) != nil {
		return
	}
	r.host.Peerstore().AddAddrs(who.ID, announced(who.Addrs), peerstore.PermanentAddrTTL)
	if r.sought[who.ID] || r.assembly.mine.phase == committed {
		return
	}
	r.sought[who.ID] = true
	r.wg.Go(func() { r.seek(who.ID) })
}

// seek calls a peer until the roll call is over. The greater id first leaves
// it to the smaller, which may not have discovered it.
func (r *rollCall) seek(id peer.ID) {
	wait := firstRetry
	if r.host.ID() > id {
		sleep(r.ctx, time.Second)
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
			for sleep(r.ctx, time.Second) && r.host.Network().Connectedness(id) == network.Connected {
			}
			wait = firstRetry
			continue
		}
		sleep(r.ctx, wait/2+rand.N(wait/2))
		wait = min(2*wait, lastRetry)
	}
}

// call opens a stream to id and stays on it to its end.
func (r *rollCall) call(id peer.ID) error {
	s, err := openStream(r.ctx, r.host, id, rollProtocol)
	if err != nil {
		return err
	}
	return r.meet(newTalk(s), true)
}

// accept answers a call.
func (r *rollCall) accept(s network.Stream) {
	t := newTalk(s)
	r.failed(t.peer, r.meet(t, false))
}

// meet makes sure of the other end and listens to its ballots.
func (r *rollCall) meet(t *talk, opened bool) error {
	defer t.stream.Reset()
	err := t.greet(r.me, r.me.compare)
	if err == nil {
		err = t.prove(r.secret, r.host.ID(), r.me.Run)
	}
	if err == nil {
		if no := r.roomFor(t.peer); no != nil {
			err = t.refuse(no)
		}
	}
	if err == nil {
		err = t.agree()
	}
	if err != nil {
		return err
	}
	return r.converse(newCall(t, opened == (r.host.ID() < t.peer)))
}

// roomFor refuses who is no member of a run that has all of them.
func (r *rollCall) roomFor(id peer.ID) *RefusedError {
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
	if !r.enter(c) {
		return errSupplanted
	}
	var writing sync.WaitGroup
	writing.Go(c.write)
	defer writing.Wait()
	defer r.remove(c)
	for {
		text, err := c.talk.expect(aboutState, maxMessage)
		if err != nil {
			return err
		}
		b, err := parseBallot(text, r.me.N)
		if err != nil {
			return c.talk.refuse(&RefusedError{Reason: Protocol, Detail: err.Error()})
		}
		r.update(func() { r.assembly.others[c.talk.peer] = b })
	}
}

var errSupplanted = errors.New("there is a call with this peer already")

// enter makes c the call with its peer. Of two at once, both ends keep the one
// that the smaller id has opened.
func (r *rollCall) enter(c *call) bool {
	id := c.talk.peer
	entered := false
	r.update(func() {
		old := r.calls[id]
		if old != nil && old.lower && !c.lower {
			return
		}
		if old != nil {
			old.hangUp()
		}
		entered = true
		r.calls[id] = c
		r.assembly.others[id] = ballot{}
		delete(r.refused, id)
		delete(r.last, id)
		c.tell(r.assembly.mine, r.full(id))
	})
	return entered
}

func (r *rollCall) remove(c *call) {
	c.hangUp()
	r.update(func() {
		if id := c.talk.peer; r.calls[id] == c {
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
	known := r.refused[id]
	if refused && no.Permanent() {
		r.refused[id] = no
	} else {
		r.last[id] = err
	}
	r.signal()
	if refused && (known == nil || known.Reason != no.Reason) {
		r.count("refused " + no.Reason.String())
		r.log.Warn("peer refused", "why", no)
		return
	}
	r.log.Debug("no call", "with", short(id), "err", err)
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

// members waits for the set of members. tell is called at the beginning and
// every 10 seconds with how things are.
func (r *rollCall) members(ctx context.Context, tell func(detail string)) ([]peer.ID, error) {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	tell("looking for peers")
	for {
		r.mu.Lock()
		mine, outcast, detail := r.assembly.mine, r.outcast(), r.describe()
		r.mu.Unlock()
		if mine.phase == committed {
			return mine.set, nil
		}
		if outcast {
			return nil, errors.New(detail)
		}
		select {
		case <-r.changed:
		case <-tick.C:
			tell(detail)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", detail, context.Cause(ctx))
		}
	}
}

// outcast reports whether there is no hope: the run goes on without this peer,
// or nobody talks to it and as many as it needs have refused it for good.
func (r *rollCall) outcast() bool {
	for _, no := range r.refused {
		if no.Reason == RunFull {
			return true
		}
	}
	against := 0
	for id := range r.refused {
		if r.host.Network().Connectedness(id) == network.Connected {
			against++
		}
	}
	return len(r.calls) == 0 && against >= max(1, r.me.N-1)
}

// release ends the calls when all members know that they are agreed, or after
// 5 seconds, and closes the connections that the run does not need.
func (r *rollCall) release(needed func(peer.ID) bool) {
	for deadline := time.Now().Add(helloTime); !r.settled() && time.Now().Before(deadline); {
		if !sleep(r.ctx, flushTime) {
			return
		}
	}
	sleep(r.ctx, flushTime)
	r.mu.Lock()
	members := r.assembly.mine.set
	for _, c := range r.calls {
		c.hangUp()
	}
	r.mu.Unlock()
	for _, id := range members {
		if !needed(id) {
			r.host.Network().ClosePeer(id)
		}
	}
}

// settled reports whether all members are known to have agreed.
func (r *rollCall) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.assembly.all(committed)
}

// describe says who is there and what is missing, for people.
func (r *rollCall) describe() string {
	parts := []string{fmt.Sprintf("%d of %d peers are here", 1+len(r.calls), r.me.N)}
	if names := r.names(slices.Sorted(maps.Keys(r.calls))); names != "" {
		parts[0] += " (this one and " + names + ")"
	}
	if a := &r.assembly; a.mine.phase != gathering {
		parts = append(parts, "not agreed yet: "+r.names(a.lacking()))
	}
	parts = append(parts, r.refusals()...)
	for _, id := range slices.Sorted(maps.Keys(r.last)) {
		if r.calls[id] == nil && r.refused[id] == nil {
			parts = append(parts, fmt.Sprintf("%s not reached: %s", short(id), cause(r.last[id])))
		}
	}
	return strings.Join(parts, "; ")
}

// refusals says once what several peers may have said.
func (r *rollCall) refusals() []string {
	var details []string
	who := make(map[string][]peer.ID)
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		detail := r.refused[id].Detail
		if who[detail] == nil {
			details = append(details, detail)
		}
		who[detail] = append(who[detail], id)
	}
	for i, detail := range details {
		details[i] = fmt.Sprintf("cannot work with %s: %s", r.names(who[detail]), detail)
	}
	return details
}

func (r *rollCall) names(ids []peer.ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, short(id))
	}
	return strings.Join(out, ", ")
}

// callRoll joins a run whose members are not known beforehand.
func (n *Node) callRoll(ctx context.Context) (*roster, error) {
	if n.opts.JoinTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, n.opts.JoinTimeout, fmt.Errorf("no agreement within %v", n.opts.JoinTimeout))
		defer cancel()
	}
	roll := newRollCall(n)
	n.mu.Lock()
	n.roll = roll
	n.mu.Unlock()
	n.discover(roll.found)
	set, err := roll.members(ctx, func(detail string) {
		n.observe(report.Event{Status: &report.Status{Rank: unranked, State: report.Joining, Detail: detail}})
	})
	if err != nil {
		return nil, &NetworkError{Op: "join", Err: err}
	}
	r := &roster{ids: set, self: topology.Rank(slices.Index(set, n.host.ID()))}
	for _, id := range set {
		r.addrs = append(r.addrs, n.host.Peerstore().Addrs(id))
	}
	return r, nil
}
