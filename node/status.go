package node

import (
	"slices"

	"gossiptrainer/internal/record"
)

// Status says how this node is doing. It may be called at any time.
func (n *Node) Status() Status {
	seen := n.counters()
	n.mu.Lock()
	links, topic := n.links, n.topic
	s := Status{
		Peer: n.ID(), Peers: n.opts.N, Sent: seen.Sent, Received: seen.Received,
		Telemetry: seen.Telemetry, Refused: seen.Refused, Links: []LinkStatus{},
	}
	n.mu.Unlock()
	n.vitals.tell(&s)
	if topic != nil {
		s.Accounts = append(s.Accounts, topic.Accounts()...)
		slices.SortFunc(s.Accounts, func(a, b record.Links) int { return a.Rank - b.Rank })
	}
	s.Here = n.here()
	if links != nil {
		s.Links = links.Status()
	}
	return s
}

// here counts the peers that this one has found: all of them after a roll call, else those from which
// it has heard.
func (n *Node) here() int {
	n.mu.Lock()
	roll, roster, topic := n.roll, n.roster, n.topic
	n.mu.Unlock()
	switch {
	case roster != nil && roll != nil:
		return n.opts.N
	case roll != nil:
		return roll.Here()
	case topic != nil:
		return 1 + topic.Others()
	}
	return 1
}
