package node

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A transport moves frames between a worker and its neighbours: at most once, in order per link. A
// frame may be lost only with its link. The transport makes a lost link again until it is closed.
//
// It is used by one goroutine, which must keep receiving from Events.
type transport interface {
	// Send hands over frames without waiting for them to leave. The caller may use the slice frames
	// again. A payload stays unchanged until the receiver has it. Without a link a frame is lost:
	// LinkUp says when to send again. When both ends have sent a gossip.Bye, PeerDone follows.
	Send(frames []gossip.Frame)
	// Control changes links. It stops a run with a *StoppedError.
	Control(c gossip.Control)
	// Events delivers the events of links. It is never closed.
	Events() <-chan link.Event
	// Recycle gives back the payload of a received frame.
	Recycle(payload []byte)
	// Close ends all links at once, even without a bye.
	Close() error
}

// A meter reports the state and the counts of links.
type meter interface {
	// Trouble describes the state of the link to peer.
	Trouble(peer topology.Rank) string
	// Bytes returns the bytes sent and received so far.
	Bytes() (sent, received record.Bytes)
	// Messages counts the messages sent so far.
	Messages() record.Messages
	// Status returns a snapshot of each link, in increasing rank.
	Status() []link.Status
}

var (
	_ transport = (*link.Links)(nil)
	_ meter     = (*link.Links)(nil)
)
