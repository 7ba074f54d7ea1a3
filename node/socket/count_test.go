package socket

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Strangers may come under any number of ids, so their bytes are counted only while they are
// connected.
func TestCountsOfStrangersEndWithTheirConnections(t *testing.T) {
	member := listening(t, nil)
	host := listening(t, func(c *Config) { c.Keep = func(id peer.ID) bool { return id == member.ID() } })
	stranger := listening(t, nil)
	for _, caller := range []*Host{member, stranger} {
		there, _ := connected(t, caller, host)
		there.Close()
	}
	soon(t, "the count of a stranger is dropped", func() bool {
		host.bytes.mu.Lock()
		defer host.bytes.mu.Unlock()
		return len(host.bytes.peers) == 1 && host.bytes.peers[member.ID()] != nil
	})
	if got := host.Carried(member.ID()); got.Received == 0 || got.Sent == 0 {
		t.Errorf("a member's bytes are %+v", got)
	}
}
