package screen

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// patience is how long starting and joining may last before they are explained. A peer reports its own waits only after
// some patience.
const patience = 10 * time.Second

// maxExplained bounds the lines of an explanation: if one peer of a ring is missing, soon all peers wait.
const maxExplained = 3

// A wait is one cause of waiting, with all peers that share it.
type wait struct {
	who     []int
	others  int // estimate of the peers without a row that wait too
	state   record.State
	missing []int
	more    int // missing besides
	detail  string
	since   time.Time
}

// Waiting explains lasting waits, one line each: the waiting peers, the missing peers, and the reason. Waits for a peer
// that does not itself wait come first, because they cause the others.
func (d *Dashboard) Waiting(now time.Time) []string {
	var lines []string
	for _, e := range d.explain(now) {
		lines = append(lines, e.line)
	}
	return lines
}

// An explanation is a line about a wait. The display prints it again only if the cause
// changes. The cause holds no durations, because they change all the time.
type explanation struct{ line, cause string }

func (d *Dashboard) explain(now time.Time) []explanation {
	if d.notice != "" && d.started.IsZero() {
		return []explanation{{d.notice, reason(d.notice)}} // before ranks are known there is no more to say
	}
	waits := d.waits(now)
	slices.SortStableFunc(waits, func(x, y wait) int { return d.blame(y) - d.blame(x) })
	var all []explanation
	for i, w := range waits {
		if i == maxExplained {
			more := fmt.Sprintf("and %d more waits", len(waits)-i)
			all = append(all, explanation{more, more})
			break
		}
		all = append(all, explanation{w.explain(now), w.cause()})
	}
	return all
}

// waits returns the lasting waits, equal ones together, in rank order.
func (d *Dashboard) waits(now time.Time) []wait {
	var waits []wait
	for i := range d.peers {
		p := &d.peers[i]
		if !p.waits(now) || p.State == record.Starting && d.allFound() {
			continue
		}
		same := func(w wait) bool {
			return w.state == p.State && reason(w.detail) == reason(p.Detail) && slices.Equal(w.missing, p.Missing)
		}
		of := slices.IndexFunc(waits, same)
		if of < 0 {
			of = len(waits)
			waits = append(waits, wait{state: p.State, missing: p.Missing, more: p.More, detail: p.Detail, since: p.since})
		}
		waits[of].who = append(waits[of].who, p.number)
		if p.since.Before(waits[of].since) {
			waits[of].since = p.since
		}
	}
	for i := range waits {
		rows := len(waits[i].who)
		waits[i].others = min(rows*d.each, d.all()) - rows
	}
	return waits
}

// allFound reports whether the run has all its peers. A peer without a report is then not starting any more.
func (d *Dashboard) allFound() bool { return !d.started.IsZero() && d.here == d.all() }

// waits reports whether the wait of a peer needs an explanation.
func (p *peer) waits(now time.Time) bool {
	switch p.State {
	case record.Waiting:
		return true
	case record.Starting, record.Joining:
		return now.Sub(p.since) >= patience
	}
	return false
}

// blame counts the missing peers of a wait that do not wait themselves.
func (d *Dashboard) blame(w wait) int {
	n := 0
	for _, rank := range w.missing {
		if p := d.row(rank); !d.run.Open && p != nil && p.State != record.Waiting {
			n++
		}
	}
	return n
}

// cause names a wait by the parts that do not change with time.
func (w wait) cause() string { return fmt.Sprint(w.who, w.state, w.missing, reason(w.detail)) }

// ageing matches the parts of a detail that change while its reason stays. They are the round and
// the durations of "round 7, for 20s: worker 2: link down for 4s: no route to host".
var ageing = regexp.MustCompile(`^round [0-9]+, |\b(?:[0-9]+(?:\.[0-9]+)?(?:ms|h|m|s))+\b`)

func reason(detail string) string { return ageing.ReplaceAllString(detail, "") }

func (w wait) explain(now time.Time) string {
	who := human.Ranks("peer", w.who, w.others)
	var s string
	switch {
	case w.state == record.Waiting && len(w.who) == 1:
		s = who + " waits"
	case w.state == record.Waiting:
		s = who + " wait"
	default:
		s = fmt.Sprintf("%s %s for %.0f s", who, w.state, now.Sub(w.since).Seconds())
	}
	if len(w.missing) > 0 {
		s += " for " + human.Ranks("peer", w.missing, w.more)
	}
	if w.detail != "" {
		s += ": " + w.detail
	}
	return s
}
