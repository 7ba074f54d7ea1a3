package socket

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// LeastMTU is the length in bytes of the IP packets that an interface must take for QUIC. The first packets have 1200
// bytes and the headers of UDP and IPv6, and IPv6 itself needs 1280.
const LeastMTU = 1280

// An Interface is a network interface of this machine that is up, other than loopback.
type Interface struct {
	Name      string
	MTU       int // bytes of the longest IP packet
	Multicast bool
	Addrs     []netip.Addr // at least one, without zones
}

// Interfaces returns the interfaces with addresses, none if the system does not tell them.
func Interfaces() []Interface {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var found []Interface
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		one := Interface{Name: i.Name, MTU: i.MTU, Multicast: i.Flags&net.FlagMulticast != 0}
		addrs, _ := i.Addrs() // one that does not tell them has none
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				ip, _ := netip.AddrFromSlice(n.IP)
				one.Addrs = append(one.Addrs, ip.Unmap())
			}
		}
		if len(one.Addrs) > 0 {
			found = append(found, one)
		}
	}
	return found
}

// Here reports whether an interface of this machine has an address.
func Here(ip netip.Addr) bool {
	all, _ := net.InterfaceAddrs() // none: no interface has it
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}

// Far reports whether other machines can connect to an address. They connect neither to loopback nor to the address of
// all interfaces. A link-local address of IPv6 needs a zone, which differs from machine to machine, and libp2p does not
// connect to it.
func Far(ip netip.Addr) bool {
	linkLocal := ip.Is6() && ip.IsLinkLocalUnicast()
	return ip.IsValid() && !ip.IsLoopback() && !ip.IsUnspecified() && !linkLocal
}

// Reachable leaves out the addresses at which other machines cannot connect.
func Reachable(addrs []ma.Multiaddr) []ma.Multiaddr {
	return slices.DeleteFunc(slices.Clone(addrs), func(a ma.Multiaddr) bool {
		ip, named := AddrOf(a)
		return named && !Far(ip)
	})
}

// shown returns the addresses of a host for its user and for other hosts: those at which other machines connect, or
// else those of loopback.
func shown(addrs []ma.Multiaddr) []ma.Multiaddr {
	if far := Reachable(addrs); len(far) > 0 {
		return far
	}
	return Loopback(addrs)
}

// Loopback returns the addresses at which only this machine connects.
func Loopback(addrs []ma.Multiaddr) []ma.Multiaddr {
	return slices.DeleteFunc(slices.Clone(addrs), func(a ma.Multiaddr) bool {
		ip, named := AddrOf(a)
		return !named || !ip.IsLoopback()
	})
}

// AddrOf returns the IP address of a multiaddr without its zone, and whether it has one.
func AddrOf(a ma.Multiaddr) (netip.Addr, bool) {
	at, err := manet.ToIP(a)
	if err != nil {
		return netip.Addr{}, false
	}
	ip, ok := netip.AddrFromSlice(at)
	return ip.Unmap(), ok
}

// PortOf returns the transport and the port of a multiaddr, such as tcp/4001, "" without one.
func PortOf(a ma.Multiaddr) string {
	for _, c := range a {
		if code := c.Protocol().Code; code == ma.P_TCP || code == ma.P_UDP {
			return c.Protocol().Name + "/" + c.Value()
		}
	}
	return ""
}

// A SecludedError says that no other machine can connect to this one.
type SecludedError struct {
	LinkLocal netip.Addr // an IPv6 address that needs a zone; invalid: the machine has none
	Port      string     // its interface
}

func (e *SecludedError) Error() string {
	if e.LinkLocal.IsValid() {
		return fmt.Sprintf("this machine has only link-local addresses (%v on %s), and peers do not connect to those",
			e.LinkLocal, e.Port)
	}
	return "no interface that is up has an address for other machines"
}

// Hint says what to do.
func (e *SecludedError) Hint() string {
	port := "eth0"
	if e.LinkLocal.IsValid() {
		port = e.Port
	}
	return fmt.Sprintf("give each machine an address of one network: ip address add 192.168.77.1/24 dev %s here, "+
		"192.168.77.2/24 on the next one", port)
}

// Secluded returns a *SecludedError if other machines can connect to none of these interfaces, and else nil.
func Secluded(all []Interface) error {
	e := &SecludedError{}
	for _, i := range all {
		for _, ip := range i.Addrs {
			switch {
			case Far(ip):
				return nil
			case !e.LinkLocal.IsValid():
				e.LinkLocal, e.Port = ip, i.Name
			}
		}
	}
	return e
}

// TooShort returns the interfaces with an address for other machines that take no packets as long as those of QUIC, and
// whether all of these interfaces are so.
func TooShort(all []Interface) (short []Interface, none bool) {
	far := slices.DeleteFunc(slices.Clone(all), func(i Interface) bool { return !slices.ContainsFunc(i.Addrs, Far) })
	short = slices.DeleteFunc(slices.Clone(far), func(i Interface) bool { return i.MTU >= LeastMTU })
	return short, len(short) > 0 && len(short) == len(far)
}
