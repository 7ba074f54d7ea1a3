package node

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/link"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A Transport moves frames between a worker and its neighbours: at most once,
// in order per link. A frame may be lost only with its link, and a link that
// was lost is made anew until the transport is closed.
//
// It is used by one goroutine, which must keep receiving from Events.
type Transport interface {
	// Send hands over frames without waiting for them to leave; frames itself is
	// the caller's again. A payload stays as it is until the receiver has it.
	// While there is no link a frame is lost: LinkUp says when to send again.
	// When both ends have sent a gossip.Bye, PeerDone follows.
	Send(frames []gossip.Frame)
	// Control does something to links. A run is stopped with a *StoppedError.
	Control(c gossip.Control)
	// Events delivers what happens. It is never closed.
	Events() <-chan link.Event
	// Recycle gives back the payload of a frame that was received.
	Recycle(payload []byte)
	// Close ends all links at once, those that said no bye included.
	Close() error
}

// A meter tells of links what people want to know.
type meter interface {
	// Trouble says how the link to peer is.
	Trouble(peer topology.Rank) string
	// Bytes returns what has been sent and received so far.
	Bytes() (sent, received record.Bytes)
	// Messages counts the messages sent so far.
	Messages() record.Messages
}

var (
	_ Transport = (*link.Links)(nil)
	_ meter     = (*link.Links)(nil)
)
