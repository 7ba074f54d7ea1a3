package link

import (
	"log/slog"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// A Config holds the neighbours of a worker and the bounds of its links.
type Config struct {
	Host      *socket.Host
	Members   handshake.Members
	Hello     handshake.Hello // sent to neighbours when they meet, until gossip.Introduce
	Admission *handshake.Admission
	Rows      topology.Sequence // rows of this worker, which name its neighbours
	Limit     int               // bytes of payload that a neighbour may send in one frame
	Room      int               // bytes of received payloads that the machine holds at once; as many are kept for reuse
	Detect    time.Duration
	Fit       Fit
	// InTurn says how exchanges are numbered if the messages of an exchange wait in the stream until the machine has
	// come to it. Nil: they are read at once. It serves machines that are Fit.Paced and not Fit.Elastic.
	InTurn *gossip.Slots
	// Rest reports whether the connection to a worker may be closed when their link rests. All links rest until
	// gossip.CallPeer. Nil: links never rest.
	Rest func(topology.Rank) bool
	// Ways returns the routes to a worker of another machine. Nil: there is never a choice.
	Ways func(topology.Rank) []socket.Route
	// Coding says how payloads are coded.
	Coding  work.Coding
	Refused *socket.Refusals
	Log     *slog.Logger
}

// A Fit says with which neighbours a worker can work.
type Fit struct {
	// Paced says that neighbours are at most Lead exchanges apart.
	Paced bool
	Lead  int
	// Oldest returns the first exchange whose messages are kept; nil if none are.
	Oldest func() int
	// Elastic says that workers go on without lost neighbours, and that others may take their place.
	Elastic bool
}

// Status is a snapshot of the link to one neighbour.
type Status struct {
	Neighbour int          `json:"neighbour"`
	Host      string       `json:"host,omitempty"` // name of the neighbour's machine, once it is known
	Up        bool         `json:"up"`
	Resting   bool         `json:"resting,omitempty"` // no link, because neither end needs one now
	Detail    string       `json:"detail"`
	Sent      record.Bytes `json:"sent"`
	Received  record.Bytes `json:"received"`
	Lost      int64        `json:"lost"`    // links that ended without a bye
	Silent    int64        `json:"silent"`  // lost links that ended for silence
	Retries   int64        `json:"retries"` // failed attempts to make a link
	// Path is the way over which the link goes; nil without a link.
	Path *record.Path `json:"path,omitempty"`
}

// Bytes counts the bytes exchanged with one neighbour.
type Bytes struct {
	Peer           topology.Rank
	Sent, Received record.Bytes
}
