package build

import (
	"bytes"
	"math"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// These are the words of the liar of a mob.

// most is how many frames it remembers.
const most = 64

// hear remembers a frame.
func (m *mob) hear(f gossip.Frame) {
	if len(m.heard) < most {
		m.heard = append(m.heard, f)
		return
	}
	m.heard[m.dice.IntN(most)] = f
}

// lie sends invented frames, now and then.
func (m *mob) lie() {
	p := m.members[m.liar]
	if p.gone {
		return
	}
	if to := m.listener(p); to >= 0 {
		for range 1 + m.dice.below(3) {
			m.post(m.invent(p, to))
		}
	}
	if m.dice.below(40) == 0 { // another process in its place
		p.process += 100
	}
	if m.dice.below(20) == 0 {
		m.lose(m.liar, topology.Rank(m.dice.below(len(m.members))))
	}
	m.after(m.wait(30), m.lie)
}

// listener draws a worker with a link to the liar. It returns −1 if no worker has one.
func (m *mob) listener(p *member) topology.Rank {
	first := m.dice.below(len(m.members))
	for i := range m.members {
		rank := topology.Rank((first + i) % len(m.members))
		if rank != m.liar && m.links[m.between(rank, m.liar)] > 0 {
			return rank
		}
	}
	return -1
}

// invent returns a frame for a worker: one that the liar knows, with a change or without, or a new one.
func (m *mob) invent(p *member, to topology.Rank) gossip.Frame {
	f := gossip.Frame{Kind: m.kind(), Round: m.round(m.members[to]), Hop: m.hop(), Piece: m.piece(p)}
	if n := len(m.heard); n > 0 && m.dice.below(2) == 0 {
		f = m.heard[m.dice.below(n)]
		for range m.dice.below(3) {
			m.change(p, &f)
		}
	}
	f.From, f.To = m.liar, to
	return m.sendable(f)
}

// sendable returns a frame as it arrives over a link: frames about edges and places have no payload.
func (m *mob) sendable(f gossip.Frame) gossip.Frame {
	if f.Kind >= gossip.Place {
		f.Payload = nil
	}
	return f
}

// twist returns the frames that the liar sends in place of one that its machine would send.
func (m *mob) twist(p *member, f gossip.Frame) []gossip.Frame {
	other := f
	switch m.dice.below(10) {
	case 0:
		return nil
	case 1:
		return []gossip.Frame{f, f}
	case 2:
		m.change(p, &other)
		return []gossip.Frame{m.sendable(other)}
	case 3:
		m.change(p, &other)
		return []gossip.Frame{m.sendable(other), f}
	case 4:
		return []gossip.Frame{m.invent(p, f.To), f}
	}
	return []gossip.Frame{f}
}

// change changes one field of a frame.
func (m *mob) change(p *member, f *gossip.Frame) {
	switch m.dice.below(7) {
	case 0:
		f.Kind = m.kind()
	case 1:
		f.Round = m.round(m.members[f.To])
	case 2:
		f.Hop = m.hop()
	case 3:
		f.Piece = m.piece(p)
	case 4:
		f.Note = m.pattern()
	default:
		f.Payload = m.payload(f.Payload)
	}
}

// kind draws any kind that a link delivers.
func (m *mob) kind() gossip.FrameKind { return gossip.FrameKind(m.dice.below(int(gossip.Bye))) }

// round draws a number near the place of a worker, or near a bound.
func (m *mob) round(p *member) int {
	switch near := p.place.Round + m.dice.below(8) - 3; m.dice.below(4) {
	case 0:
		bounds := []int{0, p.Rounds - 1, p.Rounds, p.Rounds + 9, 1 << 15, math.MaxInt32, math.MaxUint32}
		return bounds[m.dice.below(len(bounds))]
	case 1:
		return max(0, near+m.dice.below(40))
	default:
		return max(0, near)
	}
}

func (m *mob) hop() int {
	if m.dice.below(5) == 0 {
		return math.MaxUint16
	}
	return m.dice.below(7)
}

func (m *mob) piece(p *member) int {
	switch m.dice.below(4) {
	case 0:
		return math.MaxUint16
	case 1:
		return gossip.SlotsOf(p.Machine).Parts()
	}
	return m.dice.below(3)
}

// pattern draws the bits of a note: two floats, or two marks.
func (m *mob) pattern() uint64 {
	halves := []uint64{
		0, 1, 1 << 31, math.MaxUint32, 0x7f7fffff, 0xff7fffff, 0x7fc00000, 0x7f800000, 0xff800000, 0x3f800000,
	}
	return halves[m.dice.below(len(halves))]<<32 | halves[m.dice.below(len(halves))]
}

// payload returns changed bytes: some of them, their number, or those of another frame.
func (m *mob) payload(of []byte) []byte {
	of = bytes.Clone(of)
	switch m.dice.below(8) {
	case 0:
		return nil
	case 1:
		return of[:m.dice.below(len(of)+1)]
	case 2:
		return append(of, make([]byte, 1+m.dice.below(9))...)
	case 3:
		if n := len(m.heard); n > 0 {
			return bytes.Clone(m.heard[m.dice.below(n)].Payload)
		}
	case 4:
		for i := range of {
			of[i] = byte(m.dice.IntN(256))
		}
	case 5: // the end: hashes and step counts
		for i := max(0, len(of)-1-m.dice.below(20)); i < len(of); i++ {
			of[i] = 255
		}
	default:
		for range 1 + m.dice.below(4) {
			if len(of) > 0 {
				of[m.dice.IntN(len(of))] ^= 1 << m.dice.below(8)
			}
		}
	}
	return of
}

// introduce changes the places that the liar tells when a link is made.
func (m *mob) introduce(p *member, said *gossip.Control) {
	if m.dice.below(2) == 0 {
		return
	}
	places := []int{0, 1, said.Place + 1, said.Place + 2, max(0, said.Place-1), p.Rounds, 1 << 20, 1 << 62}
	said.Place = places[m.dice.below(len(places))]
	said.Durable = slices.Concat([]int{gossip.Undurable}, places)[m.dice.below(1+len(places))]
	if m.dice.below(4) == 0 {
		p.process += 100
	}
}

// flood sends a few frames to a worker again and again.
func (m *mob) flood(times int) {
	liar := m.members[m.liar]
	to := m.listener(liar)
	if liar.gone || to < 0 {
		return
	}
	frames := make([]gossip.Frame, 1+m.dice.below(3))
	for i := range frames {
		frames[i] = m.invent(liar, to)
	}
	p, key := m.members[to], m.between(to, m.liar)
	number, before, most := m.links[key], p.sent, 2048*gossip.SlotsOf(p.Machine).Parts()
	for i := range times {
		if p.gone || m.links[key] != number {
			return
		}
		m.receive(p, frames[i%len(frames)])
	}
	answers, bytes := p.sent.frames-before.frames, p.sent.bytes-before.bytes
	if answers > most || bytes > 64*p.MaxPayload*gossip.SlotsOf(p.Machine).Parts() {
		m.t.Fatalf("worker %d answers %d frames of %+v with %d frames of %d bytes", to, times, frames, answers, bytes)
	}
}
