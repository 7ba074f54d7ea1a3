package telemetry

import (
	"log/slog"
	"slices"
	"testing"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/identity"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/record"
)

func newHost(t *testing.T) *socket.Host {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	h, err := socket.New(socket.Config{Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// A member that has not joined the topic when gossipsub tries it gets another chance.
func TestGossipsubIsRemindedOfMembers(t *testing.T) {
	here, there := newHost(t), newHost(t)
	if err := here.Connect(t.Context(), peer.AddrInfo{ID: there.ID(), Addrs: there.Addrs()}); err != nil {
		t.Fatal(err)
	}
	updates, err := here.EventBus().Subscribe(new(event.EvtPeerProtocolsUpdated))
	if err != nil {
		t.Fatal(err)
	}
	defer updates.Close()
	topic, err := Join(Config{
		Host: here, Run: "test", Members: handshake.Members{IDs: []peer.ID{here.ID(), there.ID()}},
		Observe: func(record.Event) {}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	got := (<-updates.Out()).(event.EvtPeerProtocolsUpdated)
	if got.Peer != there.ID() || !slices.Contains(got.Added, pubsub.GossipSubID_v11) {
		t.Errorf("gossipsub was told of %v", got)
	}
}
