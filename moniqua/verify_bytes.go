package moniqua

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// Verification where symbols are bytes, see bytePath: the indices of a block are
// computed once, as int32, and give the symbols, the hash and the quotients. A
// neighbour's indices are the own ones plus the differences of the symbols, so
// to check its hash needs no second decoding of the windows.

// integers writes the integers of x to dst, of the same length, at most blockLen.
// It returns the position of the first coordinate whose integer reaches ±2³¹ or
// that has none, or −1.
func (l *laner) integers(dst []int32, x []float32, first int) int {
	var doubt [blockLen / 8]byte
	done, doubtful := 0, false
	if l.q != nil {
		done, doubtful = l.tier.Indices(dst, x, first, l.q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = int32(l.exact(x[at], first+at))
			return true
		})
	}
	if at := l.integersExactly(dst[done:], x[done:], first+done); at >= 0 {
		return done + at
	}
	return -1
}

// hashLen is how many coordinates are rounded and hashed at a time: the fewer
// there are, the longer the end of a chain with nothing beside it.
const hashLen = 4 * blockLen

// hashed is integers, for at most hashLen coordinates, that also writes their
// residues modulo 2^width to symbols and continues h with them.
func (l *laner) hashed(dst []int32, symbols []byte, x []float32, first int, h *kernel.Hash) int {
	var doubt [hashLen / 8]byte
	mask := byte(1<<l.width - 1)
	for at := 0; at < len(x); {
		done, hashed := 0, 0
		if l.q != nil {
			done, hashed = l.tier.HashedIndices(dst[at:], symbols[at:], x[at:], first+at, l.q, mask, doubt[:], h)
		}
		kernel.Doubtful(doubt[hashed/8:done/8], func(i int) bool {
			i += at + hashed
			dst[i] = int32(l.exact(x[i], first+i))
			symbols[i] = byte(dst[i]) & mask
			return true
		})
		end := at + done
		if done == 0 {
			end = min(at+blockLen, len(x))
			if bad := l.integersExactly(dst[at:end], x[at:end], first+at); bad >= 0 {
				return at + bad
			}
			l.tier.Narrow(symbols[at:end], dst[at:end], 0, 0, mask)
		}
		l.tier.Hash(h, dst[at+hashed:end])
		at = end
	}
	return -1
}

// integersExactly is integers without lanes.
func (r *rounder) integersExactly(dst []int32, x []float32, first int) int {
	if len(x) == 0 {
		return -1
	}
	var index [blockLen]int64
	if at := r.round(index[:len(x)], x, first); at >= 0 {
		return at
	}
	for i, k := range index[:len(x)] {
		if k > math.MaxInt32 || k < -math.MaxInt32 {
			return i
		}
		dst[i] = int32(k)
	}
	return -1
}

// encodeBytes writes the symbols of x to payload, of their length, enters their
// indices in the hash and keeps their quotients.
func (v *verification) encodeBytes(r *round, payload []byte, x []float32) error {
	var (
		width     = r.width
		kept      = v.newest()
		quantizer kernel.Quantizer
		indices   [hashLen]int32
		bytes     [hashLen]byte
		l         = laner{&r.encode, width, r.tier, r.encode.lanes(&quantizer, kernel.OfIndices, width, len(x))}
	)
	for first := 0; first < len(x); first += hashLen {
		part := x[first:min(first+hashLen, len(x))]
		index, symbols := indices[:len(part)], bytes[:len(part)]
		if at := l.hashed(index, symbols, part, first, &v.hash); at >= 0 {
			return r.strange(part[at], first+at)
		}
		r.tier.Pack(payload[first/8*width:], width, symbols)
		for ; len(index) > 0; index = index[min(blockLen, len(index)):] {
			kept.data = appendQuotientsOf(kept.data, index[:min(blockLen, len(index))], width, r.tier)
		}
	}
	return nil
}

// appendQuotientsOf appends one block of the quotients of indices for N = 2^width.
func appendQuotientsOf(dst []byte, index []int32, width int, tier kernel.Tier) []byte {
	low, high := tier.Extent(index)
	low, high = low>>width, high>>width
	size := bits.Len32(uint32(high) - uint32(low))
	if size > 8 {
		var m [blockLen]int32
		for i, k := range index {
			m[i] = k >> width
		}
		return appendQuotients(dst, m[:len(index)])
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(low))
	dst = append(dst, byte(size))
	if size == 0 {
		return dst
	}
	var m [blockLen]byte
	tier.Narrow(m[:len(index)], index, width, low, math.MaxUint8)
	start, n := len(dst), (len(index)*size+7)/8
	dst = slices.Grow(dst, n)[:start+n]
	tier.Pack(dst[start:], size, m[:len(index)])
	return dst
}

// together is how many neighbours' hashes are computed at the same time.
const together = 4

// A laneChecker is the working memory of checking messages, on its stack.
type laneChecker struct {
	round
	quantizer, lowQuantizer kernel.Quantizer // to the own indices, and to the low ends of windows
	owns, windowed          bool             // whether the lanes can do these

	index       [blockLen]int32
	least, most int32 // of them
	symbols     [blockLen]byte
	buffer      [blockLen]byte
	last        [blockLen]byte // of the indices of a repaired message: their last bytes
	ownLast     [blockLen]byte // of the own ones
	low         [blockLen]byte // of the windows
	known       bool           // whether low is: from the first tie in the block on
	theirs      [together][blockLen]int32
}

// prepare readies m for models of d coordinates.
func (m *laneChecker) prepare(r *round, d int) {
	m.round = *r
	m.owns = r.encode.lanes(&m.quantizer, kernel.OfIndices, r.width, d) != nil
	m.windowed = r.windows.lanes(&m.lowQuantizer, kernel.OfResidues, r.width, d) != nil
}

// recoverBytes hashes the indices of all messages, where symbols are bytes.
func (v *verification) recoverBytes(r *round, x []float32, in []algos.Message) error {
	var m laneChecker
	m.prepare(r, len(x))
	for first := 0; first < len(x); first += blockLen {
		part := x[first:min(first+blockLen, len(x))]
		n := len(part)
		if !m.ownIndices(part, first) {
			if err := v.block(r, part, first, in); err != nil {
				return err
			}
			continue
		}
		for from := 0; from < len(in); from += together {
			var views [together][]int32
			group := in[from:min(from+together, len(in))]
			for j := range group {
				views[j] = m.theirs[j][:n]
				if group[j].Repair != nil {
					if err := m.mend(views[j], &v.rest[from+j], group[j], first); err != nil {
						return err
					}
				} else if err := m.recover(views[j], part, group[j].Payload, first); err != nil {
					return err
				}
			}
			r.tier.HashAll(v.theirs[from:from+len(group)], views[:len(group)])
		}
	}
	return nil
}

// ownIndices begins a block: it computes the own indices and symbols, and reports
// whether the indices of neighbours are below 2³¹ too.
func (m *laneChecker) ownIndices(x []float32, first int) bool {
	index := m.index[:len(x)]
	m.known = false
	own := laner{&m.encode, m.width, m.tier, nil}
	if m.owns {
		own.q = &m.quantizer
	}
	if own.integers(index, x, first) >= 0 {
		return false
	}
	if m.least, m.most = m.tier.Extent(index); m.least < -math.MaxInt32+256 || m.most > math.MaxInt32-256 {
		return false
	}
	m.tier.Narrow(m.symbols[:len(x)], index, 0, 0, byte(1<<m.width-1))
	m.tier.Raise(m.symbols[:len(x)], m.width)
	return true
}

// recover computes the indices of one message. The windows become known with
// the first tie.
func (m *laneChecker) recover(dst []int32, x []float32, payload []byte, first int) error {
	n := len(x)
	low, own := m.low[:n], m.symbols[:n]
	sent := m.sent(m.buffer[:n], payload, first)
	if m.known || m.width > 1 { // two bits that differ are a tie
		if tied := m.tier.Recover(dst, m.index[:n], own, low, sent, m.width); !tied || m.known {
			return nil
		}
	}
	lows := laner{&m.windows, m.width, m.tier, nil}
	if m.windowed {
		lows.q = &m.lowQuantizer
	}
	if at := lows.residues(low, x, first); at >= 0 {
		return m.strange(x[at], first+at)
	}
	m.tier.Raise(low, m.width)
	m.known = true
	m.tier.Recover(dst, m.index[:n], own, low, sent, m.width)
	return nil
}
