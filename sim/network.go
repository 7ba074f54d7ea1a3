package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
	"gossiptrainer/wire"
)

// A Link is what frames pass on their way: bytes leave one after another at
// Rate and arrive Latency later.
type Link struct {
	Rate    float64       // bits per second; 0 = unlimited
	Latency time.Duration // one way
}

// A Network is the links of a run. The zero value is infinitely fast.
type Network struct {
	// Uplink is what every worker's frames share: one frame leaves after
	// another, whatever neighbour it goes to.
	Uplink Link
	// Links replaces the uplink on single undirected edges, keyed by the
	// smaller rank first: each direction then has a clock of its own.
	Links map[[2]topology.Rank]Link
}

// Bytes that TLS 1.3 and yamux add on a stream: a yamux header of 12 bytes per
// message of at most 64 KiB, and a TLS record of at most 16 KiB with 5 bytes of
// header, 1 of content type and 16 of tag.
const (
	yamuxMessage, yamuxHeader = 64 << 10, 12
	tlsRecord, tlsOverhead    = 16 << 10, 22
)

// StreamBytes returns the bytes of a frame on the stream.
func StreamBytes(payload int) int { return wire.HeaderLen + payload }

// payloadBytes returns the bytes of a frame that are the algorithm's payload:
// requests and repairs count as overhead of the stream.
func payloadBytes(f *gossip.Frame) int64 {
	if f.Kind != gossip.Data {
		return 0
	}
	return int64(len(f.Payload))
}

// WireBytes returns the bytes at the socket of n bytes on the stream, as TLS
// and yamux make them.
func WireBytes(n int) int {
	n += yamuxHeader * ((n + yamuxMessage - 1) / yamuxMessage)
	return n + tlsOverhead*((n+tlsRecord-1)/tlsRecord)
}

// clocks says when each uplink and each direction of a link of its own is free
// again.
type clocks struct {
	net  Network
	up   []time.Duration
	link map[[2]topology.Rank]time.Duration
}

func newClocks(n int, net Network) *clocks {
	return &clocks{net: net, up: make([]time.Duration, n), link: map[[2]topology.Rank]time.Duration{}}
}

// arrival books bytes from one worker to another at virtual time now and
// returns when the last of them arrives.
func (c *clocks) arrival(from, to topology.Rank, bytes int, now time.Duration) time.Duration {
	link, own := c.net.Links[[2]topology.Rank{min(from, to), max(from, to)}]
	if !own {
		c.up[from] = max(c.up[from], now) + c.net.Uplink.serialise(bytes)
		return c.up[from] + c.net.Uplink.Latency
	}
	edge := [2]topology.Rank{from, to}
	c.link[edge] = max(c.link[edge], now) + link.serialise(bytes)
	return c.link[edge] + link.Latency
}

func (l Link) serialise(bytes int) time.Duration {
	if l.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / l.Rate * float64(time.Second))
}
