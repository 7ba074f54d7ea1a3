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

// A census is what a roll call knows of the peers of a run.
type census struct {
	n         int // members of the run
	began     time.Time
	assembly  assembly
	calls     map[peer.ID]*call // peers that can be spoken to
	sought    map[peer.ID]bool  // peers that were discovered
	refused   map[peer.ID]*handshake.RefusedError
	last      map[peer.ID]error // why a peer that was discovered is not there
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

// full refuses a peer that comes to a run that has all its members.
func (r *census) full(id peer.ID) *handshake.RefusedError {
	set := r.assembly.mine.set
	if !r.complete() || slices.Contains(set, id) {
		return nil
	}
	no := handshake.Refusal(handshake.RunFull, "run is full (%d of %d)", len(set), r.n)
	no.Peer = id.String()
	return no
}

// room is how many peers a roll call remembers, of those that do not belong.
func (r *census) room() int { return 64 + 4*r.n }

// hasRoom reports whether a peer that was discovered may be remembered.
func (r *census) hasRoom(id peer.ID) bool {
	return r.full(id) == nil && (r.sought[id] || len(r.sought) < r.room())
}

// miss notes why a peer is not there. It returns the refusal, if that is why, and whether it
// is another one than before.
func (r *census) miss(id peer.ID, err error, detect time.Duration) (no *handshake.RefusedError, news bool) {
	refused := errors.As(err, &no)
	if refused && no.Reason == handshake.Duplicate && no.Remote {
		r.duplicate = r.timer.Sure(err, detect)
	}
	known := r.refused[id]
	switch {
	case known == nil && !r.sought[id] && len(r.refused)+len(r.last) >= r.room(): // strangers take no more memory
	case refused && no.Permanent():
		r.refused[id] = no
	default:
		r.last[id] = err
	}
	return no, refused && (known == nil || known.Reason != no.Reason)
}

// advice returns what to do about the refusals, the first one that says something.
func (r *census) advice() string {
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		if text := r.refused[id].Advice; text != "" {
			return text
		}
	}
	return ""
}

// hopeless reports whether there is no hope: another process is in this one's
// place, the run goes on without this peer, or no peer talks to it and as many
// as it needs have refused it for good. A peer that does not
// know the secret has no say: a stranger must not end a run.
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

// lonely is how long a peer hears of no other before it says what may keep them apart.
const lonely = 20 * time.Second

const apart = "if others are started, multicast (mDNS, UDP port 5353) does not pass: a firewall blocks it, or the " +
	"network does not carry it; then list ids and addresses under peers: in the run file"

// here counts the peers that can be spoken to, this one included.
func (r *census) here() int { return 1 + len(r.calls) }

// describe names, for people, the peers that are there and those missing after so long a
// search.
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

// refusals says once what several peers may have said.
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

// name returns the machine and the id of a peer, for people.
func (r *census) name(id peer.ID) string {
	if c := r.calls[id]; c != nil {
		return handshake.MachineName(c.talk.Theirs.Host, handshake.Short(id))
	}
	if no := r.refused[id]; no != nil {
		return handshake.MachineName(no.Host, handshake.Short(id))
	}
	return handshake.Short(id)
}
