package gossip

import (
	"time"

	"gossiptrainer/topology"
)

// A ControlKind says what is to be done with links.
type ControlKind uint8

// Kinds of controls.
const (
	CallPeer  ControlKind = iota // make links to Peer, which is no neighbour
	LeavePeer                    // end the link to Peer, and refuse others of its process
	DropLink                     // end the link to Peer because of Why: another is made
	BanPeer                      // end the link to Peer because of Why, and refuse its process
	// tell neighbours on meeting that this worker is at Place, its oldest checkpoint at Durable
	Introduce
	StopRun // tell all neighbours, before what waits to be sent, that the run is over because of Why
)

// A Control is something to be done with links.
type Control struct {
	Kind           ControlKind
	Peer           topology.Rank
	Place, Durable int // Introduce
	Why            error
}

// A NoteKind says what a Note is about.
type NoteKind uint8

// Kinds of notes.
const (
	Warning   NoteKind = iota // Text, about Peer and Exchange, because of Why
	Trouble                   // Text, about Peer and Exchange, because of how the link to Peer is
	Unused                    // a frame of Peer was not used because of Why
	Unusable                  // a message of Peer was found to be of no use when it was mixed
	Blamed                    // this counts against Peer, for the reason Text
	CutOff                    // the worker has no more to do with the process of Peer; Text says why
	EdgeIsSet                 // the edge to Peer has Weight from Exchange on; 0 is off
	Awaited                   // nothing has happened For so long: the worker waits for Peers
)

// A Note is something that people should know.
type Note struct {
	Kind     NoteKind
	Peer     topology.Rank
	Exchange int
	Weight   float64
	Text     string
	Why      error
	Peers    []topology.Rank
	For      time.Duration
}
