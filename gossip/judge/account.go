package judge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A standing is whether a neighbour is listened to.
//
//	state   event                                      next
//	heard   more offences than are tolerated           banned
//	banned  another process in its place is met        heard
type standing uint8

const (
	heard  standing = iota
	banned          // what still comes from it is thrown away
)

// An account is what a neighbour has done.
type account struct {
	rank     topology.Rank
	state    standing
	offences int // not forgotten
	late     int // frames on this link that were over, or too early
	good     int // frames put to use since the last offence was forgotten
	by       map[string]int
}

// account returns that of a worker.
func (j *Judge) account(rank topology.Rank) *account {
	i := slices.IndexFunc(j.accounts, func(a account) bool { return a.rank == rank })
	if i < 0 {
		i = len(j.accounts)
		j.accounts = append(j.accounts, account{rank: rank})
	}
	return &j.accounts[i]
}

// use enters a frame that was put to use.
func (a *account) use() {
	if a.offences == 0 {
		return
	}
	if a.good++; a.good >= forgiven {
		a.good = 0
		a.offences--
	}
}

// enter enters what was refused with err and its reason, and reports whether it is an
// offence.
func (a *account) enter(err error, reason string) bool {
	if mistimed(err) {
		if a.late++; a.late <= leftOver {
			return false
		}
	}
	if a.by == nil {
		a.by = make(map[string]int)
	}
	a.by[reason]++
	a.offences++
	return true
}

// String lists the offences by reason.
func (a *account) String() string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(a.by)) {
		parts = append(parts, fmt.Sprintf("%d %s", a.by[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// mistimed reports whether err is about a frame that may be honest, but comes at the
// wrong time.
func mistimed(err error) bool {
	for _, reason := range []error{gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrUnasked} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
