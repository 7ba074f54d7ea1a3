package join

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// reportEvery is the time between two reports of a roll call.
const reportEvery = 10 * time.Second

// Roster waits until the members have agreed, and returns them with their addresses. It calls tell at
// the beginning and every 10 seconds, with the number of connected peers, this one included, and a
// text for users about the missing ones.
func (r *RollCall) Roster(ctx context.Context, tell func(here int, detail string)) (*Roster, error) {
	set, err := r.members(ctx, tell)
	if err != nil {
		return nil, err
	}
	out := &Roster{Members: handshake.Members{IDs: set, Self: topology.Rank(slices.Index(set, r.c.Host.ID()))}}
	for _, id := range set {
		out.Addrs = append(out.Addrs, r.c.Host.Peerstore().Addrs(id))
	}
	return out, nil
}

func (r *RollCall) members(ctx context.Context, tell func(here int, detail string)) ([]peer.ID, error) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	tell(1, "looking for peers")
	for {
		r.mu.Lock()
		mine, hopeless, advice := r.census.assembly.mine, r.census.hopeless(), r.census.advice()
		detail := r.census.describe(time.Since(r.census.began))
		if r.census.duplicate {
			advice = r.c.Host.NewKey()
		}
		r.mu.Unlock()
		if mine.phase == committed {
			tell(r.c.Hello.N, r.complete())
			return mine.set, nil
		}
		if hopeless {
			return nil, &handshake.UnwantedError{Detail: detail, Advice: advice}
		}
		select {
		case <-r.changed:
		case <-tick.C:
			r.mu.Lock()
			here, detail := r.census.here(), r.census.describe(time.Since(r.census.began))
			r.mu.Unlock()
			tell(here, detail)
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", detail, context.Cause(ctx))
		}
	}
}

// complete says, for users, that all members are there, and which of them take the places of others in a run that
// resumes.
func (r *RollCall) complete() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := []string{"all peers are here"}
	for _, id := range r.census.assembly.newcomers() {
		who := "this one"
		if id != r.c.Host.ID() {
			who = r.census.name(id)
		}
		rank := slices.Index(r.census.assembly.mine.set, id)
		parts = append(parts, fmt.Sprintf("%s takes the place of worker %d, whose state it does not have", who, rank))
	}
	return strings.Join(parts, "; ")
}

// Hosts returns the names of the machines of the peers that are connected.
func (r *RollCall) Hosts() map[peer.ID]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[peer.ID]string)
	for id, c := range r.census.calls {
		all[id] = handshake.Printable(c.talk.Theirs.Host)
	}
	return all
}

// Process waits for a call with another peer, and returns the number of its process.
func (r *RollCall) Process(ctx context.Context, id peer.ID) (uint64, error) {
	for {
		r.mu.Lock()
		number, known := r.census.processes[id]
		r.mu.Unlock()
		if known {
			return number, nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// Full reports whether others have agreed on their members without this peer.
func (r *RollCall) Full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, no := range r.census.refused {
		if no.Reason == handshake.RunFull {
			return true
		}
	}
	return false
}

// Here returns the number of connected peers, this one included.
func (r *RollCall) Here() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.census.here()
}

// settleTime is the time for the last ballots to arrive.
const settleTime = 200 * time.Millisecond

// Release ends the calls when all members know of the agreement, or after 5 seconds, and closes the
// connections that the run does not need.
func (r *RollCall) Release(needed func(peer.ID) bool) {
	for deadline := time.Now().Add(handshake.Timeout); !r.settled() && time.Now().Before(deadline); {
		if !socket.Sleep(r.ctx, settleTime) {
			return
		}
	}
	socket.Sleep(r.ctx, settleTime)
	r.mu.Lock()
	members := r.census.assembly.mine.set
	for _, c := range r.census.calls {
		c.hangUp()
	}
	r.mu.Unlock()
	for _, id := range members {
		if !needed(id) {
			r.c.Host.Network().ClosePeer(id)
		}
	}
}

// settled reports whether all members are known to have agreed.
func (r *RollCall) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.census.assembly.all(committed)
}
