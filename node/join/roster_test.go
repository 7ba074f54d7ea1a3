package join

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

func TestListeningAtOwnAddresses(t *testing.T) {
	here := func(ip netip.Addr) bool { return ip.String() == "10.0.0.1" || ip.String() == "fd00::1" }
	const forwarded = "/ip4/203.0.113.1/tcp/4001"
	for name, test := range map[string]struct{ transport, own, want, forwarded string }{
		"none":     {"", "", "", ""},
		"its own":  {"", "/ip4/10.0.0.1/tcp/4001", "/ip4/10.0.0.1/tcp/4001", ""},
		"loopback": {"", "/ip4/127.0.0.2/tcp/4001", "/ip4/127.0.0.2/tcp/4001", ""},
		"two": {socket.TCP, "/ip6/fd00::1/tcp/4001 /ip4/10.0.0.1/tcp/4001",
			"/ip4/10.0.0.1/tcp/4001 /ip6/fd00::1/tcp/4001", ""},
		"forwarded":         {"", forwarded, "/ip4/0.0.0.0/tcp/4001", forwarded},
		"own and forwarded": {"", "/ip4/10.0.0.1/tcp/4001 " + forwarded, "/ip4/0.0.0.0/tcp/4001", forwarded},
		"forwarded of IPv6": {"", "/ip6/2001:db8::1/tcp/4001", "/ip6/::/tcp/4001", "/ip6/2001:db8::1/tcp/4001"},
		"two ports": {"", "/ip4/10.0.0.1/tcp/5001 " + forwarded, "/ip4/0.0.0.0/tcp/4001 /ip4/10.0.0.1/tcp/5001",
			forwarded},
		"a name":            {"", "/dns4/alpha.example/tcp/4001", "/ip4/0.0.0.0/tcp/4001", "/dns4/alpha.example/tcp/4001"},
		"all interfaces":    {"", "/ip4/0.0.0.0/tcp/4001", "/ip4/0.0.0.0/tcp/4001", ""},
		"quic":              {socket.QUIC, "/ip4/10.0.0.1/udp/4001/quic-v1", "/ip4/10.0.0.1/udp/4001/quic-v1", ""},
		"another transport": {socket.TCP, "/ip4/10.0.0.1/udp/4001/quic-v1", "", ""},
		"quic, forwarded": {socket.QUIC, "/ip4/203.0.113.1/udp/4001/quic-v1", "/ip4/0.0.0.0/udp/4001/quic-v1",
			"/ip4/203.0.113.1/udp/4001/quic-v1"},
	} {
		r := Roster{Members: handshake.Members{Self: 1}, Addrs: make([][]ma.Multiaddr, 2)}
		for _, a := range strings.Fields(test.own) {
			r.Addrs[1] = append(r.Addrs[1], ma.StringCast(a))
		}
		listen, elsewhere := r.Listening(test.transport, here)
		if got := fmt.Sprint(listen); got != "["+test.want+"]" {
			t.Errorf("%s: listens at %v, want %v", name, got, test.want)
		}
		if got := fmt.Sprint(elsewhere); got != "["+test.forwarded+"]" {
			t.Errorf("%s: %v are forwarded, want %v", name, got, test.forwarded)
		}
	}
}

func TestLoopbackAddressesOfOtherMachinesAreNotCalled(t *testing.T) {
	const near, far = "/ip4/127.0.0.1/tcp/4001", "/ip4/10.0.0.2/tcp/4001"
	for _, test := range []struct{ own, theirs, want string }{
		{far, near + " " + far, far},
		{"", near + " " + far, far},
		{near + " " + far, near + " " + far, near + " " + far},
		{far, near, near},
		{far, far, far},
	} {
		r := Roster{Addrs: make([][]ma.Multiaddr, 2)}
		for i, texts := range []string{test.own, test.theirs} {
			for _, a := range strings.Fields(texts) {
				r.Addrs[i] = append(r.Addrs[i], ma.StringCast(a))
			}
		}
		if got := fmt.Sprint(r.dialled(1)); got != "["+test.want+"]" {
			t.Errorf("%q calls %q at %v, want %v", test.own, test.theirs, got, test.want)
		}
	}
}
