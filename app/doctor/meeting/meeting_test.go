package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
)

// A room replaces multicast: machines in it hear of each other.
type room struct {
	mu   sync.Mutex
	here map[peer.ID]func(peer.AddrInfo)
	all  map[peer.ID]peer.AddrInfo
	deaf int // machines with this number and above hear of none
}

func newRoom(deaf int) *room {
	return &room{here: map[peer.ID]func(peer.AddrInfo){}, all: map[peer.ID]peer.AddrInfo{}, deaf: deaf}
}

func (r *room) find(number int) func(context.Context, host.Host, func(peer.AddrInfo)) {
	return func(_ context.Context, h host.Host, found func(peer.AddrInfo)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		me := peer.AddrInfo{ID: h.ID(), Addrs: h.Addrs()}
		for _, hear := range r.here {
			hear(me)
		}
		if number < r.deaf {
			for _, other := range r.all {
				found(other)
			}
			r.here[h.ID()] = found
		}
		r.all[h.ID()] = me
	}
}

// machine returns the part of one of n machines.
func (r *room) machine(number, n int) Config {
	return Config{
		Node: node.Options{RunID: "run", N: n, Dim: 1, JoinSecret: "2cf24dba5fb0a30e26e83b2ac5b9e29e", Host: "alpha",
			Listen: []string{"/ip4/127.0.0.1/tcp/0"}},
		Facts: Facts{Host: string(rune('a' + number)), Version: "v1", Sections: map[string]json.RawMessage{"s": []byte("1")}},
		Wait:  time.Minute, Now: time.Now, find: r.find(number),
	}
}

// hold holds a meeting of all.
func hold(t *testing.T, all ...Config) []*Result {
	t.Helper()
	results := make([]*Result, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			var err error
			if results[i], err = Hold(t.Context(), c); err != nil {
				t.Errorf("machine %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return results
}

func TestMachinesMeetAndMeasure(t *testing.T) {
	r := newRoom(3)
	var all []Config
	for i := range 3 {
		c := r.machine(i, 3)
		c.Rates = true
		all = append(all, c)
	}
	all[2].Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	for i, result := range hold(t, all...) {
		if len(result.Others) != 2 || !result.Datagrams || result.Listen != nil || len(result.Addrs) == 0 {
			t.Fatalf("machine %d: %+v", i, result)
		}
		for _, o := range result.Others {
			if !o.Met || o.Err != nil || o.Out != Open || o.In != Open || !o.Heard.Multicast || o.Rank != handshake.Unranked {
				t.Errorf("machine %d: %+v", i, o)
			}
			if o.Heard.Datagram != fullPacket || o.HearsUs.Datagram != fullPacket {
				t.Errorf("machine %d: datagrams %+v %+v, want %d bytes", i, o.Heard, o.HearsUs, fullPacket)
			}
			if o.Latency <= 0 || o.RateOut <= 0 || o.RateIn <= 0 {
				t.Errorf("machine %d: not measured: %+v", i, o.Figures)
			}
			want := time.Duration(0)
			switch {
			case i == 2:
				want = -24 * time.Hour
			case o.Facts.Host == "c":
				want = 24 * time.Hour
			}
			if apart := (o.Offset - want).Abs(); apart > time.Hour {
				t.Errorf("machine %d: the clock of %s is off by %v, want %v", i, o.Facts.Host, o.Offset, want)
			}
			if o.Facts.Version != "v1" || string(o.Facts.Sections["s"]) != "1" {
				t.Errorf("machine %d: facts %+v", i, o.Facts)
			}
		}
	}
}

// Of two machines, one that hears nothing is met by the other, whatever the order of their ids.
func TestADeafMachineIsMet(t *testing.T) {
	t.Parallel() // it waits for retries
	for range 2 {
		r := newRoom(1)
		results := hold(t, r.machine(0, 2), r.machine(1, 2))
		hearing, deaf := results[0].Others, results[1].Others
		if len(hearing) != 1 || len(deaf) != 1 || !hearing[0].Met || !deaf[0].Met {
			t.Fatalf("%+v and %+v, want that they meet", hearing, deaf)
		}
		if deaf[0].Heard.Multicast || !deaf[0].HearsUs.Multicast || !hearing[0].Heard.Multicast ||
			hearing[0].HearsUs.Multicast {
			t.Errorf("multicast %+v and %+v", hearing[0], deaf[0])
		}
	}
}

// A machine with another secret is not met, and does not end the meeting of those that may still come.
func TestAnotherSecretIsNotMet(t *testing.T) {
	t.Parallel() // it waits for the end of the meeting
	r := newRoom(3)
	honest, other := r.machine(0, 2), r.machine(1, 2)
	honest.Wait, other.Wait = 2*time.Second, 2*time.Second
	other.Node.JoinSecret = "guess"
	for i, result := range hold(t, honest, other) {
		o := result.Others[0]
		no, ok := errors.AsType[*handshake.UnprovenError](o.Err)
		if !ok || no.Reason != handshake.OtherSecret || no.Remote || o.Met {
			t.Errorf("machine %d: %+v", i, o)
		}
		if o.Facts.Host != "" || o.Facts.Sections != nil || o.Heard.Datagram != 0 {
			t.Errorf("machine %d believes a stranger: %+v", i, o)
		}
	}
}

func TestARosterNamesTheMachines(t *testing.T) {
	t.Parallel()                            // it waits for retries
	first, second := newRoom(0), newRoom(0) // none hears of another
	ids := []*identity.Identity{ephemeral(t), ephemeral(t)}
	ports := []string{freePort(t), freePort(t)}
	all := []Config{first.machine(0, 2), second.machine(1, 2)}
	for i := range all {
		o := &all[i].Node
		o.Identity, o.Listen = ids[i], []string{"/ip4/127.0.0.1/tcp/" + ports[i]}
		for j, id := range ids {
			o.Roster = append(o.Roster, node.Peer{ID: id.ID(), Addrs: []string{"/ip4/127.0.0.1/tcp/" + ports[j]}})
		}
	}
	for i, result := range hold(t, all...) {
		if o := result.Others[0]; !o.Met || o.Rank != 1-i || o.Heard.Multicast || o.Out != Open {
			t.Errorf("machine %d: %+v", i, o)
		}
	}
}

// With a roster and no secret, the keys say who belongs.
func TestAStrangerToTheRosterIsRefused(t *testing.T) {
	t.Parallel() // it waits for the end of the meeting
	ids := []*identity.Identity{ephemeral(t), ephemeral(t), ephemeral(t)}
	port := freePort(t)
	r := newRoom(0)
	member, stranger := r.machine(0, 2), r.machine(1, 2)
	member.Node.Identity, member.Node.Listen = ids[0], []string{"/ip4/127.0.0.1/tcp/" + port}
	stranger.Node.Identity = ids[1]
	at := []string{"/ip4/127.0.0.1/tcp/" + port}
	member.Node.Roster = []node.Peer{{ID: ids[0].ID(), Addrs: at}, {ID: ids[2].ID()}}
	stranger.Node.Roster = []node.Peer{{ID: ids[0].ID(), Addrs: at}, {ID: ids[1].ID()}}
	for _, c := range []*Config{&member, &stranger} {
		c.Node.JoinSecret, c.Wait = "", 2*time.Second
	}
	results := hold(t, member, stranger)
	if o := results[0].Others[0]; o.ID != ids[2].ID() || o.Met || o.Facts.Host != "" {
		t.Errorf("the member has met %+v", o)
	}
	if o := results[1].Others[0]; o.Met || o.Err == nil || o.Facts.Host != "" {
		t.Errorf("the stranger has met %+v", o)
	}
}

func TestAloneAMeetingEndsWithItsTime(t *testing.T) {
	c := newRoom(1).machine(0, 2)
	c.Wait = 50 * time.Millisecond
	if r := hold(t, c)[0]; len(r.Others) != 0 || r.ID == "" {
		t.Errorf("%+v", r)
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := newRoom(1).machine(0, 2)
	c.Wait, c.Node.Listen = 50*time.Millisecond, []string{"/ip4/127.0.0.1/tcp/" + port}
	if r := hold(t, c)[0]; r.Listen == nil || len(r.Addrs) == 0 {
		t.Errorf("%+v, want the trouble, and free ports", r)
	}
}

func TestOneConnectionIsTried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if got := connectTo(t.Context(), l.Addr().String()); got != Open {
		t.Errorf("a listener: %q", got)
	}
	l.Close()
	if got := connectTo(t.Context(), l.Addr().String()); got != Refused {
		t.Errorf("no listener: %q", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := connectTo(over, l.Addr().String()); got != Silent {
		t.Errorf("no time: %q", got)
	}
}

func TestBeaconsNeedTheSecretAndTheNonce(t *testing.T) {
	id := ephemeral(t).Peer()
	m := &meeting{beacons: &beacons{key: beaconKey("sesame", "run"), nonce: [nonceLen]byte{7},
		heard: map[peer.ID][nonceLen]byte{}}, others: map[peer.ID]*other{id: {}}, news: make(chan struct{}, 1)}
	b := beacon{sender: hashOf(id), nonce: [nonceLen]byte{9}, longest: 1500}
	m.heard(b, 144)
	o := m.others[id]
	if o.Heard.Datagram != 144 || o.HearsUs.Datagram != 0 || m.beacons.heard[id] != b.nonce {
		t.Errorf("%+v: a beacon without the nonce of this meeting says that it hears us", o)
	}
	b.heard = m.beacons.nonce
	m.heard(b, 144)
	m.heard(beacon{sender: hashOf("stranger"), longest: 9000, heard: m.beacons.nonce}, 9000)
	if o.Heard.Datagram != 144 || o.HearsUs.Datagram != 1500 || len(m.beacons.heard) != 1 {
		t.Errorf("%+v, %d heard", o, len(m.beacons.heard))
	}
	for name, key := range map[string][]byte{
		"another secret": beaconKey("guess", "run"), "another run": beaconKey("sesame", "rum"),
	} {
		if _, ok := unseal(key, b.seal(m.beacons.key, 0)); ok {
			t.Errorf("%s opens the beacon", name)
		}
	}
}

// FuzzBeacon holds that a datagram is read only with the right code, and as it was written.
func FuzzBeacon(f *testing.F) {
	key := beaconKey("sesame", "run")
	whole := (&beacon{longest: 1500}).seal(key, 300)
	f.Add(whole)
	f.Add(whole[:beaconLen])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, datagram []byte) {
		b, ok := unseal(key, datagram)
		if !ok {
			return
		}
		if again := b.seal(key, len(datagram)); !slices.Equal(again, datagram) {
			t.Errorf("%x became %x", datagram, again)
		}
	})
}

func ephemeral(t *testing.T) *identity.Identity {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// freePort returns a port that was free just now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
