package quant

import "encoding/binary"

// packBits writes symbols of width bits to dst, which has their exact length,
// and reports whether all of them fit in width bits.
func packBits(dst []byte, width int, symbols []uint16) bool {
	seen := uint16(0)
	switch width {
	case 1:
		dst, symbols, seen = pack1(dst, symbols)
	case 2:
		dst, symbols, seen = pack2(dst, symbols)
	case 4:
		dst, symbols, seen = pack4(dst, symbols)
	case 8:
		dst = dst[:len(symbols)]
		for i, s := range symbols {
			dst[i] = byte(s)
			seen |= s
		}
		return seen>>8 == 0
	case 16:
		for i, s := range symbols {
			binary.LittleEndian.PutUint16(dst[2*i:], s)
		}
		return true
	}
	seen |= packStream(dst, width, symbols)
	return seen>>width == 0
}

// pack1, pack2 and pack4 write the full bytes among the first 8·⌊n/8⌋ symbols
// and return what is left to do and the union of the bits seen.

func pack1(dst []byte, symbols []uint16) ([]byte, []uint16, uint16) {
	seen := uint16(0)
	for len(symbols) >= 8 && len(dst) >= 1 {
		a, b, c, d := symbols[0], symbols[1], symbols[2], symbols[3]
		e, f, g, h := symbols[4], symbols[5], symbols[6], symbols[7]
		seen |= a | b | c | d | e | f | g | h
		dst[0] = byte(a | b<<1 | c<<2 | d<<3 | e<<4 | f<<5 | g<<6 | h<<7)
		dst, symbols = dst[1:], symbols[8:]
	}
	return dst, symbols, seen
}

func pack2(dst []byte, symbols []uint16) ([]byte, []uint16, uint16) {
	seen := uint16(0)
	for len(symbols) >= 4 && len(dst) >= 1 {
		a, b, c, d := symbols[0], symbols[1], symbols[2], symbols[3]
		seen |= a | b | c | d
		dst[0] = byte(a | b<<2 | c<<4 | d<<6)
		dst, symbols = dst[1:], symbols[4:]
	}
	return dst, symbols, seen
}

func pack4(dst []byte, symbols []uint16) ([]byte, []uint16, uint16) {
	seen := uint16(0)
	for len(symbols) >= 4 && len(dst) >= 2 {
		a, b, c, d := symbols[0], symbols[1], symbols[2], symbols[3]
		seen |= a | b | c | d
		dst[0], dst[1] = byte(a|b<<4), byte(c|d<<4)
		dst, symbols = dst[2:], symbols[4:]
	}
	return dst, symbols, seen
}

// packStream packs symbols of any width ≤ 16 and returns the union of the bits seen.
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
	switch width {
	case 1:
		dst, src = unpack1(dst, src)
	case 2:
		dst, src = unpack2(dst, src)
	case 4:
		dst, src = unpack4(dst, src)
	case 8:
		dst = dst[:len(src)]
		for i, b := range src {
			dst[i] = uint16(b)
		}
		return
	case 16:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
		return
	}
	unpackStream(dst, width, src)
}

// unpack1, unpack2 and unpack4 read full bytes and return what is left to do.

func unpack1(dst []uint16, src []byte) ([]uint16, []byte) {
	for len(dst) >= 8 && len(src) >= 1 {
		b := uint16(src[0])
		dst[0], dst[1], dst[2], dst[3] = b&1, b>>1&1, b>>2&1, b>>3&1
		dst[4], dst[5], dst[6], dst[7] = b>>4&1, b>>5&1, b>>6&1, b>>7
		dst, src = dst[8:], src[1:]
	}
	return dst, src
}

func unpack2(dst []uint16, src []byte) ([]uint16, []byte) {
	for len(dst) >= 4 && len(src) >= 1 {
		b := uint16(src[0])
		dst[0], dst[1], dst[2], dst[3] = b&3, b>>2&3, b>>4&3, b>>6
		dst, src = dst[4:], src[1:]
	}
	return dst, src
}

func unpack4(dst []uint16, src []byte) ([]uint16, []byte) {
	for len(dst) >= 4 && len(src) >= 2 {
		b, c := uint16(src[0]), uint16(src[1])
		dst[0], dst[1], dst[2], dst[3] = b&15, b>>4, c&15, c>>4
		dst, src = dst[4:], src[2:]
	}
	return dst, src
}

// unpackStream unpacks symbols of any width ≤ 16.
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
