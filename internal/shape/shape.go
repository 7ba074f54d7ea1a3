// Package shape computes when bytes that are sent over a limited link leave and arrive.
//
// It moves no bytes and reads no clock. Package node delays real connections by these times,
// package sim advances virtual time by them. So a limit means the same in both. The model has
// no congestion control: a sender uses the full rate.
package shape

import (
	"time"

	"gossiptrainer/internal/rng"
)

// A Link is one direction of a network link. The zero value is infinitely fast.
type Link struct {
	Rate    float64       // bits per second; 0 = unlimited
	Burst   int           // bytes that may leave at once after a pause
	Latency time.Duration // one way, ≥ 0
	Jitter  time.Duration // the latency of a packet is uniform in Latency ± Jitter, at least 0
	Loss    float64       // share of the packets that are lost and sent again, 0 to 1, exclusive
}

// Limited reports whether anything takes time on the link.
func (l Link) Limited() bool { return l != Link{Burst: l.Burst} }

// Record is the number of stream bytes that fill one TLS record of 16 KiB together with
// yamux's header of 12 bytes. Chunk is the number that fills sixteen records, the longest message
// that links send. One more byte would need another record or message.
const (
	Record = 16<<10 - 12
	Chunk  = 256<<10 - 12
)

// Bounds of a piece and the time that a link should need for one. Control messages wait for
// one piece at most, so pieces are short. Each costs headers, so they are not too short.
const (
	leastPiece = 4 << 10
	pieceTime  = 50 * time.Millisecond
)

// Piece returns how many bytes of a frame are written to the link at once.
func (l Link) Piece() int {
	if l.Rate <= 0 {
		return Chunk
	}
	return int(min(max(l.Rate/8*pieceTime.Seconds(), leastPiece), Record))
}

// capped returns the link with at most bits per second; 0 changes nothing.
func (l Link) capped(bits float64) Link {
	if bits > 0 && (l.Rate <= 0 || bits < l.Rate) {
		l.Rate = bits
	}
	return l
}

// A Gate lets bytes leave one after another at the rate of a link. One uplink may serve many
// paths. The zero value is idle.
type Gate struct {
	free     time.Duration // when all booked bytes have left
	promised time.Duration // when all promised bytes will have left, if their senders are in time
}

// leave books bytes and returns when the last of them leaves.
func (g *Gate) leave(l Link, now time.Duration, bytes int) time.Duration {
	if l.Rate <= 0 {
		return now
	}
	g.free = max(g.free, now-l.serialise(l.Burst)) + l.serialise(bytes)
	return max(g.free, now)
}

// promise reserves a turn for bytes and returns the time until then.
func (g *Gate) promise(l Link, now time.Duration, bytes int) time.Duration {
	if l.Rate <= 0 {
		return 0
	}
	turn := max(now, g.free, g.promised)
	g.promised = turn + l.serialise(bytes)
	return turn - now
}

func (l Link) serialise(bytes int) time.Duration {
	return time.Duration(float64(bytes) * 8 / l.Rate * float64(time.Second))
}

// A Path leads from a gate to one receiver. Bytes arrive in the order in which they left.
// Seed is the seed of jitter and loss.
type Path struct {
	Seed uint64

	packets int           // on the path so far
	last    time.Duration // when the last one arrives
}

// packet is the payload of a TCP segment in Ethernet frames of 1500 bytes.
const packet = 1448

// Book sends bytes at time now through g along p. It returns when the last byte leaves and
// when it arrives.
//
// A lost packet uses its share of the rate again and arrives one round trip (twice the
// latency) later. Packets behind it wait for it.
func (p *Path) Book(l Link, g *Gate, now time.Duration, bytes int) (left, arrives time.Duration) {
	if l.Jitter == 0 && l.Loss == 0 {
		left = g.leave(l, now, bytes)
		p.last = max(p.last, left+l.Latency)
		return left, p.last
	}
	for left = now; bytes > 0; bytes -= packet {
		var late time.Duration
		left, late = p.one(l, g, now, min(bytes, packet))
		p.last = max(p.last, left+late)
	}
	return left, max(p.last, left)
}

// one books a packet and returns when it has left and how long it is on its way.
func (p *Path) one(l Link, g *Gate, now time.Duration, bytes int) (left, late time.Duration) {
	late, sent := p.fate(l)
	for range sent {
		left = g.leave(l, now, bytes)
	}
	return left, late
}

// fate draws the delay of the next packet and how often it is sent.
func (p *Path) fate(l Link) (late time.Duration, sent int) {
	key := rng.At(p.Seed, p.packets)
	p.packets++
	spread := 2*float64(key.Uniform(0)) - 1
	late = max(0, l.Latency+time.Duration(spread*float64(l.Jitter)))
	for sent = 1; sent < tries && float64(key.Uniform(uint32(sent))) < l.Loss; sent++ {
		late += 2 * l.Latency
	}
	return late, sent
}

// draw returns the bytes that a message costs including retransmissions. It also returns the
// time from the departure of the last byte to the arrival of the message. Both assume that
// the message has the link for itself.
func (p *Path) draw(l Link, bytes int) (total int, tail time.Duration) {
	if l.Jitter == 0 && l.Loss == 0 {
		return bytes, l.Latency
	}
	var left, last time.Duration
	for ; bytes > 0; bytes -= packet {
		late, sent := p.fate(l)
		total += sent * min(bytes, packet)
		if l.Rate > 0 {
			left = l.serialise(total)
		}
		last = max(last, left+late)
	}
	return total, last - left
}

// tries bounds how often a packet is sent, so that a loss near 1 ends.
const tries = 64
