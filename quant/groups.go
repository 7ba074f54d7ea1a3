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

// unpackGroups reads len(dst) symbols from src, which has their exact length.
func (p Packing) unpackGroups(dst []uint16, src []byte) error {
	base := uint64(p.levels)
	inverse := ^uint64(0) / base // ⌊(2⁶⁴−1)/N⌋ = ⌊2⁶⁴/N⌋, as N does not divide 2⁶⁴
	for first := 0; first < len(dst); first += p.group {
		group := dst[first:min(first+p.group, len(dst))]
		var value uint64
		if len(group) == p.group {
			value, src = binary.LittleEndian.Uint64(src), src[8:]
		} else {
			value = short(src)
		}
		for t := range group {
			// value/N − 1 < value·inverse/2⁶⁴ ≤ value/N: one step low at most.
			quotient, _ := bits.Mul64(value, inverse)
			symbol := value - quotient*base
			if symbol >= base {
				symbol -= base
				quotient++
			}
			group[t], value = uint16(symbol), quotient
		}
		if value != 0 {
			return p.overflow(first)
		}
	}
	return nil
}

// checkGroups reports whether src, of the exact length for d symbols, holds a
// group that Pack cannot have written.
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
