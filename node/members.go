package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// members waits for the set of members. tell is called at the beginning and
// every 10 seconds with how things are.
func (r *rollCall) members(ctx context.Context, tell func(here int, detail string)) ([]peer.ID, error) {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	tell(1, "looking for peers")
	for {
		r.mu.Lock()
		mine, outcast, advice := r.assembly.mine, r.outcast(), r.advice()
		detail := r.describe(time.Since(r.began))
		r.mu.Unlock()
		if mine.phase == committed {
			tell(r.me.N, "all peers are here")
			return mine.set, nil
		}
		if outcast {
			return nil, &handshake.UnwantedError{Detail: detail, Advice: advice}
		}
		select {
		case <-r.changed:
		case <-tick.C:
			r.mu.Lock()
			here, detail := r.here(), r.describe(time.Since(r.began))
			r.mu.Unlock()
			tell(here, detail)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", detail, context.Cause(ctx))
		}
	}
}

// advice returns what to do about the refusals, the first one that says something.
func (r *rollCall) advice() string {
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		if text := r.refused[id].Advice; text != "" {
			return text
		}
	}
	return ""
}

// outcast reports whether there is no hope: another process is in this one's
// place, the run goes on without this peer, or nobody talks to it and as many
// as it needs have refused it for good. Who does not know the secret has no say:
// a stranger must not end a run.
func (r *rollCall) outcast() bool {
	if r.twinned {
		return true
	}
	for _, no := range r.refused {
		if no.Reason == RunFull {
			return true
		}
	}
	against := 0
	for _, no := range r.refused {
		if no.Authentic() {
			against++
		}
	}
	return len(r.calls) == 0 && against >= max(1, r.me.N-1)
}

// release ends the calls when all members know that they are agreed, or after
// 5 seconds, and closes the connections that the run does not need.
func (r *rollCall) release(needed func(peer.ID) bool) {
	for deadline := time.Now().Add(handshake.Timeout); !r.settled() && time.Now().Before(deadline); {
		if !socket.Sleep(r.ctx, flushTime) {
			return
		}
	}
	socket.Sleep(r.ctx, flushTime)
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

// lonely is how long a peer hears of no other before it says what may keep them apart.
const lonely = 20 * time.Second

const apart = "if others are started, multicast (mDNS, UDP port 5353) does not pass: a firewall blocks it, or the " +
	"network does not carry it; then list ids and addresses under peers: in the run file"

// here counts who can be spoken to, this peer included.
func (r *rollCall) here() int { return 1 + len(r.calls) }

// describe says who is there and what is missing after so long a search, for people.
func (r *rollCall) describe(searched time.Duration) string {
	parts := []string{fmt.Sprintf("%d of %d peers are here", r.here(), r.me.N)}
	if names := r.names(slices.Sorted(maps.Keys(r.calls))); names != "" {
		parts[0] += " (this one and " + names + ")"
	}
	if a := &r.assembly; a.mine.phase != gathering {
		parts = append(parts, "not agreed yet: "+r.names(a.lacking()))
	}
	if alone := len(r.calls)+len(r.sought)+len(r.refused)+len(r.last) == 0; alone && searched >= lonely {
		parts = append(parts, fmt.Sprintf("heard of no other in %v: %s", searched.Round(time.Second), apart))
	}
	parts = append(parts, r.refusals()...)
	for _, id := range slices.Sorted(maps.Keys(r.last)) {
		if r.calls[id] == nil && r.refused[id] == nil {
			parts = append(parts, fmt.Sprintf("%s not reached: %s", r.name(id), socket.Cause(r.last[id])))
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
		out = append(out, r.name(id))
	}
	return strings.Join(out, ", ")
}

// name returns the machine and the id of a peer, for people.
func (r *rollCall) name(id peer.ID) string {
	if c := r.calls[id]; c != nil {
		return handshake.MachineName(c.talk.Theirs.Host, handshake.Short(id))
	}
	if no := r.refused[id]; no != nil {
		return handshake.MachineName(no.Host, handshake.Short(id))
	}
	return handshake.Short(id)
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
	set, err := roll.members(ctx, func(here int, detail string) {
		n.observe(record.Event{Status: &record.Status{Rank: handshake.Unranked, State: record.Joining, Detail: detail, Here: here}})
	})
	if err != nil {
		return nil, &NetworkError{Op: opJoin, Err: err}
	}
	r := &roster{ids: set, self: topology.Rank(slices.Index(set, n.host.ID()))}
	for _, id := range set {
		r.addrs = append(r.addrs, n.host.Peerstore().Addrs(id))
	}
	return r, nil
}
