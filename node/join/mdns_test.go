package join

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
)

// hostAt starts a host that listens there.
func hostAt(t *testing.T, listen ...string) *socket.Host {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	h, err := socket.New(socket.Config{Key: who.Key(), Listen: listen, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Loopback addresses are told to this machine only, and only by a host that has no other.
func TestLoopbackAddressesAreNotAnnounced(t *testing.T) {
	const here = "0123456789abcdef"
	inside, err := announcementOf(hostAt(t, "/ip4/127.0.0.1/tcp/0"), here)
	if err != nil || !slices.Contains(inside.records, localRecord+here) || len(peersIn(inside.records, here)) != 1 {
		t.Errorf("%v, error %v: processes of this machine must find each other", inside, err)
	}
	for _, there := range []string{"", "fedcba9876543210"} {
		if found := peersIn(inside.records, there); len(found) > 0 {
			t.Errorf("another machine finds %v", found)
		}
	}
	if _, err := announcementOf(hostAt(t, "/ip4/127.0.0.1/tcp/0"), ""); err == nil {
		t.Error("loopback addresses are announced without the mark of a machine")
	}
	everywhere, err := announcementOf(hostAt(t), here)
	if len(farAddrs()) == 0 {
		t.Skip("this machine has no address for others")
	}
	if err != nil || len(everywhere.records) == 0 {
		t.Fatal(everywhere, err)
	}
	for _, r := range everywhere.records {
		if strings.Contains(r, "/127.0.0.1/") || strings.Contains(r, "/::1/") || !strings.HasPrefix(r, addrRecord) {
			t.Errorf("announces %s", r)
		}
	}
}

func farAddrs() (all []net.IP) {
	for _, i := range socket.Interfaces() {
		for _, ip := range i.Addrs {
			if socket.Far(ip) {
				all = append(all, ip.AsSlice())
			}
		}
	}
	return all
}

// Any machine on the network may write announcements.
func TestAnnouncementsThatCount(t *testing.T) {
	id := ephemeral(t)
	record := func(addr string) string { return addrRecord + addr + "/p2p/" + id.String() }
	const near, far = "/ip4/127.0.0.1/tcp/1", "/ip4/10.0.0.7/tcp/1"
	for name, test := range map[string]struct {
		records []string
		want    []string
	}{
		"an address":             {[]string{record(far)}, []string{far}},
		"two":                    {[]string{record(far), record("/ip6/fd00::7/tcp/1")}, []string{far, "/ip6/fd00::7/tcp/1"}},
		"loopback":               {[]string{record(near), record("/ip6/::1/tcp/1")}, nil},
		"loopback of elsewhere":  {[]string{localRecord + "there", record(near)}, nil},
		"loopback of here":       {[]string{localRecord + "here", record(near)}, []string{near}},
		"link-local":             {[]string{record("/ip6/fe80::7/tcp/1"), record("/ip6zone/eth0/ip6/fe80::7/tcp/1")}, nil},
		"all interfaces":         {[]string{record("/ip4/0.0.0.0/tcp/1")}, nil},
		"no address":             {[]string{"dnsaddr=", "dnsaddr=/ip4", "other=1", ""}, nil},
		"an address without id":  {[]string{"dnsaddr=/ip4/10.0.0.7/tcp/1"}, nil},
		"a name":                 {[]string{record("/dns4/localhost/tcp/1")}, nil},
		"link-local of IPv4":     {[]string{record("/ip4/169.254.3.4/tcp/1")}, []string{"/ip4/169.254.3.4/tcp/1"}},
		"one of several is near": {[]string{record(near), record(far)}, []string{far}},
	} {
		var got []string
		for _, who := range peersIn(test.records, "here") {
			if who.ID != id {
				t.Errorf("%s: peer %v", name, who.ID)
			}
			for _, a := range who.Addrs {
				got = append(got, a.String())
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func ephemeral(t testing.TB) peer.ID {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	return who.Peer()
}

// No announcement makes a machine call itself in place of another one.
func FuzzAnnouncements(f *testing.F) {
	id := "/p2p/" + ephemeral(f).String()
	f.Add("dnsaddr=/ip4/10.0.0.7/tcp/1"+id, "machine=there", "dnsaddr=/ip4/127.0.0.1/tcp/1"+id)
	f.Add("dnsaddr=/ip6zone/eth0/ip6/fe80::1/tcp/1"+id, "", "dnsaddr=/dns4/localhost/tcp/1"+id)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, who := range peersIn([]string{a, b, c}, "here") {
			for _, addr := range who.Addrs {
				ip, numeric := socket.AddrOf(addr)
				local := slices.Contains([]string{a, b, c}, "machine=here") && ip.IsLoopback()
				if !numeric || !socket.Far(ip) && !local {
					t.Errorf("%q %q %q: %v", a, b, c, addr)
				}
			}
		}
	})
}
