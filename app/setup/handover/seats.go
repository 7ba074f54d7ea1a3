package handover

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
)

// A Manner is the way in which the machines of a run will find each other.
type Manner uint8

// Manners.
const (
	Undecided Manner = iota // the first machine decides
	Multicast               // each hears the others
	Gathered                // the run file will list the addresses of all, once all are here
	Listed                  // the run file lists them already
	Called                  // members come and go: the run file names some to call, or multicast finds them
)

// A stage is how far a machine has come.
type stage uint8

const (
	checking stage = iota // it examines the offer
	ready                 // it has accepted
	granted               // it has the secret, and may be writing its files
	joined                // it has its files
)

// A seat belongs to a machine. If the machine gives up before it has the secret, the seat is free again.
type seat struct {
	id    peer.ID
	port  int    // for its links
	at    string // multiaddr for them
	ip    netip.Addr
	here  bool // connected
	stage stage
}

// seats count the uses of a token. They are a state machine without connections and clock.
type seats struct {
	total  int
	manner Manner
	listed []peer.ID // of Listed, by rank
	taken  []*seat   // in the order of the requests
}

// Reasons of refusals, for users of the machine that is refused.
const (
	usedUp = "this token has been used: it admits %d, and all have come"
	twice  = "a process with the identity of this machine is joining already: " +
		"end it, or name another key with --set node.key=FILE"
	sameKey     = "a machine with the identity of this one takes part already: %s"
	noMulticast = "multicast from %s does not arrive at this machine, and the machines that have joined before find " +
		"each other by multicast: end the invitation with Ctrl-C, start again with --roster, and join on all machines"
	notListed = "its id %s is not in the roster of the run file: name its key with --set node.key=FILE, or add the id " +
		"under peers:"
)

// enter gives a machine a seat. The first machine decides the manner. A machine that has the secret may come again.
// After it has written its files, a caller with its key from another address is a machine with a copy of the key.
func (s *seats) enter(id peer.ID, from netip.Addr, self string, heard bool) (*seat, *handshake.RefusedError) {
	if s.manner == Listed && !slices.Contains(s.listed, id) {
		return nil, turnedAway(handshake.Stranger, fmt.Sprintf(notListed, id),
			fmt.Sprintf("its id %s is not in the roster of the run file: add it under peers: there", id))
	}
	if s.manner == Multicast && !heard {
		return nil, turnedAway(handshake.NotReady, fmt.Sprintf(noMulticast, self), "multicast from this machine does not "+
			"arrive there: end the invitation with Ctrl-C, start again with --roster, and join on all machines")
	}
	if i := s.index(id); i >= 0 {
		if s.taken[i].here {
			return nil, turnedAway(handshake.Duplicate, twice, "a process with the identity of that machine is joining "+
				"already: end it there, or let that machine name another key with --set node.key=FILE")
		}
		if s.taken[i].stage == joined && s.taken[i].ip != from {
			return nil, turnedAway(handshake.Duplicate, fmt.Sprintf(sameKey, "it has joined from "+s.taken[i].ip.String()),
				"another machine with the identity of that one has joined from "+s.taken[i].ip.String())
		}
		s.taken[i].here, s.taken[i].ip = true, from
		return s.taken[i], nil
	}
	if len(s.taken) == s.total {
		return nil, handshake.Refusal(handshake.RunFull, usedUp, s.total)
	}
	if s.manner == Undecided {
		s.manner = Gathered
		if heard {
			s.manner = Multicast
		}
	}
	taken := &seat{id: id, ip: from, here: true}
	s.taken = append(s.taken, taken)
	return taken, nil
}

// turnedAway returns a refusal with words for the machine that is refused, and for the one that invites.
func turnedAway(why handshake.Reason, there, here string) *handshake.RefusedError {
	return &handshake.RefusedError{Reason: why, Detail: here, There: there}
}

func (s *seats) index(id peer.ID) int {
	return slices.IndexFunc(s.taken, func(t *seat) bool { return t.id == id })
}

// leave notes that a machine has gone. One without the secret frees its seat.
func (s *seats) leave(left *seat) {
	left.here = false
	if left.stage < granted {
		s.taken = slices.DeleteFunc(s.taken, func(t *seat) bool { return t == left })
	}
}

// reach notes how far a machine has come.
func (s *seats) reach(by *seat, now stage) { by.stage = max(by.stage, now) }

// complete reports whether as many machines have accepted as the token admits.
func (s *seats) complete() bool { return s.count(ready) == s.total }

// count returns how many machines have come at least so far.
func (s *seats) count(least stage) int {
	n := 0
	for _, t := range s.taken {
		if t.stage >= least {
			n++
		}
	}
	return n
}

// rank returns the rank of a machine, Unranked where multicast decides it.
func (s *seats) rank(of *seat) int {
	switch s.manner {
	case Listed:
		return slices.Index(s.listed, of.id)
	case Gathered:
		return 1 + s.index(of.id) // the host is worker 0
	}
	return Unranked
}
