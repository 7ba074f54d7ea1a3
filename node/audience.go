package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
)

// note logs, counts and publishes the notes of the core.
func (d *driver) note(notes []gossip.Note) {
	for _, n := range notes {
		switch rank := int(n.Peer); n.Kind {
		case gossip.Warning:
			d.log.Warn(n.Text, "neighbour", rank, "exchange", n.Exchange, "why", n.Why)
		case gossip.Trouble:
			d.log.Warn(n.Text, "neighbour", rank, "exchange", n.Exchange, "why", d.meter.Trouble(n.Peer))
		case gossip.Unused:
			d.log.Debug("frame not used", "why", d.refused.frame(n.Why))
		case gossip.Unusable:
			d.log.Warn("message could not be used", "why", d.refused.frame(n.Why))
		case gossip.Blamed:
			d.refused.blame(n.Peer, n.Text)
		case gossip.CutOff:
			d.cutOff(n)
		case gossip.EdgeIsSet:
			e := &record.Edge{Rank: int(d.w.Rank), Peer: rank, Exchange: n.Exchange, Weight: n.Weight}
			d.observe(record.Event{Edge: e})
		case gossip.Awaited:
			d.await(n)
		}
	}
}

// cutOff reports that this worker has banned a neighbour.
func (d *driver) cutOff(n gossip.Note) {
	d.refused.Count("cut off")
	*d.refusalState(n.Peer) = refusalState{rank: n.Peer, why: errors.New(n.Text), cut: true}
	d.log.Error("cut off a neighbour", "neighbour", int(n.Peer), "why", n.Text)
	d.status(record.Waiting, n.Text+"; it is let in again when its process has been restarted", []int{int(n.Peer)})
}

// await reports the neighbours for which this worker waits, and why.
func (d *driver) await(n gossip.Note) {
	var missing []int
	var why []string
	for _, rank := range n.Peers {
		missing = append(missing, int(rank))
		text := d.meter.Trouble(rank)
		if no := d.refusalState(rank).why; no != nil {
			text = no.Error()
		}
		why = append(why, fmt.Sprintf("worker %d: %s", rank, text))
	}
	if len(why) == 0 && d.decision.holding {
		why = append(why, "the run is to end, and not all have said how many rounds they have begun")
	}
	detail := fmt.Sprintf("round %d, for %v: %s", d.round, n.For.Round(time.Second), strings.Join(why, "; "))
	d.status(record.Waiting, detail, missing)
}
