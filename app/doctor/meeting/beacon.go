package meeting

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/socket"
)

// A beacon is a datagram that tells a machine whether datagrams arrive in the reverse direction. TCP cannot tell which
// of two directions is cut: it needs both. The layout, little-endian:
//
//	code, 32 bytes
//	hash of the sender's id, 32
//	its nonce, 16
//	nonce of the receiver, as the sender has heard it, 16
//	bytes of the longest packet heard, u16
//	zeros
//
// The code is an HMAC of the rest, keyed with the join secret. It is checked before anything is read. An old datagram
// that is sent again does not have the nonce of this meeting, and only says that packets arrive.
type beacon struct {
	sender       [sha256.Size]byte
	nonce, heard [nonceLen]byte
	longest      int
}

const (
	nonceLen  = 16
	beaconLen = sha256.Size + sha256.Size + 2*nonceLen + 2

	// fullPacket is the length of an IP packet on Ethernet, in bytes. A beacon is sent in this length and in a short one.
	fullPacket = 1500
	headers4   = 20 + 8 // of IPv4 and UDP
	headers6   = 40 + 8

	beat = 200 * time.Millisecond // between two beacons
)

func beaconKey(secret, run string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("gossiptrainer doctor beacon 1 " + run))
	return mac.Sum(nil)
}

func hashOf(id peer.ID) [sha256.Size]byte { return sha256.Sum256([]byte(id)) }

// seal encodes b in size bytes, at least beaconLen.
func (b *beacon) seal(key []byte, size int) []byte {
	out := make([]byte, sha256.Size, max(size, beaconLen))
	out = append(out, b.sender[:]...)
	out = append(out, b.nonce[:]...)
	out = append(out, b.heard[:]...)
	out = binary.LittleEndian.AppendUint16(out, uint16(b.longest))
	out = out[:cap(out)]
	mac := hmac.New(sha256.New, key)
	mac.Write(out[sha256.Size:])
	copy(out, mac.Sum(nil))
	return out
}

// unseal decodes a datagram if its code is right.
func unseal(key, datagram []byte) (b beacon, ok bool) {
	if len(datagram) < beaconLen {
		return b, false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(datagram[sha256.Size:])
	if !hmac.Equal(mac.Sum(nil), datagram[:sha256.Size]) {
		return b, false
	}
	rest := datagram[sha256.Size:]
	rest = rest[copy(b.sender[:], rest):]
	rest = rest[copy(b.nonce[:], rest):]
	rest = rest[copy(b.heard[:], rest):]
	b.longest = int(binary.LittleEndian.Uint16(rest))
	return b, true
}

// beacons are the datagrams of this machine.
type beacons struct {
	key   []byte
	self  [sha256.Size]byte
	nonce [nonceLen]byte
	heard map[peer.ID][nonceLen]byte // under the lock of the meeting
}

// sendBeacons listens for datagrams on the ports of the TCP listeners, and sends them to those of the others. A port
// that another program has is left out.
func (m *meeting) sendBeacons() {
	if m.beacons == nil {
		return
	}
	m.beacons.heard = make(map[peer.ID][nonceLen]byte)
	var sockets []*net.UDPConn
	for _, a := range m.host.Network().ListenAddresses() {
		at, err := manet.ToNetAddr(a)
		tcp, ok := at.(*net.TCPAddr)
		if err != nil || !ok {
			continue
		}
		family := "udp6"
		if tcp.IP.To4() != nil {
			family = "udp4"
		}
		if c, err := net.ListenUDP(family, &net.UDPAddr{IP: tcp.IP, Port: tcp.Port, Zone: tcp.Zone}); err == nil {
			sockets = append(sockets, c)
			m.wg.Go(func() { m.hearBeacons(c) })
		}
	}
	m.wg.Go(func() {
		for {
			m.sendToAll(sockets)
			if !socket.Sleep(m.ctx, beat) {
				break
			}
		}
		for _, c := range sockets {
			c.Close()
		}
	})
}

// sendToAll sends each machine a short beacon and one in a full packet.
func (m *meeting) sendToAll(sockets []*net.UDPConn) {
	type letter struct {
		to   string
		what beacon
	}
	var letters []letter
	m.mu.Lock()
	all := make([]*other, 0, len(m.others))
	for _, o := range m.others {
		all = append(all, o)
	}
	m.mu.Unlock()
	for _, o := range all {
		m.mu.Lock()
		b := beacon{m.beacons.self, m.beacons.nonce, m.beacons.heard[o.id], o.Heard.Datagram}
		m.mu.Unlock()
		for _, to := range m.addresses(o) {
			letters = append(letters, letter{to, b})
		}
	}
	for _, l := range letters {
		to, err := net.ResolveUDPAddr("udp", l.to)
		if err != nil {
			continue
		}
		for _, c := range sockets {
			from := c.LocalAddr().(*net.UDPAddr)
			if (from.IP.To4() != nil) != (to.IP.To4() != nil) {
				continue
			}
			c.WriteToUDP(l.what.seal(m.beacons.key, beaconLen), to) // an error is a beacon that does not arrive
			c.WriteToUDP(l.what.seal(m.beacons.key, fullPacket-headers(to.IP)), to)
		}
	}
}

func headers(ip net.IP) int {
	if ip.To4() != nil {
		return headers4
	}
	return headers6
}

// hearBeacons reads datagrams until the socket is closed.
func (m *meeting) hearBeacons(c *net.UDPConn) {
	datagram := make([]byte, fullPacket)
	for {
		n, from, err := c.ReadFromUDP(datagram)
		if err != nil && m.ctx.Err() != nil {
			return
		}
		b, ok := unseal(m.beacons.key, datagram[:n])
		if err != nil || !ok {
			continue
		}
		m.heard(b, n+headers(from.IP))
	}
}

// heard notes a beacon. packet is the length of its IP packet in bytes.
func (m *meeting) heard(b beacon, packet int) {
	m.change(func() {
		for id, o := range m.others {
			if hashOf(id) != b.sender {
				continue
			}
			m.beacons.heard[id] = b.nonce
			o.Heard.Datagram = max(o.Heard.Datagram, packet)
			if b.heard == m.beacons.nonce {
				o.HearsUs.Datagram = max(o.HearsUs.Datagram, b.longest)
			}
		}
	})
}
