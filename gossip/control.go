package gossip

import (
	"time"

	"gossiptrainer/topology"
)

// A ControlKind says which action a layer asks of its driver.
type ControlKind uint8

// Kinds of controls.
const (
	CallPeer  ControlKind = iota // make links to Peer, which is no neighbour yet, or whose link rests
	RestPeer                     // this worker needs no link to Peer until the next CallPeer; its other end may need one
	MeetPeer                     // make one link to Peer, which may lack what this worker sent before its restart
	LeavePeer                    // end the link to Peer, and refuse other links of its process
	DropLink                     // end the link to Peer because of Why, and make another one
	BanPeer                      // end the link to Peer because of Why, and refuse its process
	// tell neighbours at the handshake that this worker is at Place, its oldest checkpoint at Durable
	Introduce
	StopRun // tell all neighbours, before the frames that wait, that the run ends because of Why
	// take a checkpoint soon, and call Saved with its round although older ones are kept: the log of Peer has little room
	SaveState
)

// A Control is an action on links, or on the state of this worker, that a layer asks of its driver.
type Control struct {
	Kind           ControlKind
	Peer           topology.Rank
	Place, Durable int // of Introduce, in exchanges
	Why            error
}

// A NoteKind says which event a Note reports.
type NoteKind uint8

// Kinds of notes.
const (
	Warning   NoteKind = iota // Text, about Peer and Exchange, because of Why
	Trouble                   // Text, about Peer and Exchange, because of the state of the link to Peer
	Unused                    // a frame of Peer was refused because of Why
	Unusable                  // a message of Peer proved unusable when the worker mixed it
	Blamed                    // an offence of Peer, named in Text
	CutOff                    // the worker refuses the process of Peer from now on; Text says why
	EdgeIsSet                 // the edge to Peer has Weight from Exchange on; 0: the edge is off
	Awaited                   // no event For this time: the worker waits for Peers
)

// A Note is an event that the user should learn of.
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
