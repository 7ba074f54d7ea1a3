package quant

import (
	"encoding/binary"

	"gossiptrainer/internal/kernel"
)

// Package kernel packs symbols of up to 8 bits; all its tiers write the same stream. This file packs
// wider symbols, which are rare.

// packBits writes symbols of width bits to dst, which has their exact length,
// and reports whether all of them fit in width bits.
func packBits(dst []byte, width int, symbols []uint16) bool {
	switch {
	case width == 16:
		for len(symbols) >= 4 && len(dst) >= 8 { // one store for four
			a, b, c, d := symbols[0], symbols[1], symbols[2], symbols[3]
			binary.LittleEndian.PutUint64(dst, uint64(a)|uint64(b)<<16|uint64(c)<<32|uint64(d)<<48)
			dst, symbols = dst[8:], symbols[4:]
		}
		for i, s := range symbols {
			binary.LittleEndian.PutUint16(dst[2*i:], s)
		}
		return true
	case width > 8:
		return packStream(dst, width, symbols)>>width == 0
	}
	return kernel.Best().PackWords(dst, width, symbols)>>width == 0
}

// packStream packs symbols of 9 to 15 bits and returns the union of the bits seen.
func packStream(dst []byte, width int, symbols []uint16) uint16 {
	var (
		word uint64 // stream bits not yet written
		held uint   // how many, < 32
		seen uint16
	)
	for _, s := range symbols {
		seen |= s
		word |= uint64(s) << held
		held += uint(width)
		if held >= 32 && len(dst) >= 4 {
			binary.LittleEndian.PutUint32(dst, uint32(word))
			dst, word, held = dst[4:], word>>32, held-32
		}
	}
	for i := range dst {
		dst[i] = byte(word)
		word >>= 8
	}
	return seen
}

// unpackBits reads len(dst) symbols of width bits from src, which has their
// exact length.
func unpackBits(dst []uint16, width int, src []byte) {
	switch {
	case width == 16:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
		return
	case width > 8:
		unpackStream(dst, width, src)
		return
	}
	kernel.Best().UnpackWords(dst, width, src)
}

// unpackStream unpacks symbols of 9 to 15 bits.
func unpackStream(dst []uint16, width int, src []byte) {
	var (
		word uint64 // stream bits read but not yet used
		held uint
		step = uint(width)
		mask = uint16(1<<width - 1)
	)
	for i := range dst {
		if held < step && len(src) >= 4 {
			word |= uint64(binary.LittleEndian.Uint32(src)) << held
			src, held = src[4:], held+32
		}
		for held < step {
			word |= uint64(src[0]) << held
			src, held = src[1:], held+8
		}
		dst[i] = uint16(word) & mask
		word, held = word>>step, held-step
	}
}
