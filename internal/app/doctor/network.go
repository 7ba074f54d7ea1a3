package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gossiptrainer/internal/node"
	"gossiptrainer/internal/plural"
)

// A port is a network interface that is up and is not loopback.
type port struct {
	name      string
	mtu       int
	multicast bool
	addrs     []net.IP
	echo      bool // a multicast packet sent there came back to another socket of this machine
	six       bool // it takes part in multicast over IPv6
}

// network checks the interfaces of this machine.
func (p *patient) network() []Row {
	ports := interfaces()
	var wg sync.WaitGroup
	for i := range ports {
		if ports[i].multicast && slices.ContainsFunc(ports[i].addrs, isIPv4) {
			wg.Go(func() { ports[i].echo = echoes(ports[i].name) })
		}
		ports[i].six = ports[i].multicast && joins(ports[i].name)
	}
	wg.Wait()
	return []Row{
		judgeAddresses(ports, p.listed(), p.run != nil && p.run.N() > 1),
		judgeMTU(ports, p.links.Transport == node.QUIC),
		judgeMulticast(ports, p.needsMulticast()),
	}
}

func isIPv4(ip net.IP) bool { return ip.To4() != nil }

// interfaces returns the ports of this machine.
func interfaces() []port {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var ports []port
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		one := port{name: i.Name, mtu: i.MTU, multicast: i.Flags&net.FlagMulticast != 0}
		addrs, _ := i.Addrs() // without addresses it is judged as without
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				one.addrs = append(one.addrs, n.IP)
			}
		}
		if len(one.addrs) > 0 {
			ports = append(ports, one)
		}
	}
	return ports
}

// judgeAddresses judges the addresses of this machine. listed are the IP addresses that the roster gives it; needed says
// that other machines must reach one.
func judgeAddresses(ports []port, listed []net.IP, needed bool) Row {
	verdict := Look
	if needed {
		verdict = Broken
	}
	var shown []string
	var all []net.IP
	for _, p := range ports {
		for _, ip := range p.addrs {
			if !ip.IsLinkLocalUnicast() {
				all, shown = append(all, ip), append(shown, fmt.Sprintf("%s (%s)", ip, p.name))
			}
		}
	}
	switch {
	case len(all) == 0:
		return complaint("addresses", verdict, "no interface that is up has an address for other machines",
			"connect the machine to the LAN, and give it an address: ip address, or the settings of the network")
	case len(listed) > 0 && !slices.ContainsFunc(listed, func(ip net.IP) bool {
		return slices.ContainsFunc(all, ip.Equal)
	}):
		return complaint("addresses", Broken, fmt.Sprintf("the roster gives this machine %s, and it has %s",
			listed[0], strings.Join(shown, ", ")),
			"correct addrs of this machine under peers:, in the run files of all machines")
	}
	return ok("addresses", "%s", strings.Join(shown, ", "))
}

// Lengths of IP packets in bytes.
const (
	leastMTU = 1280 // IPv6 needs it, and QUIC nearly so
	ethernet = 1500
)

// judgeMTU judges the longest packets that the interfaces take.
func judgeMTU(ports []port, quic bool) Row {
	least := port{mtu: 1 << 20}
	var shown []string
	for _, p := range ports {
		shown = append(shown, fmt.Sprintf("%s %d", p.name, p.mtu))
		if p.mtu < least.mtu {
			least = p
		}
	}
	if len(ports) == 0 {
		return ok("MTU", "no interface to judge")
	}
	if least.mtu >= leastMTU {
		return ok("MTU", "%s", strings.Join(shown, ", "))
	}
	verdict, why := Look, "IPv6 and QUIC need 1280"
	if quic {
		verdict = Broken
	}
	return complaint("MTU", verdict, fmt.Sprintf("%s takes packets of %d bytes at most, where %s", least.name, least.mtu,
		why), fmt.Sprintf("ip link set %s mtu %d on all machines of that network, or repair the tunnel below it",
		least.name, ethernet))
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
	six := false
	for _, p := range ports {
		six = six || p.six
		switch {
		case p.multicast && p.echo:
			able = append(able, p.name)
		case p.multicast && slices.ContainsFunc(p.addrs, isIPv4):
			deaf = append(deaf, p.name)
		}
	}
	switch {
	case len(able) > 0 && !six:
		return complaint("multicast", verdict, "no interface takes part in multicast over IPv6, without which discovery "+
			"does not begin", "switch IPv6 on for an interface: sysctl -w net.ipv6.conf.NAME.disable_ipv6=0, and an MTU of "+
			"1280 "+
			"or more; "+listPeers)
	case len(able) > 0:
		return ok("multicast", "works on this machine on %s", strings.Join(able, ", "))
	case len(deaf) > 0:
		return complaint("multicast", verdict, "this machine drops its own multicast packets on "+strings.Join(deaf, ", "),
			"open "+mdns+" in its firewall, in and out: ufw allow mdns, firewall-cmd --add-service=mdns; "+listPeers)
	}
	return complaint("multicast", verdict, "no interface that is up passes multicast",
		"ip link set dev NAME multicast on; "+listPeers)
}

// echoTime bounds the wait for the own packet, of which a few are sent.
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
		if n, ok := a.(*net.IPNet); ok && isIPv4(n.IP) {
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

// joins reports whether an interface takes part in the group of mDNS over IPv6. The library for discovery needs one
// that
// does, also where peers talk over IPv4.
func joins(name string) bool {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false
	}
	c, err := net.ListenMulticastUDP("udp6", i, &net.UDPAddr{IP: net.ParseIP("ff02::fb"), Port: 5353})
	if err != nil {
		return false
	}
	c.Close()
	return true
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
			"roster", plural.Noun(len(numbers), "port")+" "+strings.Join(numbers, ", ")))
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
