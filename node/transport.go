package node

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire"
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
	Send(frames []gossip.Frame)
	// Bye tells peer, after what was sent before, that this worker needs
	// nothing more. When peer has said the same, PeerDone follows.
	Bye(peer topology.Rank)
	// Stop tells all neighbours, before what still waits to be sent, that the
	// run is over early.
	Stop(why *StoppedError)
	// Call makes a link to a worker that is no neighbour, if it calls this one too.
	Call(peer topology.Rank)
	// Leave ends the link to peer and takes none from it any more.
	Leave(peer topology.Rank)
	// Drop ends the link to peer because of what came over it. With a
	// *RefusedError its process cannot make another.
	Drop(peer topology.Rank, why error)
	// Recycle gives back the payload of a frame that was received.
	Recycle(payload []byte)
	// Events delivers what happens. It is never closed.
	Events() <-chan Event
	// Trouble says, for people, how the link to peer is.
	Trouble(peer topology.Rank) string
	// Tell tells peer something about this worker, after what was sent before.
	Tell(peer topology.Rank, n Notice)
	// Place says how many exchanges are finished, and Durable how many of them
	// the newest checkpoint knows of, which neighbours are told when they meet.
	Place(finished int)
	Durable(finished int)
	// Bytes returns what has been sent and received so far.
	Bytes() (sent, received record.Bytes)
	// Messages counts the messages sent so far.
	Messages() record.Messages
	// Close ends all links at once, those that said no bye included.
	Close() error
}

// An EventKind tells events apart.
type EventKind int

// Kinds of events.
const (
	LinkUp   EventKind = iota // a link was made; what the last one held is lost
	LinkDown                  // a link was lost, see Err
	FrameIn                   // Frame came in
	Noticed                   // the neighbour has told something of itself, see Notice
	PeerDone                  // both ends have said Bye, or there is nobody left to say it to
	Refused                   // one end refused the other, see Err (*RefusedError)
	Stopped                   // the neighbour says that the run is over early, see Err (*StoppedError)
)

// An Event is what happens on the link to Peer.
type Event struct {
	Kind   EventKind
	Peer   topology.Rank
	Frame  gossip.Frame // FrameIn; the receiver owns the payload until Recycle
	Notice Notice       // Noticed
	Met    Meeting      // LinkUp
	Err    error
}

// A Notice is what a worker tells a neighbour of itself besides messages.
type Notice struct {
	Kind       wire.Kind // Resend: it is at (Round, Hop); Durable: it has a checkpoint from there; Member: Hop is a gossip.Verb, Round its exchange
	Round, Hop int
}

// A Meeting is what two ends have told each other before their link came up, in
// exchanges finished.
type Meeting struct {
	Theirs, Ours int    // places
	Durable      int    // what their newest checkpoint knows of, undurable without one
	Kept         int    // the same of ours, as they were told
	Process      uint64 // which theirs is
	Renewed      bool   // it is another one than on the last link
}
