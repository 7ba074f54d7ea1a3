package quant

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// packGroups writes symbols in groups to dst, which has their exact length,
// and reports whether all of them are below N.
func (p Packing) packGroups(dst []byte, symbols []uint16) bool {
	base, fits := uint64(p.levels), true
	for len(symbols) > 0 {
		group := symbols[:min(p.group, len(symbols))]
		symbols = symbols[len(group):]
		value := uint64(0)
		for t := len(group) - 1; t >= 0; t-- {
			s := uint64(group[t])
			fits = fits && s < base
			value = value*base + s
		}
		if len(group) == p.group {
			binary.LittleEndian.PutUint64(dst, value)
			dst = dst[8:]
			continue
		}
		putShort(dst, value)
	}
	return fits
}

// unpackGroups reads len(dst) symbols from src, which has their exact length. It halves a full group
// first. The symbols of a half depend on one another, so two halves run side by side.
func (p Packing) unpackGroups(dst []uint16, src []byte) error {
	first, middle := 0, p.group/2
	half := p.power(middle)
	for ; len(dst) >= p.group; dst, src = dst[p.group:], src[8:] {
		value := binary.LittleEndian.Uint64(src)
		if value >= p.limit {
			return p.overflow(first)
		}
		p.digits(dst[:middle], value%half)
		p.digits(dst[middle:p.group], value/half)
		first += p.group
	}
	if len(dst) > 0 {
		value := short(src)
		if value >= p.power(len(dst)) {
			return p.overflow(first)
		}
		p.digits(dst, value)
	}
	return nil
}

// digits writes value < N^r in r = len(dst) < Group symbols.
func (p Packing) digits(dst []uint16, value uint64) {
	base := uint64(p.levels)
	// 2⁶⁴ < inverse·N ≤ 2⁶⁴ + N, as N does not divide 2⁶⁴: value·inverse/2⁶⁴
	// exceeds value/N by less than 1/N, for value·N < 2⁶⁴.
	inverse := ^uint64(0)/base + 1
	for t := range dst {
		quotient, _ := bits.Mul64(value, inverse)
		dst[t], value = uint16(value-quotient*base), quotient
	}
}

// checkGroups returns an error if src, of the exact length for d symbols, holds a group that Pack
// cannot have written.
func (p Packing) checkGroups(src []byte, d int) error {
	full := d / p.group
	for g := range full {
		if binary.LittleEndian.Uint64(src[8*g:]) >= p.limit {
			return p.overflow(g * p.group)
		}
	}
	if rest := src[8*full:]; len(rest) > 0 && short(rest) >= p.power(d%p.group) {
		return p.overflow(full * p.group)
	}
	return nil
}

func (p Packing) overflow(first int) error {
	return fmt.Errorf("quant: group of symbol %d: its value exceeds that of any %d-level symbols", first, p.levels)
}

// putShort writes the low len(dst) ≤ 8 bytes of value.
func putShort(dst []byte, value uint64) {
	for i := range dst {
		dst[i] = byte(value)
		value >>= 8
	}
}

// short reads a number of len(src) ≤ 8 bytes.
func short(src []byte) uint64 {
	value := uint64(0)
	for i, b := range src {
		value |= uint64(b) << (8 * i)
	}
	return value
}
