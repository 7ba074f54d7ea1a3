// Package fault describes what happens to the peers and the links of a run, and when.
//
// A script is a list of faults, and a Play is the state of a script during a run. The package reads no clock and kills
// no process. Package sim plays a script on simulated peers and package lab on real processes, so that both mean the
// same by a fault.
package fault

import (
	"fmt"
	"strings"
	"time"

	"gossiptrainer/topology"
)

// A Kind is a kind of fault.
type Kind uint8

// Kinds of faults. All but Kill end by themselves. The last three are for members that come and go: each happens in a
// moment, and their peers are ids of members.
const (
	Kill  Kind = iota // the process of a peer is killed, and started again
	Cut               // the link of two peers is lost with the bytes in flight, and cannot be made again
	Hang              // a peer stops: it neither computes nor reads nor writes
	Slow              // the gradients of a peer take By times as long
	Split             // Cut between all peers on different sides
	Rate              // the uplink of a peer carries Bits per second
	Join              // Count processes ask to join
	Leave             // a member leaves, as with Ctrl-C
	Die               // the process of a member is killed, for good
)

// String names the kind as a run file does.
func (k Kind) String() string {
	return [...]string{"kill", "cut", "hang", "slow", "partition", "rate", "join", "leave", "die"}[k]
}

// A Moment is when a fault begins.
type Moment struct {
	Round int           // when the first peer begins this round, ≥ 0
	Timed bool          // or when the run has lasted for Time
	Time  time.Duration // since the first round began, ≥ 0
}

// String writes a moment as a run file does.
func (m Moment) String() string {
	if m.Timed {
		return m.Time.String()
	}
	return fmt.Sprintf("round %d", m.Round)
}

// Never is the duration of a fault that does not end.
const Never time.Duration = -1

// A Fault is one entry of a script.
type Fault struct {
	At    Moment
	Kind  Kind
	Peers []topology.Rank   // two for Cut, none for Split and Join, one for the others
	Sides [][]topology.Rank // Split: each peer is on one side
	By    float64           // Slow: factor, ≥ 1
	Bits  float64           // Rate: per second, above 0
	Count int               // Join: newcomers, at least 1
	// Lasts is how long the fault lasts. For Kill it is the time until the peer is started again, 0 = at once.
	Lasts time.Duration
}

// String describes a fault for people.
func (f Fault) String() string {
	var whom []string
	for _, rank := range f.Peers {
		whom = append(whom, fmt.Sprint(rank))
	}
	text := strings.TrimSpace(fmt.Sprintf("%v %s", f.Kind, strings.Join(whom, "-")))
	switch f.Kind {
	case Split:
		text += fmt.Sprintf(" %v", f.Sides)
	case Join:
		text += fmt.Sprintf(" %d", f.Count)
	case Slow:
		text += fmt.Sprintf(" by %g", f.By)
	case Rate:
		text += fmt.Sprintf(" to %g bit/s", f.Bits)
	}
	switch {
	case f.Lasts == Never && f.Kind == Kill:
		text += " for good"
	case f.Lasts > 0:
		text += fmt.Sprintf(" for %v", f.Lasts)
	}
	return text
}

// First returns the first peer that a fault names.
func (f *Fault) First() topology.Rank {
	for _, peers := range append([][]topology.Rank{f.Peers}, f.Sides...) {
		if len(peers) > 0 {
			return peers[0]
		}
	}
	return 0
}

// Parts reports whether a fault separates two peers.
func (f *Fault) Parts(i, j topology.Rank) bool {
	switch f.Kind {
	case Cut:
		return min(i, j) == min(f.Peers[0], f.Peers[1]) && max(i, j) == max(f.Peers[0], f.Peers[1])
	case Split:
		return f.side(i) != f.side(j)
	}
	return false
}

// side returns the side of a peer, −1 if the fault names none: all these peers are on one side.
func (f *Fault) side(rank topology.Rank) int {
	for side, peers := range f.Sides {
		for _, peer := range peers {
			if peer == rank {
				return side
			}
		}
	}
	return -1
}
