package rng

import (
	"math/bits"
	"slices"
)

// RandomK appends k of the indices 0..d−1 to dst in increasing order and returns the
// extended slice. They are the first k of a partial Fisher–Yates shuffle. Its step i exchanges
// position i with position i + (raw(seed, round, i) mod (d−i)). It needs 0 ≤ k ≤ d ≤ 2³².
//
// It works in O(k) memory, which it takes from dst's spare capacity: a caller
// that passes the result back, cut to its old length, allocates nothing.
func RandomK(dst []uint32, seed uint64, round, d, k int) []uint32 {
	if k < 0 || k > d || uint64(d) > 1<<32 {
		panic("internal error: rng.RandomK: k must be in 0..d and d at most 2^32")
	}
	key, start := At(seed, round), len(dst)
	size := 1 << bits.Len(uint(2*k))
	dst = slices.Grow(dst, k+2*size)
	chosen := dst[start : start+k]
	moved := newMoves(dst[start+k : start+k+2*size])
	for i := range chosen {
		j := uint32(i) + uint32(uint64(key.Raw(uint32(i)))%uint64(d-i))
		// Position i is never visited again, so only j's new content is kept.
		chosen[i] = moved.put(j, moved.get(uint32(i)))
	}
	slices.Sort(chosen)
	return dst[:start+k]
}

// moves is the part of the permutation that differs from the identity. It is an open
// addressing table from position to content, never more than half full. A slot with equal
// position and content is free, since such an entry carries no information. Slots are never
// freed: an element that leaves its position goes to the finished front.
type moves struct {
	position, content []uint32
	shift             int
}

// newMoves makes an empty table in scratch, of twice a power of two words.
func newMoves(scratch []uint32) moves {
	clear(scratch)
	size := len(scratch) / 2
	return moves{scratch[:size], scratch[size:], 33 - bits.Len(uint(size))}
}

// slot returns where position p is or would be stored.
func (m moves) slot(p uint32) uint32 {
	mask := uint32(len(m.position) - 1)
	s := uint32(uint64(p*0x9E3779B1) >> m.shift)
	for m.position[s] != p && m.position[s] != m.content[s] {
		s = (s + 1) & mask
	}
	return s
}

func (m moves) get(p uint32) uint32 {
	if s := m.slot(p); m.position[s] == p {
		return m.content[s]
	}
	return p
}

// put stores v as the content of position p and returns the earlier content.
func (m moves) put(p, v uint32) uint32 {
	s := m.slot(p)
	old := p
	if m.position[s] == p {
		old = m.content[s]
	}
	m.position[s], m.content[s] = p, v
	return old
}
