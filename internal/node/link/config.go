package link

import (
	"log/slog"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Config says which links a worker has, and what may pass.
type Config struct {
	Host      *socket.Host
	Members   handshake.Members
	Hello     handshake.Hello // what neighbours are told on meeting, until gossip.Introduce
	Admission *handshake.Admission
	Row       topology.Row // of this worker: its neighbours
	Limit     int          // bytes of payload that a neighbour may send in one frame
	Detect    time.Duration
	Fit       Fit
	// Coder is how payloads are coded, Layout how they are cut for it; nil: nothing is
	// known of that.
	Coder   entropy.Coder
	Layout  func(f gossip.Frame) quant.Layout
	Refused *socket.Refusals
	Log     *slog.Logger
}

// A Fit says which neighbours a worker can go on with.
type Fit struct {
	// Paced says that neighbours are in the same exchange, or at most Lead apart.
	Paced bool
	Lead  int
	// Oldest returns the first exchange whose messages are kept; nil where none are.
	Oldest func() int
	// Elastic says that workers go on without neighbours they lose, and that others may
	// take their place.
	Elastic bool
}

// Status is how the link to one neighbour is doing.
type Status struct {
	Neighbour int          `json:"neighbour"`
	Host      string       `json:"host,omitempty"` // name of its machine, once it has been met
	Up        bool         `json:"up"`
	Detail    string       `json:"detail"`
	Sent      record.Bytes `json:"sent"`
	Received  record.Bytes `json:"received"`
	Lost      int64        `json:"lost"`    // links that ended without a bye
	Silent    int64        `json:"silent"`  // lost links that were given up for silence
	Retries   int64        `json:"retries"` // tries that made no link
}

// Bytes counts the bytes exchanged with one neighbour.
type Bytes struct {
	Peer           topology.Rank
	Sent, Received record.Bytes
}
