package node

import (
	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
)

// ProcessOf returns what package members needs of a node that has not joined. The node stays open meanwhile.
func ProcessOf(n *Node) join.Process {
	return join.Process{Host: n.host, Gate: n.gate, Hello: n.hello(), Admission: &n.admission,
		Refused: &n.refused.Refusals, Log: n.log, Detect: n.opts.Detect, Contacts: n.opts.Contacts, Discover: n.discover,
		Said: func(here int, detail string) {
			n.observe(record.Event{Status: &record.Status{
				Rank: handshake.Unranked, State: record.Joining, Detail: detail, Here: here,
			}})
		}}
}
