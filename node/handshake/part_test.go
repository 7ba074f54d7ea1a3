package handshake_test

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
)

// A process may end as soon as it has parted: a slow reader has its last message all the same.
func TestTheLastMessageArrives(t *testing.T) {
	const on, about = "/last", handshake.AboutBallot
	open := func() *socket.Host {
		who, err := identity.Ephemeral()
		if err != nil {
			t.Fatal(err)
		}
		h, err := socket.New(socket.Config{Key: who.Key(), Listen: []string{loopback}, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return h
	}
	reader := open()
	read, said := make(chan error, 1), make(chan bool)
	reader.SetStreamHandler(on, func(s network.Stream) {
		talk := handshake.New(s)
		for i := range 2 {
			if i == 1 {
				<-said
			}
			if _, err := talk.Expect(about, handshake.MaxMessage); err != nil {
				read <- err
				return
			}
		}
		talk.Part()
		read <- nil
	})
	for range 5 {
		writer := open()
		writer.Peerstore().AddAddrs(reader.ID(), reader.Addrs(), peerstore.PermanentAddrTTL)
		s, err := writer.NewStream(t.Context(), reader.ID(), on)
		if err != nil {
			t.Fatal(err)
		}
		talk := handshake.New(s)
		for range 2 {
			if err := talk.Say(about, make([]byte, handshake.MaxMessage)); err != nil {
				t.Fatal(err)
			}
		}
		said <- true
		talk.Part()
		writer.Close()
		if err := <-read; err != nil {
			t.Fatalf("the last message was lost: %v", err)
		}
	}
}
