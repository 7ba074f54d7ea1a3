// Package quant turns vectors into few bytes and back: one file per compressor of the
// literature. Make a compressor for the worker that sends, and one like it at each receiver:
//
//	c, err := quant.NewQSGD(4, 512, quant.LInf, seed) // bits, bucket, norm
//	payload, err := c.Compress(nil, round, z)
//	err = c.AddTo(acc, weight, round, payload)        // acc += weight·C(z)
//
// A Packing packs symbols 0..N−1 densely. The package knows no algorithm and no error
// feedback: package algos does. The modulo quantizer is package moniqua's.
//
// Symbols are packed densely. For a power of two N = 2^b, the symbols form a bit stream. Symbol m
// takes the stream bits m·b .. m·b+b−1, least significant bit first. Stream bit t is bit t mod 8 of
// byte ⌊t/8⌋. Unused bits of the last byte are zero.
//
// Any other N is written in groups: with m the largest number such that
// N^m ≤ 2⁶⁴, the symbols s_0 .. s_{m−1} are the 8 bytes of Σ s_t·N^t, little-endian.
// A last group of r < m symbols takes the fewest bytes that hold N^r − 1.
package quant

import (
	"fmt"
	"math/bits"
	"slices"
)

// MaxLevels is the largest number of symbols: a symbol is a uint16.
const MaxLevels = 1 << 16

// A Packing is the byte layout of vectors of symbols 0..N−1. It is a small
// value without state; the zero Packing is not valid.
type Packing struct {
	levels int
	width  int    // bits per symbol of a bit stream; 0: groups
	group  int    // symbols per group
	limit  uint64 // N^group, the number of values of a full group
}

// NewPacking returns the layout for N = levels symbols, 2 ≤ levels ≤ MaxLevels.
func NewPacking(levels int) (Packing, error) {
	if levels < 2 || levels > MaxLevels {
		return Packing{}, fmt.Errorf("quant: %d levels: must be 2 to %d", levels, MaxLevels)
	}
	if levels&(levels-1) == 0 {
		return Packing{levels: levels, width: bits.TrailingZeros(uint(levels)), group: 8}, nil
	}
	p := Packing{levels: levels, limit: 1}
	for {
		hi, lo := bits.Mul64(p.limit, uint64(levels))
		if hi != 0 {
			return p, nil
		}
		p.limit, p.group = lo, p.group+1
	}
}

// Levels returns N.
func (p Packing) Levels() int { return p.levels }

// Group returns the number of symbols after which the layout starts again at a byte boundary. A vector
// cut at multiples of Group packs to the same bytes piece by piece. Symbol g·Group starts at byte
// Len(g·Group).
func (p Packing) Group() int { return p.group }

// Len returns the number of bytes that d ≥ 0 symbols take.
func (p Packing) Len(d int) int {
	if p.width > 0 {
		return d/8*p.width + (d%8*p.width+7)/8
	}
	return d/p.group*8 + (bits.Len64(p.power(d%p.group)-1)+7)/8
}

// power returns N^r for r ≤ group.
func (p Packing) power(r int) uint64 {
	v := uint64(1)
	for range r {
		v *= uint64(p.levels)
	}
	return v
}

// Pack appends the Len(len(symbols)) bytes of symbols to dst. A symbol ≥ N is an error and leaves dst
// unchanged.
func (p Packing) Pack(dst []byte, symbols []uint16) ([]byte, error) {
	start := len(dst)
	end := start + p.Len(len(symbols))
	dst = slices.Grow(dst, end-start)
	fits := false
	if p.width > 0 {
		fits = packBits(dst[start:end], p.width, symbols)
	} else {
		fits = p.packGroups(dst[start:end], symbols)
	}
	if !fits {
		return dst[:start], p.strange(symbols)
	}
	return dst[:end], nil
}

// Unpack reads len(dst) symbols from src, which must be the output of Pack for them. It fails on
// another length, on unused bits that are not zero, and on groups that hold no N symbols. dst is
// undefined after an error.
func (p Packing) Unpack(dst []uint16, src []byte) error {
	if err := p.checkLen(src, len(dst)); err != nil {
		return err
	}
	if p.width == 0 {
		return p.unpackGroups(dst, src)
	}
	if err := p.checkPadding(src, len(dst)); err != nil {
		return err
	}
	unpackBits(dst, p.width, src)
	return nil
}

// Check reports the error that Unpack would return for d symbols from src, at
// a fraction of the cost.
func (p Packing) Check(src []byte, d int) error {
	if err := p.checkLen(src, d); err != nil {
		return err
	}
	if p.width == 0 {
		return p.checkGroups(src, d)
	}
	return p.checkPadding(src, d)
}

func (p Packing) checkLen(src []byte, d int) error {
	if want := p.Len(d); len(src) != want {
		return fmt.Errorf("quant: %d bytes: %d symbols of %d levels take %d", len(src), d, p.levels, want)
	}
	return nil
}

func (p Packing) checkPadding(src []byte, d int) error {
	if used := d % 8 * p.width % 8; used > 0 && src[len(src)-1]>>used != 0 {
		return fmt.Errorf("quant: last byte %#02x: bits above the %d used must be zero", src[len(src)-1], used)
	}
	return nil
}

// strange returns an error that names the first symbol outside 0..N−1.
func (p Packing) strange(symbols []uint16) error {
	at := slices.IndexFunc(symbols, func(s uint16) bool { return int(s) >= p.levels })
	return fmt.Errorf("quant: symbol %d at %d: must be below %d", symbols[at], at, p.levels)
}
