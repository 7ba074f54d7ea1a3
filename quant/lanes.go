package quant

import (
	"encoding/binary"
	"math/bits"

	"gossiptrainer/internal/kernel"
)

// A laner is a rule that can find the symbols of a block in vector lanes. It returns the same bits as
// round, several times faster.
type laner interface {
	// lanes writes the packed symbols of z, a part of the last fitted bucket, and reports whether it
	// did. The first coordinate of z has the index first in the vector.
	lanes(packed []byte, z []float32, first int) bool
}

// A tabled rule adds the value of a symbol from a table.
type tabled interface {
	// table returns the values of the last opened bucket, nil if there is no table.
	table() *points
}

func (p *points) table() *points { return p }

// lanework is the state of a bucketed compressor for lanes.
type lanework struct {
	tier   kernel.Tier
	laner  laner   // nil: the rule has none
	tabled tabled  // nil: the rule has none
	width  int     // bits of a symbol in the upper bits of its byte
	digits *digits // of groups; nil: symbols are a bit stream
	bytes  [blockLen + digitsSlack]byte
	doubt  [blockLen / 8]byte
}

// useLanes prepares the lanes of a tier for a rule that supports them.
func (b *bucketed) useLanes(tier kernel.Tier) {
	v := &b.vectors
	v.tier, v.laner, v.tabled, v.digits, v.width = tier, nil, nil, nil, b.packing.width
	switch levels := b.packing.Levels(); {
	case tier == kernel.Off || levels > maxLevels || v.width == 0 && levels > manyDigits:
		return
	case v.width == 0:
		v.width = max(4, bits.Len(uint(levels-1)))
		v.digits = newDigits(b.packing, v.width)
	}
	v.laner, _ = b.rule.(laner)
	v.tabled, _ = b.rule.(tabled)
}

// packed writes the symbols of the block z in lanes, if possible.
func (b *bucketed) packed(dst []byte, z []float32, first int) ([]byte, bool) {
	if b.vectors.laner == nil || b.listed != nil {
		return dst, false
	}
	end := len(dst) + b.packing.Len(len(z)) // Compress has made room
	if !b.vectors.laner.lanes(dst[len(dst):end], z, first) {
		return dst, false
	}
	return dst[:end], true
}

// settle packs the symbols of z. The first done of them are in bytes already, except the doubtful
// ones. It finds the others by the definition.
func (b *bucketed) settle(packed []byte, z []float32, first, done int, doubtful bool) bool {
	if done == 0 {
		return false
	}
	define := func(from, to int) {
		b.rule.round(b.symbols[from:to], z[from:to], b.draw(first+from, to-from))
		for i := from; i < to; i++ {
			b.vectors.bytes[i] = byte(b.symbols[i])
		}
	}
	if doubtful {
		kernel.Doubtful(b.vectors.doubt[:done/8], func(at int) bool {
			define(at, at+1)
			return true
		})
	}
	define(done, len(z))
	if v := &b.vectors; v.digits != nil {
		v.digits.pack(packed, v.bytes[:len(z)])
	} else {
		v.tier.Pack(packed, v.width, v.bytes[:len(z)])
	}
	return true
}

// minus returns what the symbol of a negative value adds to its level.
func (p Packing) minus() uint16 { return uint16(p.levels / 2) }

// The kernels mark negative values by a bit above all levels. For N = 2^b symbols it is the symbol's own
// upper bit, N/2. For any other N, negative values add ⌊N/2⌋ to their level, so the mark is 128 and
// unmark replaces it.

// mark returns the mark of negative values.
func (p Packing) mark() byte {
	if p.width > 0 {
		return byte(p.levels / 2)
	}
	return 1 << 7
}

// unmark makes symbols of levels with marks; their number is a multiple of 8.
func (p Packing) unmark(symbols []byte) {
	if p.width > 0 {
		return
	}
	less := uint64(1<<7 - p.levels/2)
	for ; len(symbols) >= 8; symbols = symbols[8:] {
		word := binary.LittleEndian.Uint64(symbols)
		binary.LittleEndian.PutUint64(symbols, word-(word>>7&0x0101010101010101)*less)
	}
}

// drawn writes the packed symbols that cells draws.
func (b *bucketed) drawn(packed []byte, z []float32, first int, c *kernel.Cells) bool {
	v := &b.vectors
	done, doubtful := v.tier.Draw(v.bytes[:len(z)], z, c, kernel.Uniform{Key: b.key, First: first}, v.doubt[:])
	return b.settle(packed, z, first, done, doubtful)
}

// addLanes adds the values of n packed symbols to acc by table, if possible.
func (b *bucketed) addLanes(acc []float32, packed []byte) bool {
	v := &b.vectors
	if v.tabled == nil {
		return false
	}
	table := v.tabled.table()
	if table == nil {
		return false
	}
	symbols := v.bytes[:len(acc)]
	switch {
	case v.digits != nil:
		v.digits.unpack(v.bytes[:], len(acc), packed)
	case v.width < 8:
		v.tier.Unpack(symbols, v.width, packed)
	default:
		symbols = packed
	}
	v.tier.AddPoints(acc, symbols, v.width, (*[256]float32)(table))
	return true
}
