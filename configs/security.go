package configs

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Least lengths of the prefixes of trusted networks: larger ones hold strangers.
const (
	leastPrefix4 = 8
	leastPrefix6 = 16
)

// A netError is a trusted network that cannot be one.
type netError struct {
	index     int // in node.trusted
	text, why string
}

func (e *netError) Error() string { return fmt.Sprintf("node.trusted: %q %s", e.text, e.why) }

// Nets returns the trusted networks.
func (n *Node) Nets() ([]netip.Prefix, error) {
	var nets []netip.Prefix
	for i, text := range n.Trusted {
		p, err := netip.ParsePrefix(text)
		least := leastPrefix6
		if err == nil && p.Addr().Is4() {
			least = leastPrefix4
		}
		switch {
		case err != nil:
			return nil, &netError{i, text, "is not a network like 192.168.1.0/24"}
		case p.Bits() < least:
			return nil, &netError{i, text, fmt.Sprintf("is too large to be trusted: name one of /%d or longer", least)}
		}
		nets = append(nets, p.Masked())
	}
	return nets, nil
}

// checkOpen refuses addresses at which security none is not allowed. Those of all interfaces are: the peer refuses
// callers from elsewhere.
func checkOpen(key string, addrs []string, c *Config, wrong complain) {
	nets, err := c.Node.Nets()
	if c.Node.Security != "none" || err != nil {
		return
	}
	for i, text := range addrs {
		at, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			continue // another rule tells
		}
		name, err := manet.ToNetAddr(at)
		if err != nil {
			continue
		}
		tcp, ok := name.(*net.TCPAddr)
		if !ok {
			continue
		}
		ip := tcp.AddrPort().Addr().Unmap().WithZone("")
		inside := func(p netip.Prefix) bool { return p.Contains(ip) }
		if ip.IsLoopback() || slices.ContainsFunc(nets, inside) || ip.IsUnspecified() && len(nets) > 0 {
			continue
		}
		wrong(fmt.Sprintf("%s.%d", key, i), "node.security is none, and %s is neither loopback nor in node.trusted: "+
			"name its network there if you trust all machines and cables in it, or set node.security to tls", show(text))
	}
}
