package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gossiptrainer/internal/human"
	"gossiptrainer/node"
	"gossiptrainer/node/socket"
)

// A port is a network interface of this machine.
type port struct {
	socket.Interface
	echo bool // a multicast packet of IPv4 sent there came back to another socket of this machine
}

// network checks the interfaces of this machine.
func (p *subject) network() []Row {
	all := socket.Interfaces()
	ports := make([]port, len(all))
	var wg sync.WaitGroup
	for i := range all {
		ports[i].Interface = all[i]
		if all[i].Multicast && slices.ContainsFunc(all[i].Addrs, netip.Addr.Is4) {
			wg.Go(func() { ports[i].echo = echoes(all[i].Name) })
		}
	}
	wg.Wait()
	return []Row{
		judgeAddresses(all, p.listed(), p.run != nil && p.run.N() > 1),
		judgeMTU(all, p.links.Transport == node.QUIC),
		judgeMulticast(ports, p.needsMulticast()),
	}
}

// judgeAddresses judges the addresses of this machine. listed are the IP addresses that the roster gives it. Other
// machines must reach one if an address is needed.
func judgeAddresses(all []socket.Interface, listed []netip.Addr, needed bool) Row {
	verdict := Look
	if needed {
		verdict = Broken
	}
	if err := socket.Secluded(all); err != nil {
		row := failure("addresses", err, "")
		row.Verdict = verdict
		return row
	}
	var shown []string
	var own []netip.Addr
	for _, i := range all {
		for _, ip := range i.Addrs {
			if socket.Far(ip) {
				own, shown = append(own, ip), append(shown, fmt.Sprintf("%s (%s)", ip, i.Name))
			}
		}
	}
	if len(listed) > 0 && !slices.ContainsFunc(listed, func(ip netip.Addr) bool { return slices.Contains(own, ip) }) {
		return complaint("addresses", Broken, fmt.Sprintf("the roster gives this machine %s, and it has %s",
			listed[0], strings.Join(shown, ", ")),
			"correct addrs of this machine under peers:, in the run files of all machines")
	}
	return ok("addresses", "%s", strings.Join(shown, ", "))
}

// ethernet is the length of an IP packet on Ethernet, in bytes.
const ethernet = 1500

// judgeMTU judges the longest packets that the interfaces take.
func judgeMTU(all []socket.Interface, quic bool) Row {
	var shown []string
	for _, i := range all {
		shown = append(shown, fmt.Sprintf("%s %d", i.Name, i.MTU))
	}
	if len(all) == 0 {
		return ok("MTU", "no interface to judge")
	}
	least := slices.MinFunc(all, func(a, b socket.Interface) int { return a.MTU - b.MTU })
	if least.MTU >= socket.LeastMTU {
		return ok("MTU", "%s", strings.Join(shown, ", "))
	}
	verdict := Look
	if quic {
		verdict = Broken
	}
	return complaint("MTU", verdict, fmt.Sprintf("%s takes packets of %d bytes at most: QUIC and IPv6 need %d and do not "+
		"work there, and peers find each other over IPv4 only", least.Name, least.MTU, socket.LeastMTU),
		fmt.Sprintf("ip link set %s mtu %d on all machines of that network, or repair the tunnel below it", least.Name,
			ethernet))
}

// mdns is the port of discovery.
const mdns = "UDP 5353 to 224.0.0.251"

// listPeers is the way out where there is no multicast.
const listPeers = "or list ids and addrs under peers: in the run file, which needs no multicast"

// judgeMulticast judges multicast on this machine. Runs whose roster has all addresses do not need it.
func judgeMulticast(ports []port, needed bool) Row {
	verdict := Look
	if needed {
		verdict = Broken
	}
	var able, deaf []string
	for _, p := range ports {
		switch {
		case p.Multicast && (p.echo || !slices.ContainsFunc(p.Addrs, netip.Addr.Is4)):
			able = append(able, p.Name)
		case p.Multicast:
			deaf = append(deaf, p.Name)
		}
	}
	switch {
	case len(able) > 0:
		return ok("multicast", "works on this machine on %s", strings.Join(able, ", "))
	case len(deaf) > 0:
		return complaint("multicast", verdict, "this machine drops its own multicast packets on "+strings.Join(deaf, ", "),
			"open "+mdns+" in its firewall, in and out: ufw allow mdns, firewall-cmd --add-service=mdns; "+listPeers)
	}
	return complaint("multicast", verdict, "no interface that is up passes multicast",
		"ip link set dev NAME multicast on; "+listPeers)
}

// echoTime bounds the wait for one of our own packets.
const (
	echoTime  = 500 * time.Millisecond
	echoTries = 3
)

// echoes sends a question to the group of mDNS and reports whether another socket of this machine hears it. The name in
// the question is random. Received bytes are only compared with those sent.
func echoes(name string) bool {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false
	}
	group := &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353}
	ear, err := net.ListenMulticastUDP("udp4", i, group)
	if err != nil {
		return false
	}
	defer ear.Close()
	var from net.IP
	addrs, _ := i.Addrs() // none: the dial fails
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			from = n.IP
			break
		}
	}
	mouth, err := net.DialUDP("udp4", &net.UDPAddr{IP: from}, group)
	if err != nil {
		return false
	}
	defer mouth.Close()
	question := newQuestion()
	buffer := make([]byte, 1<<16)
	for range echoTries {
		if _, err := mouth.Write(question); err != nil {
			return false
		}
		ear.SetReadDeadline(time.Now().Add(echoTime / echoTries))
		for {
			n, _, err := ear.ReadFromUDP(buffer)
			if err != nil {
				break
			}
			if slices.Equal(buffer[:n], question) {
				return true
			}
		}
	}
	return false
}

// newQuestion returns a DNS question (RFC 1035, section 4.1) for the services of a random name, which no machine has.
func newQuestion() []byte {
	var nonce [8]byte
	rand.Read(nonce[:])
	question := []byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, label := range []string{"_gt-" + hex.EncodeToString(nonce[:4]), "_udp", "local"} {
		question = append(append(question, byte(len(label))), label...)
	}
	return append(question, 0, 0, 12, 0, 1) // PTR, IN
}

// judgePort judges the addresses on which this machine listens. taken is nil if they could be used.
func judgePort(taken error, listen, addrs []string) Row {
	if taken == nil {
		return ok("port", "listens on %s", strings.Join(addrs, ", "))
	}
	numbers := portsOf(listen)
	return complaint("port", Broken, fmt.Sprintf("cannot %v", taken),
		fmt.Sprintf("end the program that has %s (ss -lntup "+
			"names it; a peer of this run that runs here needs no doctor), or set node.listen to a free port and correct the "+
			"roster", human.Noun(len(numbers), "port")+" "+strings.Join(numbers, ", ")))
}

// portsOf returns the port numbers in multiaddrs.
func portsOf(addrs []string) []string {
	var numbers []string
	for _, a := range addrs {
		parts := strings.Split(a, "/")
		for i, part := range parts[:len(parts)-1] {
			if _, err := strconv.Atoi(parts[i+1]); err == nil && (part == "tcp" || part == "udp") {
				numbers = append(numbers, parts[i+1])
			}
		}
	}
	return numbers
}
