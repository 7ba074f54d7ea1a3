package moniqua

import (
	"encoding/binary"
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// Where symbols are bytes, a worker checks messages by their indices, see bytePath. A neighbour's indices are its own
// ones plus the differences of the symbols. So checking a hash needs no second decoding of the windows.

// together is the number of neighbours whose hashes are computed at the same time.
const together = 4

// A laneChecker is the working memory of checking messages, on its stack.
type laneChecker struct {
	*round
	owns *kernel.Quantizer // to the worker's own indices; nil: the lanes cannot compute these
	d    int               // coordinates of a model

	index       []int32
	least, most int32 // of the worker's own indices
	symbols     []byte
	buffer      []byte
	last        []byte // the last bytes of the indices of a repaired message
	ownLast     []byte // the last bytes of the worker's own indices
	low         []byte // the last bytes of the windows' low ends
	known       bool   // whether low is computed: from the first tie in the block on
	theirs      [together][]int32
}

// Parts of the memory of a laneChecker.
const (
	checkedIndices = 1 + together
	checkedBytes   = 5
)

// newLaneChecker returns the checker of r for models of d coordinates, whose indices owns computes. Its memory is for
// blocks of n coordinates: checkedIndices·n indices and checkedBytes·n bytes. It returns a value, so that all may be on
// a
// stack.
func newLaneChecker(r *round, d int, owns *kernel.Quantizer, memory coding) laneChecker {
	n := len(memory.bytes) / checkedBytes
	integers, bytes := memory.indices, memory.bytes
	m := laneChecker{
		round: r, owns: owns, d: d,
		index: integers[:n], symbols: bytes[:n], buffer: bytes[n : 2*n], last: bytes[2*n : 3*n], ownLast: bytes[3*n : 4*n],
		low: bytes[4*n:],
	}
	for j := range m.theirs {
		m.theirs[j] = integers[(1+j)*n : (2+j)*n]
	}
	return m
}

// recoverBytes hashes the indices of all messages, where symbols are bytes.
func (v *verification) recoverBytes(r *round, x []float32, in []algos.Message) error {
	var quantizer kernel.Quantizer
	owns := r.encode.lanes(&quantizer, kernel.OfIndices, r.width, len(x))
	if len(x) <= smallLen {
		var indices [checkedIndices * smallLen]int32
		var bytes [checkedBytes * smallLen]byte
		m := newLaneChecker(r, len(x), owns, coding{indices[:], bytes[:]})
		return v.recoverBlocks(&m, x, in)
	}
	var indices [checkedIndices * blockLen]int32
	var bytes [checkedBytes * blockLen]byte
	m := newLaneChecker(r, len(x), owns, coding{indices[:], bytes[:]})
	return v.recoverBlocks(&m, x, in)
}

// recoverBlocks is recoverBytes with working memory.
func (v *verification) recoverBlocks(m *laneChecker, x []float32, in []algos.Message) error {
	r := m.round
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

// ownIndices begins a block. It computes the worker's own indices and symbols, and reports whether the indices of
// neighbours are below 2³¹ too.
func (m *laneChecker) ownIndices(x []float32, first int) bool {
	index := m.index[:len(x)]
	m.known = false
	own := laner{&m.encode, m.width, m.tier, m.owns}
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

// recover computes the indices of one message. The first tie makes it compute the windows.
func (m *laneChecker) recover(dst []int32, x []float32, payload []byte, first int) error {
	n := len(x)
	low := m.low[:n]
	own := kernel.Own{Symbols: m.symbols[:n], Low: low, Width: m.width}
	sent := m.sent(m.buffer, payload, first, n)
	if m.known || m.width > 1 { // two bits that differ are a tie
		if tied := m.tier.Recover(dst, m.index[:n], own, sent); !tied || m.known {
			return nil
		}
	}
	if err := m.lowEnds(low, x, first); err != nil {
		return err
	}
	m.tier.Recover(dst, m.index[:n], own, sent)
	return nil
}

// lowEnds computes the last bytes of the windows' low ends of a block. Ties are rare, so nothing is prepared for it.
func (m *laneChecker) lowEnds(low []byte, x []float32, first int) error {
	var quantizer kernel.Quantizer
	lows := laner{&m.windows, m.width, m.tier, m.windows.lanes(&quantizer, kernel.OfResidues, m.width, m.d)}
	if at := lows.residues(low, x, first); at >= 0 {
		return m.strange(x[at], first+at)
	}
	m.tier.Raise(low, m.width)
	m.known = true
	return nil
}

// mend writes the indices of a message over one block to dst, and takes that block off its repair. It refuses indices
// beyond the limit of the message.
func (m *laneChecker) mend(dst []int32, repair *[]byte, message algos.Message, first int) error {
	n := len(dst)
	reach, rest, err := m.lastBytes(m.last[:n], *repair, message.Payload, first)
	if err == nil && reach > 0 {
		own := m.ownLast[:n]
		m.tier.Narrow(own, m.index[:n], 0, 0, math.MaxUint8)
		m.tier.Recover(dst, m.index[:n], kernel.Own{Symbols: own, Low: own, Width: 8}, m.last[:n])
	} else if err == nil {
		rest, err = m.mendAny(dst, *repair, message.Payload, first)
		reach = farthest(dst, m.index[:n])
	}
	if err != nil {
		return &algos.MessageError{From: message.From, Err: fmt.Errorf("%w (round %d)", err, m.k)}
	}
	*repair = rest
	step := m.grid.Step()
	if message.Believe(float32(step*float64(reach))) == nil { // reach bounds the true distance
		return nil
	}
	if err := message.Believe(float32(step * float64(farthest(dst, m.index[:n])))); err != nil {
		return fmt.Errorf("moniqua: round %d: repair: %w", m.k, err)
	}
	return nil
}

// lastBytes writes the last bytes of the indices of a message to dst, from its payload and the repair, which begins
// with this block. It returns a bound on their distance from the worker's own indices, and the rest of the repair. A
// bound of 0 means that dst is invalid.
func (m *laneChecker) lastBytes(dst, repair, payload []byte, first int) (reach int64, rest []byte, err error) {
	low, size, body, rest, err := cutQuotients(repair, len(dst))
	if err != nil {
		return 0, nil, err
	}
	least, most := int64(low)<<m.width, (int64(low)+1<<size)<<m.width-1
	reach = max(most-int64(m.least), int64(m.most)-least)
	if size > 8 || reach > math.MaxInt8 {
		return 0, nil, nil
	}
	var memory [blockLen]byte
	quotients := raised{memory[:len(dst)], size}
	if size > 0 {
		m.tier.Unpack(quotients.bytes, size, body)
	}
	joinBytes(dst, byte(low), quotients, raised{m.sent(m.buffer, payload, first, len(dst)), m.width})
	return reach, rest, nil
}

// raised are numbers of width bits, in the upper bits of bytes.
type raised struct {
	bytes []byte
	width int
}

// joinBytes writes the last bytes of (low + q)·N + s to dst, for symbols s of N values.
func joinBytes(dst []byte, low byte, quotients, symbols raised) {
	const every, highest = 0x0101010101010101, 0x8080808080808080
	q, size, s, width := quotients.bytes, quotients.width, symbols.bytes, symbols.width
	quotient, symbol := every*uint64(1<<size-1), every*uint64(1<<width-1)
	lows := every * uint64(low)
	for len(dst) >= 8 {
		a := binary.LittleEndian.Uint64(q) >> (8 - size) & quotient
		m := (a&^highest + lows&^highest) ^ (a^lows)&highest // no byte carries into the next
		k := m<<width&^symbol | binary.LittleEndian.Uint64(s)>>(8-width)&symbol
		binary.LittleEndian.PutUint64(dst, k)
		dst, q, s = dst[8:], q[8:], s[8:]
	}
	for i := range dst {
		dst[i] = (low+q[i]>>(8-size))<<width | s[i]>>(8-width)
	}
}

// mendAny is mend for any indices.
func (m *laneChecker) mendAny(dst []int32, repair, payload []byte, first int) (rest []byte, err error) {
	var symbols [blockLen]uint16
	from, to := m.packing.Len(first), m.packing.Len(first+len(dst))
	if err := m.packing.Unpack(symbols[:len(dst)], payload[from:to]); err != nil {
		return nil, err
	}
	return m.round.mend(dst, repair, symbols[:len(dst)])
}

// farthest returns the largest distance of a neighbour's indices from the worker's own ones.
func farthest(theirs, own []int32) int64 {
	theirs = theirs[:len(own)]
	low, high := int64(0), int64(0)
	for i, k := range own {
		difference := int64(theirs[i]) - int64(k)
		low, high = min(low, difference), max(high, difference)
	}
	return max(-low, high)
}
