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

// A standing says whether a worker accepts frames of a neighbour.
//
//	state   event                                      next
//	heard   more offences than are tolerated           banned
//	banned  the worker meets a new process of it       heard
type standing uint8

const (
	heard  standing = iota
	banned          // its remaining frames are thrown away
)

// An account counts a neighbour's good and bad frames.
type account struct {
	rank     topology.Rank
	state    standing
	offences int // not forgotten
	late     int // frames on this link that were too late or too early
	good     int // frames used since the last offence was forgiven
	by       map[string]int
}

// account returns the account of a worker.
func (j *Judge) account(rank topology.Rank) *account {
	i := slices.IndexFunc(j.accounts, func(a account) bool { return a.rank == rank })
	if i < 0 {
		i = len(j.accounts)
		j.accounts = append(j.accounts, account{rank: rank})
	}
	return &j.accounts[i]
}

// use counts a frame that the layer inside has used.
func (a *account) use() {
	if a.offences == 0 {
		return
	}
	if a.good++; a.good >= forgiven {
		a.good = 0
		a.offences--
	}
}

// enter counts a refusal with err and its reason, and reports whether it is an offence. Up to late mistimed frames on a
// link are none.
func (a *account) enter(err error, reason string, late int) bool {
	if mistimed(err) {
		if a.late++; a.late <= late {
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

// mistimed reports whether err is about a frame that may be honest, but comes at the wrong time.
func mistimed(err error) bool {
	for _, reason := range []error{gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrUnasked} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
