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
func (r *rounder) integers(dst []int32, x []float32, first int, tier kernel.Tier, q *kernel.Quantizer) int {
	var doubt [blockLen / 8]byte
	done, doubtful := 0, false
	if q != nil {
		done, doubtful = tier.Indices(dst, x, first, q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = int32(r.exact(x[at], first+at))
			return true
		})
	}
	if at := r.integersExactly(dst[done:], x[done:], first+done); at >= 0 {
		return done + at
	}
	return -1
}

// hashLen is how many coordinates are rounded and hashed at a time: the fewer
// there are, the longer the end of a chain with nothing beside it.
const hashLen = 4 * blockLen

// hashed is integers, for at most hashLen coordinates, that also writes their
// residues modulo 2^width to symbols and continues h with them.
func (r *rounder) hashed(dst []int32, symbols []byte, x []float32, first, width int, tier kernel.Tier,
	q *kernel.Quantizer, h *kernel.Hash) int {
	var doubt [hashLen / 8]byte
	mask := byte(1<<width - 1)
	for at := 0; at < len(x); {
		done, hashed := 0, 0
		if q != nil {
			done, hashed = tier.HashedIndices(dst[at:], symbols[at:], x[at:], first+at, q, mask, doubt[:], h)
		}
		kernel.Doubtful(doubt[hashed/8:done/8], func(i int) bool {
			i += at + hashed
			dst[i] = int32(r.exact(x[i], first+i))
			symbols[i] = byte(dst[i]) & mask
			return true
		})
		end := at + done
		if done == 0 {
			end = min(at+blockLen, len(x))
			if bad := r.integersExactly(dst[at:end], x[at:end], first+at); bad >= 0 {
				return at + bad
			}
			tier.Narrow(symbols[at:end], dst[at:end], 0, 0, mask)
		}
		tier.Hash(h, dst[at+hashed:end])
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
		q         = r.encode.lanes(&quantizer, kernel.OfIndices, width, len(x))
	)
	for first := 0; first < len(x); first += hashLen {
		part := x[first:min(first+hashLen, len(x))]
		index, symbols := indices[:len(part)], bytes[:len(part)]
		if at := r.encode.hashed(index, symbols, part, first, width, r.tier, q, &v.hash); at >= 0 {
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
	integers, middles kernel.Quantizer
	rounds, decodes   bool // whether the lanes can do these

	index       [blockLen]int32
	least, most int32 // of them
	symbols     [blockLen]byte
	buffer      [blockLen]byte
	last, own   [blockLen]byte // of the indices of a repaired message, and of the own ones: their last bytes
	low         [blockLen]byte // of the windows, once there was a tie
	theirs      [together][blockLen]int32
}

// prepare readies m for models of d coordinates.
func (m *laneChecker) prepare(r *round, d int) {
	m.rounds = r.encode.lanes(&m.integers, kernel.OfIndices, r.width, d) != nil
	m.decodes = r.windows.lanes(&m.middles, kernel.OfResidues, r.width, d) != nil
}

// recoverBytes hashes the indices of all messages, where symbols are bytes.
func (v *verification) recoverBytes(r *round, x []float32, in []algos.Message, width int) error {
	var m laneChecker
	m.prepare(r, len(x))
	for first := 0; first < len(x); first += blockLen {
		part := x[first:min(first+blockLen, len(x))]
		n := len(part)
		if !m.ownIndices(r, part, first, width) {
			if err := v.block(r, part, first, in); err != nil {
				return err
			}
			continue
		}
		known := false
		for from := 0; from < len(in); from += together {
			var views [together][]int32
			group := in[from:min(from+together, len(in))]
			for j := range group {
				views[j] = m.theirs[j][:n]
				if group[j].Repair != nil {
					if err := v.mend(r, &m, views[j], from+j, group[j], first, width); err != nil {
						return err
					}
				} else if err := m.recover(r, views[j], part, group[j].Payload, first, width, &known); err != nil {
					return err
				}
			}
			r.tier.HashAll(v.theirs[from:from+len(group)], views[:len(group)])
		}
	}
	return nil
}

// ownIndices computes the own indices and symbols of a block, and reports whether
// those of neighbours are below 2³¹ too.
func (m *laneChecker) ownIndices(r *round, x []float32, first, width int) bool {
	index := m.index[:len(x)]
	var q *kernel.Quantizer
	if m.rounds {
		q = &m.integers
	}
	if r.encode.integers(index, x, first, r.tier, q) >= 0 {
		return false
	}
	if m.least, m.most = r.tier.Extent(index); m.least < -math.MaxInt32+256 || m.most > math.MaxInt32-256 {
		return false
	}
	r.tier.Narrow(m.symbols[:len(x)], index, 0, 0, byte(1<<width-1))
	r.tier.Raise(m.symbols[:len(x)], width)
	return true
}

// recover computes the indices of one message. The windows become known with
// the first tie.
func (m *laneChecker) recover(r *round, dst []int32, x []float32, payload []byte, first, width int, known *bool) error {
	n := len(x)
	low, own := m.low[:n], m.symbols[:n]
	sent := r.symbols(m.buffer[:n], payload, first, width)
	if *known || width > 1 { // two bits that differ are a tie
		if tied := r.tier.Recover(dst, m.index[:n], own, low, sent, width); !tied || *known {
			return nil
		}
	}
	var q *kernel.Quantizer
	if m.decodes {
		q = &m.middles
	}
	if at := r.windows.residues(low, x, first, width, r.tier, q); at >= 0 {
		return r.strange(x[at], first+at)
	}
	r.tier.Raise(low, width)
	*known = true
	r.tier.Recover(dst, m.index[:n], own, low, sent, width)
	return nil
}
