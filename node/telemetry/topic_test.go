package telemetry

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
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
	t.Parallel() // it waits for heartbeats
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

var limits = record.Limits{Peers: 2, Rounds: 9}

// joined returns the topic of a member of a run of two, once it has the other one.
func joined(t *testing.T, h *socket.Host, members []peer.ID, self int) *Topic {
	t.Helper()
	topic, err := Join(Config{
		Host: h, Run: "test", Members: handshake.Members{IDs: members, Self: topology.Rank(self)}, Limits: limits,
		Observe: func(record.Event) {}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(topic.Close)
	return topic
}

// Gossipsub forgets the topics of a peer when its own stream ends, and the peer does not tell them again.
func TestAMemberThatGossipsubHasForgottenComesBack(t *testing.T) {
	t.Parallel() // it waits for heartbeats
	here, there := newHost(t), newHost(t)
	if err := here.Connect(t.Context(), peer.AddrInfo{ID: there.ID(), Addrs: there.Addrs()}); err != nil {
		t.Fatal(err)
	}
	members := []peer.ID{here.ID(), there.ID()}
	topic := joined(t, here, members, 0)
	joined(t, there, members, 1)
	knows := func() bool { return slices.Contains(topic.news.ListPeers(), there.ID()) }
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	wait := func(what string, want bool) {
		t.Helper()
		for range 6000 {
			if knows() == want {
				return
			}
			<-look.C
		}
		t.Fatal(what)
	}
	wait("the members do not meet", true)
	for _, c := range here.Network().ConnsToPeer(there.ID()) {
		for _, s := range c.GetStreams() {
			if s.Stat().Direction == network.DirOutbound && slices.Contains(pubsub.GossipSubDefaultProtocols, s.Protocol()) {
				s.Reset()
			}
		}
	}
	wait("the topic still has the member whose stream has ended", false)
	wait("the member does not come back", true)
}

// A notice is repeated with the news of a worker, so that those who come late have it. One that no worker can give is
// dropped, and the news with it count.
func TestANoticeTravelsWithTheNews(t *testing.T) {
	t.Parallel() // it waits for heartbeats
	here, there := newHost(t), newHost(t)
	if err := here.Connect(t.Context(), peer.AddrInfo{ID: there.ID(), Addrs: there.Addrs()}); err != nil {
		t.Fatal(err)
	}
	members := []peer.ID{here.ID(), there.ID()}
	sender := joined(t, here, members, 0)
	sender.Notify([]byte(`{"step":1}`))
	texts, news := make(chan string, 100), make(chan record.Event, 100)
	topic, err := Join(Config{
		Host: there, Run: "test", Members: handshake.Members{IDs: members, Self: 1}, Limits: limits,
		Observe: func(e record.Event) { news <- e }, Log: slog.New(slog.DiscardHandler),
		Notice: func(_ topology.Rank, text []byte) func() {
			if string(text) == `{"step":-1}` {
				return nil
			}
			return func() { texts <- string(text) }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(topic.Close)
	if got := <-texts; got != `{"step":1}` {
		t.Errorf("the notice is %s", got)
	}
	sender.Notify([]byte(`{"step":-1}`))
	sender.Post(record.Event{Step: &record.Step{Round: 3}})
	if e := <-news; e.Step == nil || e.Step.Round != 3 {
		t.Errorf("the news are %+v", e)
	}
	for len(texts) > 0 {
		if got := <-texts; got != `{"step":1}` {
			t.Errorf("the impossible notice %s counts", got)
		}
	}
}
