package link

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"go.uber.org/goleak"

	"gossiptrainer/gossip"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
	"gossiptrainer/test/strangers/outsider"
	"gossiptrainer/topology"
)

// Libraries start some goroutines once per process and never end them.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("github.com/libp2p/go-flow-metrics.(*sweeper).run"),
	)
}

// A pair is two workers with an edge between them, with the parts of their links.
type pair struct {
	configs [2]Config
	links   [2]*Links
}

// newPair starts the links of two workers on loopback; change may alter both configurations.
func newPair(t *testing.T, change func(rank int, c *Config)) *pair {
	t.Helper()
	p := idlePair(t, change)
	for rank := range p.links {
		p.start(t, rank)
	}
	return p
}

// idlePair makes the hosts of two workers that know each other.
func idlePair(t *testing.T, change func(rank int, c *Config)) *pair {
	t.Helper()
	p := new(pair)
	var hosts [2]*socket.Host
	var ids []peer.ID
	for rank := range hosts {
		who, err := identity.Ephemeral()
		if err != nil {
			t.Fatal(err)
		}
		hosts[rank], err = socket.New(socket.Config{
			Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: len(hosts),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { hosts[rank].Close() })
		ids = append(ids, hosts[rank].ID())
	}
	for rank, host := range hosts {
		other := topology.Rank(1 - rank)
		host.Peerstore().AddAddrs(ids[other], hosts[other].Addrs(), peerstore.PermanentAddrTTL)
		p.configs[rank] = Config{
			Host: host, Members: handshake.Members{IDs: ids, Self: topology.Rank(rank)},
			Hello:     handshake.Hello{N: 2, Dim: 1, Rank: rank, Durable: gossip.Undurable, Epoch: uint64(1 + rank)},
			Admission: &handshake.Admission{Self: ids[rank], Run: "test"},
			Rows:      topology.Row{In: []topology.Edge{{Peer: other}}, Out: []topology.Rank{other}},
			Limit:     1 << 10, Detect: 15 * time.Second, Fit: Fit{Paced: true, Lead: 1},
			Refused: new(socket.Refusals), Log: slog.New(slog.DiscardHandler),
		}
		if change != nil {
			change(rank, &p.configs[rank])
		}
	}
	return p
}

func (p *pair) start(t *testing.T, rank int) {
	t.Helper()
	links, err := Start(p.configs[rank])
	if err != nil {
		t.Fatal(err)
	}
	p.links[rank] = links
	t.Cleanup(func() { links.Close() })
}

// wants receives the next events of a worker, which must be of these kinds, and returns the last.
func (p *pair) wants(t *testing.T, rank int, kinds ...EventKind) (last Event) {
	t.Helper()
	for _, want := range kinds {
		if last = <-p.links[rank].Events(); last.Kind != want {
			t.Fatalf("worker %d: event %d (%v), want %d", rank, last.Kind, last.Err, want)
		}
	}
	return last
}

func TestAFrameArrivesAsItWasSent(t *testing.T) {
	p := newPair(t, nil)
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	sent := gossip.Frame{From: 0, To: 1, Round: 3, Hop: 1, Note: 7, Payload: []byte("parameters")}
	p.links[0].Send([]gossip.Frame{sent})
	got := p.wants(t, 1, FrameIn).Frame
	if got.From != 0 || got.Round != 3 || got.Hop != 1 || got.Note != 7 || !bytes.Equal(got.Payload, sent.Payload) {
		t.Errorf("%+v arrived, want %+v", got, sent)
	}
	p.links[1].Recycle(got.Payload)
	p.links[0].Send([]gossip.Frame{{Kind: gossip.Bye, From: 0, To: 1}})
	p.links[1].Send([]gossip.Frame{{Kind: gossip.Bye, From: 1, To: 0}})
	p.wants(t, 0, PeerDone)
	p.wants(t, 1, PeerDone)
	if m := p.links[0].Messages(); m.Count != 1 {
		t.Errorf("%d messages counted, want 1", m.Count)
	}
}

func TestALinkThatIsDroppedIsMadeAgain(t *testing.T) {
	p := newPair(t, nil)
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	why := errors.New("dropped by a test")
	p.links[0].Control(gossip.Control{Kind: gossip.DropLink, Peer: 1, Why: why})
	if e := p.wants(t, 0, Down); !errors.Is(e.Err, why) {
		t.Errorf("down because of %v, want %v", e.Err, why)
	}
	p.wants(t, 1, Down)
	p.wants(t, 0, Up)
	if e := p.wants(t, 1, Up); e.Met.Process != 1 || e.Met.Renewed {
		t.Errorf("met %+v, want process 1 again", e.Met)
	}
	if s := p.links[0].Status(); len(s) != 1 || s[0].Lost != 1 || !s[0].Up {
		t.Errorf("status %+v, want a link that was lost once", s)
	}
}

// The message that a run stops overtakes waiting frames, and names its worker.
func TestAStopIsHeard(t *testing.T) {
	p := newPair(t, nil)
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	p.links[0].Control(gossip.Control{Kind: gossip.StopRun, Why: &handshake.StoppedError{Rank: 0, Reason: "enough"}})
	e := p.wants(t, 1, Stopped)
	why, ok := errors.AsType[*handshake.StoppedError](e.Err)
	if !ok || why.Rank != 0 || why.Reason != "enough" {
		t.Errorf("stopped because of %v, want worker 0 and its reason", e.Err)
	}
}

// A banned neighbour gets a refusal with a reason until it is another process.
func TestABannedProcessIsRefused(t *testing.T) {
	p := newPair(t, nil)
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	p.links[0].Control(gossip.Control{Kind: gossip.BanPeer, Peer: 1, Why: errors.New("lies")})
	// The refusal comes over a new stream, so it may overtake the end of the old one.
	seen := map[EventKind]Event{}
	for range 2 {
		e := <-p.links[1].Events()
		seen[e.Kind] = e
	}
	e, refused := seen[Refused]
	if _, down := seen[Down]; !down || !refused {
		t.Fatalf("worker 1: events %v, want the end of the link and a refusal", seen)
	}
	no, ok := errors.AsType[*handshake.RefusedError](e.Err)
	if !ok || no.Reason != handshake.Misbehaved || !no.Remote {
		t.Errorf("refused with %v, want that it misbehaved", e.Err)
	}
}

func TestNeighboursOfOtherSizesAreRefused(t *testing.T) {
	p := newPair(t, func(rank int, c *Config) { c.Hello.Dim += rank })
	for rank := range p.links {
		e := p.wants(t, rank, Refused)
		if no, ok := errors.AsType[*handshake.RefusedError](e.Err); !ok || no.Reason != handshake.OtherShape {
			t.Errorf("worker %d: %v, want that the shapes differ", rank, e.Err)
		}
	}
}

// lines receives the lines of a log.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A program of the last protocol version proves itself with another challenge. The newer end names both versions and
// the fix, also where the older one calls, and waits for a neighbour with the right one.
func TestAnotherProtocolVersionIsAWarningWithBothVersions(t *testing.T) {
	for honest := range 2 {
		t.Run(fmt.Sprint("worker ", honest, " is newer"), func(t *testing.T) {
			t.Parallel() // it waits for another try
			said := make(lines, 100)
			p := idlePair(t, func(_ int, c *Config) { c.Log = slog.New(slog.NewTextHandler(said, nil)) })
			older, told := p.configs[1-honest].Host, make(chan error, 1)
			greet := func(s network.Stream) {
				talk := handshake.New(s)
				challenge := make([]byte, 99)
				challenge[0] = 5
				err := talk.Say(4, challenge)
				if err == nil {
					_, err = talk.Expect(4, len(challenge))
				}
				if err == nil {
					_, err = talk.Expect(5, 32)
				}
				select {
				case told <- err:
				default:
				}
			}
			older.SetStreamHandler(Protocol, greet)
			p.start(t, honest)
			if self := p.configs[honest].Host.ID(); older.ID() < self {
				s, err := older.Open(t.Context(), self, Protocol)
				if err != nil {
					t.Fatal(err)
				}
				go greet(s)
			}
			line := <-said
			for _, want := range []string{"has not proven", "theirs is 5, ours 9", "install the same version"} {
				if !strings.Contains(line, want) {
					t.Errorf("it says %q, want %q", line, want)
				}
			}
			no, ok := errors.AsType[*handshake.UnprovenError](<-told)
			if !ok || no.Reason != handshake.Protocol || !no.Remote {
				t.Errorf("the older end: %v, want a claim about the protocol", no)
			}
			if e := p.links[honest].Status()[0]; e.Up || !strings.Contains(e.Detail, "theirs is 5, ours 9") {
				t.Errorf("status %+v, want both versions", e)
			}
			select {
			case e := <-p.links[honest].Events():
				t.Errorf("event %+v, want none", e)
			default:
			}
		})
	}
}

// A worker that has asked for a place need not make a link. Its sponsor may speak of it, send it messages, and leave
// it.
func TestAnEdgeToAWorkerThatNeverCame(t *testing.T) {
	p := newPair(t, func(rank int, c *Config) {
		if c.Fit.Elastic = true; rank == 0 {
			c.Rows = topology.Row{}
		}
	})
	l := p.links[0]
	if text := l.Trouble(1); text == "" {
		t.Error("nothing is said about the link")
	}
	l.Send([]gossip.Frame{{From: 0, To: 1, Payload: []byte{1}}, {Kind: gossip.Request, From: 0, To: 1}})
	for _, kind := range []gossip.ControlKind{gossip.DropLink, gossip.BanPeer, gossip.LeavePeer} {
		l.Control(gossip.Control{Kind: kind, Peer: 1, Why: errors.New("gone")})
	}
}

// A machine that has the key of a neighbour and not the secret refuses this worker for every reason at every stage. The
// worker waits for the neighbour, and has a link as soon as that proves the secret.
func TestAKeyWithoutTheSecretEndsNoWorker(t *testing.T) {
	for honest := range 2 {
		p := idlePair(t, func(_ int, c *Config) { c.Admission.Secret = []byte("secret") })
		thief, self := p.configs[1-honest].Host, p.configs[honest].Host
		outsider.Answer(thief, new(atomic.Int64))
		p.start(t, honest)
		victim := peer.AddrInfo{ID: self.ID(), Addrs: self.Addrs()}
		heard := (&outsider.Outsider{Host: thief}).Call(t.Context(), victim, Protocol)
		if heard < 4*outsider.Reasons {
			t.Errorf("%d plays heard, want all", heard)
		}
		select {
		case e := <-p.links[honest].Events():
			t.Fatalf("event %+v, want none", e)
		default:
		}
		if count := p.configs[honest].Refused.Read()["unproven refusal"]; count == 0 {
			t.Error("no claim is counted")
		}
		p.start(t, 1-honest) // its handler takes the place of the thief's
		p.wants(t, honest, Up)
		p.wants(t, 1-honest, Up)
	}
}
