package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
)

// What comes from a neighbour and cannot be used is counted against it. The
// connections below are authenticated, so a frame that was damaged, or says what
// no worker says, is its sender's own doing: a broken machine, another program,
// or malice. One is an accident; who does it again and again is cut off.

const (
	tolerated = 8    // offences, where a Worker does not say
	forgiven  = 1000 // frames put to use for which an offence is forgotten
	// leftOver is how many frames that are over, or too early, a link may bring. New
	// links begin with some; many more are replayed.
	leftOver = 1024
)

// A ledger is what a neighbour has done.
type ledger struct {
	offences int // not forgotten
	leftOver int // on this link
	good     int // frames put to use since the last offence was forgotten
	by       map[string]int
}

// use enters a frame that was put to use.
func (l *ledger) use() {
	if l.offences == 0 {
		return
	}
	if l.good++; l.good >= forgiven {
		l.good = 0
		l.offences--
	}
}

// enter enters what was refused with err and its reason, and reports whether it
// is an offence.
func (l *ledger) enter(err error, reason string) bool {
	if mistimed(err) {
		if l.leftOver++; l.leftOver <= leftOver {
			return false
		}
	}
	if l.by == nil {
		l.by = make(map[string]int)
	}
	l.by[reason]++
	l.offences++
	return true
}

// String lists the offences by reason.
func (l *ledger) String() string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(l.by)) {
		parts = append(parts, fmt.Sprintf("%d %s", l.by[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// mistimed reports whether err is about a frame that may be honest, but comes at the
// wrong time.
func mistimed(err error) bool {
	return isOne(err, gossip.ErrStale, gossip.ErrDuplicate, gossip.ErrEarly, gossip.ErrUnasked)
}

func isOne(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(target error) bool { return errors.Is(err, target) })
}

// blame counts what the neighbour s has sent and cuts it off when it is too much.
func (d *driver) blame(s *standing, why error) error {
	reason := link.Reason(why)
	d.refused.blame(s.rank, reason)
	if !s.ledger.enter(why, reason) {
		return nil
	}
	limit := d.w.Tolerance
	if limit == 0 {
		limit = tolerated
	}
	if s.ledger.offences < limit {
		return nil
	}
	return d.cutOff(s, why)
}

// cutOff ends what this worker has with the neighbour s. Under Fail that ends the
// run; otherwise this worker waits for another process in its place.
func (d *driver) cutOff(s *standing, why error) error {
	text := fmt.Sprintf("worker %d cut off worker %d in round %d after %d offences (%v), the last: %v",
		d.w.Rank, s.rank, d.round, s.ledger.offences, &s.ledger, why)
	if d.w.Lost == Fail {
		return &NetworkError{Op: "link", Err: errors.New(text)}
	}
	no := &RefusedError{Peer: fmt.Sprintf("of worker %d", s.rank), Reason: Misbehaved, Detail: text}
	d.refused.Count("cut off")
	s.refused, s.cut, s.ledger = no, true, ledger{}
	d.t.Control(gossip.Control{Kind: gossip.BanPeer, Peer: s.rank, Why: no})
	d.log.Error("cut off a neighbour", "neighbour", int(s.rank), "why", text)
	d.status(record.Waiting, fmt.Sprintf("%s; it is let in again when its process has been started anew", text), []int{int(s.rank)})
	return nil
}
