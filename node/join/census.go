package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// A census holds a roll call's knowledge of the peers of a run.
type census struct {
	n         int // members of the run
	began     time.Time
	assembly  assembly
	calls     map[peer.ID]*call                   // calls with connected peers
	processes map[peer.ID]uint64                  // the last one of each peer that has called
	sought    map[peer.ID]context.CancelFunc      // discovered peers, with the end of the search for each
	refused   map[peer.ID]*handshake.RefusedError // by peers that have proven the secret, or of such
	last      map[peer.ID]error                   // why another peer is not connected
	timer     handshake.DuplicateTimer
	duplicate bool              // another process has this identity
	twin      *socket.TwinError // a machine that announces this identity; nil without one
}

func newCensus(self peer.ID, n int) census {
	return census{
		n: n, began: time.Now(), assembly: newAssembly(self, n),
		calls: make(map[peer.ID]*call), processes: make(map[peer.ID]uint64), sought: make(map[peer.ID]context.CancelFunc),
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

// remember notes a discovered peer. It reports whether there is room for it, and whether the search for it begins,
// which stop then ends. A stranger may announce many peers. It must not keep the others out, so a peer that could not
// be met makes room: the forgotten one.
func (r *census) remember(id peer.ID, stop context.CancelFunc) (forgotten peer.ID, begin, ok bool) {
	if r.sought[id] != nil || r.complete() {
		return "", false, true
	}
	if len(r.sought) >= r.room() {
		for old := range r.sought {
			if r.last[old] != nil && r.calls[old] == nil {
				forgotten = old
				break
			}
		}
		if forgotten == "" {
			return "", false, false
		}
		r.sought[forgotten]()
		delete(r.sought, forgotten)
		delete(r.last, forgotten)
	}
	r.sought[id] = stop
	return forgotten, true, true
}

// miss notes why a peer is not connected.
func (r *census) miss(id peer.ID, err error, detect time.Duration) {
	no, refused := errors.AsType[*handshake.RefusedError](err)
	if refused && no.Reason == handshake.Duplicate && no.Remote {
		r.duplicate = r.timer.Sure(err, detect)
	}
	known := r.refused[id] != nil || r.last[id] != nil || r.sought[id] != nil
	switch {
	case !known && len(r.refused)+len(r.last) >= r.room(): // strangers must not fill the memory
	case refused && no.Permanent():
		r.refused[id] = no
	default:
		r.last[id] = err
	}
}

// advice returns the fix of the first refusal that has one.
func (r *census) advice() string {
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		if text := r.refused[id].Advice; text != "" {
			return text
		}
	}
	return ""
}

// hopeless reports whether this peer cannot join any more. Another process has its place, the run is complete without
// it, or no peer is connected and all others that it needs have refused it for good. All have proven the secret.
func (r *census) hopeless() bool {
	if r.duplicate {
		return true
	}
	for _, no := range r.refused {
		if no.Reason == handshake.RunFull {
			return true
		}
	}
	return len(r.calls) == 0 && len(r.refused) >= max(1, r.n-1)
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
	alone := len(r.calls) == 0 && searched >= lonely
	switch {
	case r.twin != nil:
		parts = append(parts, socket.Cause(r.twin))
	case alone && len(r.sought)+len(r.refused)+len(r.last) == 0:
		parts = append(parts, fmt.Sprintf("heard of no other in %v: %s", searched.Round(time.Second), apart))
	}
	parts = append(parts, r.refusals()...)
	return strings.Join(append(parts, r.missed(alone)...), "; ")
}

// mostMissed is how many peers that were not met a description names, of each kind: a stranger may announce many.
const mostMissed = 4

// missed describes the peers that were not met, and those that have proven nothing. After a long search these are the
// likely reason.
func (r *census) missed(long bool) (parts []string) {
	unproven := make(map[string][]peer.ID) // by the difference
	var unreached []peer.ID
	for _, id := range slices.Sorted(maps.Keys(r.last)) {
		no, ok := errors.AsType[*handshake.UnprovenError](r.last[id])
		switch {
		case r.calls[id] != nil || r.refused[id] != nil:
		case ok:
			unproven[no.Detail] = append(unproven[no.Detail], id)
		default:
			unreached = append(unreached, id)
		}
	}
	for _, id := range unreached[:min(len(unreached), mostMissed)] {
		parts = append(parts, fmt.Sprintf("%s not reached: %s", r.name(id), socket.Cause(r.last[id])))
	}
	if more := len(unreached) - mostMissed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more not reached", more))
	}
	for i, detail := range slices.Sorted(maps.Keys(unproven)) {
		if i == mostMissed {
			parts = append(parts, fmt.Sprintf("and %d more answers without a proof", len(unproven)-i))
			break
		}
		ids := unproven[detail]
		names := r.names(ids[:min(len(ids), mostMissed)])
		if more := len(ids) - mostMissed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text := fmt.Sprintf("no proof from %s: %s", names, detail)
		if no, _ := errors.AsType[*handshake.UnprovenError](r.last[ids[0]]); long && !no.Remote {
			text = "likely the reason: " + text
			if no.Advice != "" {
				text += ": " + no.Advice
			}
		}
		parts = append(parts, text)
	}
	return parts
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
