package gossip

import "gossiptrainer/topology"

// A ControlKind says what is to be done with links.
type ControlKind uint8

// Kinds of controls.
const (
	CallPeer  ControlKind = iota // make links to Peer, which is no neighbour
	LeavePeer                    // end the link to Peer, and refuse others of its process
	DropLink                     // end the link to Peer because of Why: another is made
	BanPeer                      // end the link to Peer because of Why, and refuse its process
	Introduce                    // tell neighbours on meeting that this worker is at Place, its oldest checkpoint at Durable
	StopRun                      // tell all neighbours, before what waits to be sent, that the run is over because of Why
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
	Unused                    // a frame of Peer was not used because of Why
	Blamed                    // what Unused said, or a link that ended for it, counts against Peer
	CutOff                    // the worker has no more to do with the process of Peer; Text says why
	EdgeIsSet                 // the edge to Peer has Weight from Exchange on; 0 is off
	Awaited                   // nothing has happened for long: Text says whom Peers the worker waits for
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
}
