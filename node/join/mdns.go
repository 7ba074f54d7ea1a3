package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/zeroconf/v2"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/socket"
)

// Peers find each other by multicast DNS as libp2p specifies it: a service per run, whose TXT records hold multiaddrs
// with the id of the peer. This package uses the library for DNS itself: the service of libp2p finds no peer without
// IPv6, and announces loopback addresses to other machines.
const (
	mdnsDomain   = "local"
	addrRecord   = "dnsaddr="
	localRecord  = "machine=" // before the mark of a machine: the record's loopback addresses are of that machine
	announcePort = 4001       // the library wants a port; only the TXT records count
	waiting      = 64         // announcements that wait to be read
)

// serviceName is the mDNS service of a run, so that runs on one network do not
// meet. Its label stays within the 15 characters of RFC 6763, section 7.2.
func serviceName(run string) string {
	sum := sha256.Sum256([]byte(run))
	return fmt.Sprintf("_gt-%x._udp", sum[:4])
}

// Discover looks for peers of a run by multicast until ctx ends. It announces the current addresses: the host must
// listen already. If no interface has multicast, one may still come up: it tries again. An announcement counts only
// with addresses to which this machine can connect. found also hears other processes with the id of h, see
// Others.
func Discover(ctx context.Context, h host.Host, run string, found func(peer.AddrInfo), log *slog.Logger) {
	for told := false; ; told = true {
		err := discover(ctx, h, serviceName(run), found, log)
		if ctx.Err() != nil {
			return
		}
		if !told {
			log.Warn("no mDNS: only peers with an address in the run file are found", "err", err)
		}
		if !socket.Sleep(ctx, socket.LastRetry) {
			return
		}
	}
}

// Others returns a receiver of announcements that passes on those of other peers. twin hears announcements under this
// host's own id at addresses that it never had. They come from a machine with a copy of its key, or from a stranger.
func Others(h *socket.Host, found func(peer.AddrInfo), twin func(*socket.TwinError)) func(peer.AddrInfo) {
	var mu sync.Mutex
	own := make(map[string]bool)
	return func(who peer.AddrInfo) {
		if who.ID != h.ID() {
			found(who)
			return
		}
		listening, _ := h.Network().InterfaceListenAddresses() // without interfaces there are none
		mu.Lock()
		defer mu.Unlock()
		for _, a := range slices.Concat(listening, h.Addrs()) {
			own[a.String()] = true
		}
		foreign := slices.DeleteFunc(slices.Clone(who.Addrs), func(a ma.Multiaddr) bool { return own[a.String()] })
		if len(foreign) > 0 {
			twin(h.Twin(foreign...))
		}
	}
}

var errNoMulticast = errors.New("no interface that is up has multicast")

// discover is Discover until the first error.
func discover(ctx context.Context, h host.Host, service string, found func(peer.AddrInfo), log *slog.Logger) error {
	family := families()
	if family == 0 {
		return errNoMulticast
	}
	here := machineMark(service)
	a, err := announcementOf(h, here)
	if err != nil {
		return err
	}
	name := "p" + strings.ToLower(rand.Text()) // says nothing about the peer
	server, err := zeroconf.RegisterProxy(name, service, mdnsDomain, announcePort, name, a.ips, a.records, nil)
	if err != nil {
		return err
	}
	defer server.Shutdown()
	log.Debug("looking for peers by mDNS", "service", service)
	entries := make(chan *zeroconf.ServiceEntry, waiting)
	over := make(chan error, 1)
	go func() {
		over <- zeroconf.Browse(ctx, service, mdnsDomain, entries, zeroconf.SelectIPTraffic(family))
	}()
	for {
		select {
		case e, more := <-entries:
			if !more {
				return <-over
			}
			if e.Instance == name {
				continue
			}
			for _, who := range peersIn(e.Text, here) {
				found(who)
			}
		case err := <-over:
			return err
		}
	}
}

// families returns the versions of IP with which an interface takes part in mDNS. An MTU below 1280 switches IPv6 off.
func families() (all zeroconf.IPType) {
	interfaces, _ := net.Interfaces() // none: there is no multicast
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagMulticast == 0 {
			continue
		}
		if joins("udp4", &i, "224.0.0.251") {
			all |= zeroconf.IPv4
		}
		if joins("udp6", &i, "ff02::fb") {
			all |= zeroconf.IPv6
		}
	}
	return all
}

// joins reports whether an interface takes part in a group of mDNS.
func joins(network string, i *net.Interface, group string) bool {
	const port = 5353
	c, err := net.ListenMulticastUDP(network, i, &net.UDPAddr{IP: net.ParseIP(group), Port: port})
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// An announcement is what a host tells by mDNS.
type announcement struct {
	records []string // TXT
	ips     []string // one of each version; firewalls expect them
}

// announcementOf returns the announcement of a host. Loopback addresses are told only by a host that has no other, for
// the processes of the machine with this mark.
func announcementOf(h host.Host, here string) (a announcement, err error) {
	all, err := h.Network().InterfaceListenAddresses()
	if err != nil {
		return a, err
	}
	addrs := socket.Reachable(all)
	if len(addrs) == 0 && here != "" {
		addrs = socket.Loopback(all)
		a.records = append(a.records, localRecord+here)
	}
	seen := make(map[bool]bool) // by version of IP
	for _, addr := range addrs {
		ip, ok := socket.AddrOf(addr)
		if !ok {
			continue
		}
		a.records = append(a.records, addrRecord+addr.String()+"/p2p/"+h.ID().String())
		if !seen[ip.Is4()] {
			seen[ip.Is4()] = true
			a.ips = append(a.ips, ip.String())
		}
	}
	if len(a.ips) == 0 {
		return a, errors.New("this peer has no address for other machines")
	}
	return a, nil
}

// peersIn returns the peers that the TXT records of an announcement name, with the addresses to which the machine with
// the mark here can connect. Anybody may have written the records.
func peersIn(records []string, here string) []peer.AddrInfo {
	local := here != "" && slices.Contains(records, localRecord+here)
	var all []ma.Multiaddr
	for _, r := range records {
		if text, ok := strings.CutPrefix(r, addrRecord); ok {
			if addr, err := ma.NewMultiaddr(text); err == nil {
				all = append(all, addr)
			}
		}
	}
	infos, err := peer.AddrInfosFromP2pAddrs(all...)
	if err != nil {
		return nil
	}
	for i := range infos {
		infos[i].Addrs = slices.DeleteFunc(infos[i].Addrs, func(a ma.Multiaddr) bool {
			ip, numeric := socket.AddrOf(a)
			return !numeric || !socket.Far(ip) && !(local && ip.IsLoopback())
		})
	}
	return slices.DeleteFunc(infos, func(who peer.AddrInfo) bool { return len(who.Addrs) == 0 })
}

// machineMark names this machine to its own processes in a service: a hash of the hardware address of its first
// interface that has one, or else of its first address. It is "" without either. Containers with a network of their own
// are machines of their own.
func machineMark(service string) string {
	var own []byte
	if ports := socket.Interfaces(); len(ports) > 0 {
		own = ports[0].Addrs[0].AsSlice()
	}
	interfaces, _ := net.Interfaces() // none: the addresses are left
	for _, i := range slices.Backward(interfaces) {
		if len(i.HardwareAddr) > 0 && i.Flags&net.FlagLoopback == 0 {
			own = i.HardwareAddr
		}
	}
	if len(own) == 0 {
		return ""
	}
	sum := sha256.Sum256(append([]byte(service+" "), own...))
	return fmt.Sprintf("%x", sum[:8])
}
