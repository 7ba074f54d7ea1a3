//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A kind of fault.
type kind string

// The kinds of fault that can hit a peer.
const (
	kill    kind = "kill -9"             // the process is gone and comes back
	storm   kind = "restart storm"       // killed again as soon as it trains again, several times
	outage  kind = "kill -9 of all"      // every process is gone and comes back
	death   kind = "kill -9 for good"    // the process is gone and stays so
	freeze  kind = "SIGSTOP"             // the process stands still, the kernel answers for it
	cable   kind = "cable pulled"        // its interface is down
	split   kind = "ring split in two"   // it and the next half of the ring hear nothing of the others
	slow    kind = "100 kbit/s"          // its cable carries no more
	corrupt kind = "corrupted bytes"     // single bits flip on its cable
	garbage kind = "garbage at the port" // strangers connect and send random bytes
	full    kind = "disk full"           // nothing more fits where it writes
)

// anyRank stands for a rank that the seed draws.
const anyRank = -1

// A fault hits a peer once all peers have finished a given round.
type fault struct {
	kind  kind
	rank  int // anyRank before draw
	round int
	lasts time.Duration
}

// spread bounds the random delay of a fault, in rounds.
const spread = 40

// drawn returns f with the peer and the round that the seed draws.
func (f fault) drawn(r *rand.Rand, peers int) fault {
	if f.rank == anyRank {
		f.rank = r.IntN(peers)
	}
	f.round += r.IntN(spread)
	return f
}

// strikes reports whether the fault hits the peer itself. Log lines of such a peer do not count as notice by the
// others.
func (f fault) strikes(rank, peers int) bool {
	switch {
	case rank < 0:
		return false
	case f.kind == outage:
		return true
	case f.kind == split:
		return (rank-f.rank+peers)%peers < peers/2
	}
	return rank == f.rank
}

// deadly reports whether the fault ends processes.
func (f fault) deadly() bool { return f.kind == kill || f.kind == storm || f.kind == outage }

func (f fault) String() string {
	return fmt.Sprintf("%s, peer %d, round %d, %v", f.kind, f.rank, f.round, f.lasts)
}
