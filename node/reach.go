package node

import (
	"fmt"
	"slices"
	"strings"

	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// A SecludedError says that no other machine can connect to this one.
type SecludedError = socket.SecludedError

// takeRoster reads the roster, if there is one. A peer that is not told where to listen does so at its own addresses of
// the roster, where the others call it.
func (n *Node) takeRoster(o *Options) (err error) {
	if len(o.Roster) == 0 {
		return nil
	}
	if n.roster, err = n.parse(o.Roster); err == nil && len(o.Listen) == 0 {
		o.Listen, _ = n.roster.Listening(o.Transport, socket.Here)
	}
	return err
}

// CheckReach looks for what keeps other machines from this peer, which listens. It returns warnings, and a
// *NetworkError if no other machine can reach it. A peer that listens on loopback only, or whose roster has loopback
// addresses, is among peers of its own machine.
func (n *Node) CheckReach() (warnings []string, err error) {
	n.mu.Lock()
	r := n.roster
	n.mu.Unlock()
	at := n.host.Network().ListenAddresses()
	if n.opts.N == 1 || local(r, at) {
		return nil, nil
	}
	if r != nil {
		own := r.Addrs[r.Self]
		_, forwarded := r.Listening(n.opts.Transport, socket.Here)
		switch {
		case len(n.opts.Listen) == 0 && len(forwarded) > 0:
			warnings = append(warnings, fmt.Sprintf("the roster gives this machine %v, which no interface here has: it "+
				"listens on that port of all interfaces, to which a router must forward it", forwarded))
		case len(own) > 0 && !samePort(own, at):
			warnings = append(warnings, fmt.Sprintf("the roster gives this machine %v, and node.listen has another port: the "+
				"others reach it only where a router forwards that one", own))
		}
	}
	more, err := judgeReach(n.host.Addrs(), n.opts.Transport == QUIC, socket.Interfaces())
	return append(warnings, more...), err
}

// samePort reports whether some of the addresses have a port of the others.
func samePort(some, others []ma.Multiaddr) bool {
	return slices.ContainsFunc(some, func(a ma.Multiaddr) bool {
		return slices.ContainsFunc(others, func(b ma.Multiaddr) bool { return socket.PortOf(a) == socket.PortOf(b) })
	})
}

// local reports whether a peer that listens there is meant for the peers of its own machine.
func local(r *join.Roster, at []ma.Multiaddr) bool {
	if r != nil && len(socket.Loopback(slices.Concat(r.Addrs...))) > 0 {
		return true
	}
	return len(socket.Loopback(at)) == len(at)
}

// judgeReach judges the addresses of a host and the interfaces of its machine.
func judgeReach(addrs []ma.Multiaddr, quic bool, all []socket.Interface) (warnings []string, err error) {
	if len(socket.Reachable(addrs)) == 0 {
		if err := socket.Secluded(all); err != nil {
			return nil, &NetworkError{Op: opJoin, Err: err}
		}
	}
	short, none := socket.TooShort(all)
	if !quic || len(short) == 0 {
		return nil, nil
	}
	if none {
		return nil, &NetworkError{Op: opJoin, Err: &mtuError{short}}
	}
	return []string{fmt.Sprintf("%s, and QUIC needs %d: no connection opens there", lengths(short), socket.LeastMTU)}, nil
}

// lengths names interfaces and their packets.
func lengths(all []socket.Interface) string {
	var shown []string
	for _, i := range all {
		shown = append(shown, fmt.Sprintf("%s takes packets of %d bytes at most", i.Name, i.MTU))
	}
	return strings.Join(shown, ", ")
}

// An mtuError says that no interface takes packets as long as QUIC needs them.
type mtuError struct{ short []socket.Interface }

func (e *mtuError) Error() string {
	return fmt.Sprintf("%s, and QUIC needs %d", lengths(e.short), socket.LeastMTU)
}

// Hint says what to do.
func (e *mtuError) Hint() string {
	return fmt.Sprintf("ip link set %s mtu 1500 on all machines of that network, or node.transport: tcp", e.short[0].Name)
}
