package node

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
)

func port(name string, mtu int, addrs ...string) socket.Interface {
	i := socket.Interface{Name: name, MTU: mtu}
	for _, a := range addrs {
		i.Addrs = append(i.Addrs, netip.MustParseAddr(a))
	}
	return i
}

// A start says why no other machine can reach the peer.
func TestAPeerThatNobodyReachesIsRefused(t *testing.T) {
	lan, local := []string{"/ip4/10.0.0.7/tcp/1"}, []string{"/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/1"}
	short, usual := port("tun0", 1200, "10.1.0.7"), port("eth0", 1500, "10.0.0.7", "fe80::7")
	for name, test := range map[string]struct {
		addrs []string
		quic  bool
		ports []socket.Interface
		err   []string // its parts, with those of its hint; nil: none
		warns string
	}{
		"an address": {addrs: lan, ports: []socket.Interface{usual}},
		"link-local only": {addrs: local, ports: []socket.Interface{port("eth0", 1500, "fe80::7")},
			err: []string{"only link-local addresses (fe80::7 on eth0)", "ip address add 192.168.77.1/24 dev eth0"}},
		"nothing": {addrs: local,
			err: []string{"no interface that is up has an address for other machines", "ip address add"}},
		"link-local of IPv4": {addrs: []string{"/ip4/169.254.1.1/tcp/1"},
			ports: []socket.Interface{port("eth0", 1500, "169.254.1.1")}},
		"short packets, tcp": {addrs: lan, ports: []socket.Interface{short}},
		"short packets, quic": {addrs: lan, quic: true, ports: []socket.Interface{short},
			err: []string{"tun0 takes packets of 1200 bytes at most, and QUIC needs 1280", "ip link set tun0 mtu 1500"}},
		"one of two is short": {addrs: lan, quic: true, ports: []socket.Interface{usual, short},
			warns: "tun0 takes packets of 1200 bytes at most"},
		"a short one without an address": {addrs: lan, quic: true,
			ports: []socket.Interface{usual, port("veth1", 1000, "fe80::8")}},
	} {
		var addrs []ma.Multiaddr
		for _, a := range test.addrs {
			addrs = append(addrs, ma.StringCast(a))
		}
		warnings, err := judgeReach(addrs, test.quic, test.ports)
		if (err == nil) != (test.err == nil) || !strings.Contains(strings.Join(warnings, " "), test.warns) ||
			(len(warnings) > 0) != (test.warns != "") {
			t.Errorf("%s: error %v, warnings %q", name, err, warnings)
		}
		if err == nil {
			continue
		}
		hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if _, network := errors.AsType[*NetworkError](err); !ok || !network {
			t.Fatalf("%s: error %v without a hint, or of another type", name, err)
		}
		for _, part := range test.err {
			if text := err.Error() + " " + hinted.Hint(); !strings.Contains(text, part) {
				t.Errorf("%s: %q, want %q in it", name, text, part)
			}
		}
	}
}

// listed starts the first of two peers of a roster, with these addresses of its own.
func listed(t *testing.T, listen []string, own ...string) (*Node, error) {
	t.Helper()
	var ids [2]*identity.Identity
	for i := range ids {
		var err error
		if ids[i], err = identity.Ephemeral(); err != nil {
			t.Fatal(err)
		}
	}
	n, err := New(Options{
		RunID: "r", N: 2, Dim: 1, Identity: ids[0], Listen: listen,
		Roster: []Peer{{ID: ids[0].ID(), Addrs: own}, {ID: ids[1].ID(), Addrs: []string{"/ip4/192.0.2.9/tcp/4001"}}},
	})
	if err == nil {
		t.Cleanup(func() { n.Close() })
	}
	return n, err
}

// free returns a free TCP port.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// A peer listens where the roster sends the others, unless its user says where.
func TestAPeerListensAtItsAddressInTheRoster(t *testing.T) {
	number := free(t)
	n, err := listed(t, nil, "/ip4/127.0.0.1/tcp/"+number)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Addrs(); len(got) != 1 || got[0] != "/ip4/127.0.0.1/tcp/"+number {
		t.Errorf("it listens at %v", got)
	}
	if warnings, err := n.CheckReach(); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %q, error %v: want none for peers of one machine", warnings, err)
	}
	_, err = listed(t, nil, "/ip4/127.0.0.1/tcp/"+number)
	taken, ok := errors.AsType[*socket.ListenError](err)
	if !ok || !strings.Contains(err.Error(), "127.0.0.1/tcp/"+number) ||
		!strings.Contains(taken.Hint(), "another program has") {
		t.Errorf("the port is taken: error %v", err)
	}
	// One of two addresses is taken: half of a roster does not hold.
	if _, err = listed(t, nil, "/ip4/127.0.0.1/tcp/"+free(t), "/ip4/127.0.0.1/tcp/"+number); err == nil {
		t.Error("a peer starts without one of its addresses")
	}

	n, err = listed(t, nil, "/ip4/192.0.2.1/tcp/"+free(t)) // of no machine: RFC 5737
	if err != nil {
		t.Fatal(err)
	}
	warnings, _ := n.CheckReach()
	if !strings.Contains(strings.Join(warnings, ""), "no interface here has") {
		t.Errorf("warnings %q: want that its address is not here", warnings)
	}

	n, err = listed(t, []string{"/ip4/0.0.0.0/tcp/0"}, "/ip4/192.0.2.1/tcp/1")
	if err != nil {
		t.Fatal(err)
	}
	if warnings, _ := n.CheckReach(); !strings.Contains(strings.Join(warnings, ""), "node.listen has another port") {
		t.Errorf("warnings %q: want that the ports differ", warnings)
	}
}
