package join

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
)

// A census holds a roll call's knowledge of the peers of a run.
type census struct {
	n         int // members of the run
	began     time.Time
	assembly  assembly
	calls     map[peer.ID]*call // calls with connected peers
	sought    map[peer.ID]bool  // discovered peers
	refused   map[peer.ID]*handshake.RefusedError
	last      map[peer.ID]error // why a discovered peer is not connected
	timer     handshake.DuplicateTimer
	duplicate bool // another process has this identity
}

func newCensus(self peer.ID, n int) census {
	return census{
		n: n, began: time.Now(), assembly: newAssembly(self, n),
		calls: make(map[peer.ID]*call), sought: make(map[peer.ID]bool),
		refused: make(map[peer.ID]*handshake.RefusedError), last: make(map[peer.ID]error),
	}
}

// complete reports whether the members have agreed.
func (r *census) complete() bool { return r.assembly.mine.phase == committed }

// full refuses a peer if the run already has all its members.
func (r *census) full(id peer.ID) *handshake.RefusedError {
	set := r.assembly.mine.set
	if !r.complete() || slices.Contains(set, id) {
		return nil
	}
	no := handshake.Refusal(handshake.RunFull, "run is full (%d of %d)", len(set), r.n)
	no.Peer = id.String()
	return no
}

// room is how many peers outside the run a roll call remembers.
func (r *census) room() int { return 64 + 4*r.n }

// hasRoom reports whether a roll call can remember a discovered peer.
func (r *census) hasRoom(id peer.ID) bool {
	return r.full(id) == nil && (r.sought[id] || len(r.sought) < r.room())
}

// miss notes why a peer is not connected. If the reason is a refusal, it returns that, and whether it
// differs from the last one.
func (r *census) miss(id peer.ID, err error, detect time.Duration) (no *handshake.RefusedError, news bool) {
	refused := errors.As(err, &no)
	if refused && no.Reason == handshake.Duplicate && no.Remote {
		r.duplicate = r.timer.Sure(err, detect)
	}
	known := r.refused[id]
	switch {
	case known == nil && !r.sought[id] && len(r.refused)+len(r.last) >= r.room(): // strangers must not fill the memory
	case refused && no.Permanent():
		r.refused[id] = no
	default:
		r.last[id] = err
	}
	return no, refused && (known == nil || known.Reason != no.Reason)
}

// advice returns the remedy of the first refusal that has one.
func (r *census) advice() string {
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		if text := r.refused[id].Advice; text != "" {
			return text
		}
	}
	return ""
}

// hopeless reports whether this peer cannot join any more. Another process has its place, the run is
// complete without it, or no peer is connected and all others that it needs have refused it for good.
// A peer that does not know the secret does not count: a stranger must not end a run.
func (r *census) hopeless() bool {
	if r.duplicate {
		return true
	}
	for _, no := range r.refused {
		if no.Reason == handshake.RunFull {
			return true
		}
	}
	against := 0
	for _, no := range r.refused {
		if no.Authentic() {
			against++
		}
	}
	return len(r.calls) == 0 && against >= max(1, r.n-1)
}

// lonely is how long a peer hears of no other before it names possible causes.
const lonely = 20 * time.Second

const apart = "if others are started, multicast (mDNS, UDP port 5353) does not pass: a firewall blocks it, or the " +
	"network does not carry it; then list ids and addresses under peers: in the run file"

// here counts the connected peers, this one included.
func (r *census) here() int { return 1 + len(r.calls) }

// describe names, for users, the connected peers and those missing after so long a search.
func (r *census) describe(searched time.Duration) string {
	parts := []string{fmt.Sprintf("%d of %d peers are here", r.here(), r.n)}
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

// refusals describes the refusals, equal ones once.
func (r *census) refusals() []string {
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

func (r *census) names(ids []peer.ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, r.name(id))
	}
	return strings.Join(out, ", ")
}

// name returns the machine and the id of a peer, for users.
func (r *census) name(id peer.ID) string {
	if c := r.calls[id]; c != nil {
		return handshake.MachineName(c.talk.Theirs.Host, handshake.Short(id))
	}
	if no := r.refused[id]; no != nil {
		return handshake.MachineName(no.Host, handshake.Short(id))
	}
	return handshake.Short(id)
}
