package join

import (
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// A Process is a peer of a run before it takes part.
type Process struct {
	Host      *socket.Host
	Gate      *Gate
	Hello     handshake.Hello // Rank is Unranked
	Admission *handshake.Admission
	Refused   *socket.Refusals
	Log       *slog.Logger
	Detect    time.Duration                   // longest silence of another peer in a roll call
	Contacts  []peer.AddrInfo                 // peers to call, besides those that Discover finds
	Discover  func(found func(peer.AddrInfo)) // looks for peers of the run from now on
	Said      func(here int, detail string)   // hears how the search goes on
}

// Greet authenticates the other end of a stream: it knows the secret and has the same run file and data.
func Greet(p *Process, t *handshake.Talk) error {
	err := t.Greet(p.Admission, p.Hello, func(theirs handshake.Hello) *handshake.RefusedError {
		return p.Hello.CompareShape(theirs)
	})
	if err == nil {
		err = t.Agree()
	}
	if err != nil {
		t.Stream.Reset()
		return err
	}
	p.Gate.Admitted(t.Stream.Conn())
	return nil
}
