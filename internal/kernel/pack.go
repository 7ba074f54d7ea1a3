package kernel

import (
	"encoding/binary"

	"gossiptrainer/internal/kernel/asm"
)

// Pack writes symbols 0..2^width−1, width 1 to 8, as a bit stream, least
// significant bit first, to the ⌈len(symbols)·width/8⌉ bytes of dst.
func (t Tier) Pack(dst []byte, width int, symbols []byte) {
	if width == 8 {
		copy(dst, symbols)
		return
	}
	n := t.inLanes(len(symbols), width)
	t.packLanes(dst, width, symbols[:n])
	dst, symbols = dst[n/8*width:], symbols[n:]
	if t != Off && odd(width) && len(symbols) >= 32 { // these lanes write beyond the symbols, so they get another buffer
		var last [64]byte
		t.packLanes(last[:], width, symbols[:32])
		copy(dst, last[:4*width])
		dst, symbols = dst[4*width:], symbols[32:]
	}
	packBytes(dst, width, symbols)
}

// packBlock is how many symbols of 16 bits become bytes at a time. It is small because Go clears their
// memory in each call.
const packBlock = 1 << 8

// PackWords is Pack for the lower width bits of symbols of 16 bits. It returns the
// union of the bits of all symbols, so that its caller can find one that does not fit.
func (t Tier) PackWords(dst []byte, width int, symbols []uint16) (seen uint16) {
	if width == 8 {
		return t.narrowWords(dst, symbols)
	}
	var memory [packBlock]byte
	for len(symbols) > 0 {
		n := min(len(symbols), packBlock)
		seen |= t.narrowWords(memory[:n], symbols[:n])
		t.Pack(dst, width, memory[:n])
		dst, symbols = dst[n/8*width:], symbols[n:]
	}
	return seen
}

// narrowWords writes the lower bytes of words, as many as fit in dst, and returns the union of their
// bits.
func (t Tier) narrowWords(dst []byte, words []uint16) (seen uint16) {
	n := len(words) &^ 63
	pairs := uint32(0)
	switch t {
	case AVX512:
		pairs = asm.NarrowWordsAVX512(dst[:n], words)
	case AVX2:
		pairs = asm.NarrowWordsAVX2(dst[:n], words)
	default:
		n = 0
	}
	seen = uint16(pairs) | uint16(pairs>>16)
	dst, words = dst[n:], words[n:]
	for len(words) >= 8 && len(dst) >= 8 {
		a, b, c, d := words[0], words[1], words[2], words[3]
		e, f, g, h := words[4], words[5], words[6], words[7]
		seen |= a | b | c | d | e | f | g | h
		binary.LittleEndian.PutUint64(dst, uint64(byte(a))|uint64(byte(b))<<8|uint64(byte(c))<<16|uint64(byte(d))<<24|
			uint64(byte(e))<<32|uint64(byte(f))<<40|uint64(byte(g))<<48|uint64(byte(h))<<56)
		dst, words = dst[8:], words[8:]
	}
	for i, s := range words {
		dst[i] = byte(s)
		seen |= s
	}
	return seen
}

// packLanes packs as many symbols as inLanes returns.
func (t Tier) packLanes(dst []byte, width int, s []byte) {
	switch {
	case len(s) == 0:
	case width == 3:
		asm.Pack3AVX2(dst, s)
	case width == 5:
		asm.Pack5AVX2(dst, s)
	case width == 6:
		asm.Pack6AVX2(dst, s)
	case width == 7:
		asm.Pack7AVX2(dst, s)
	case t == AVX512 && width == 1:
		asm.Pack1AVX512(dst, s)
	case t == AVX512 && width == 2:
		asm.Pack2AVX512(dst, s)
	case t == AVX512:
		asm.Pack4AVX512(dst, s)
	case width == 1:
		asm.Pack1AVX2(dst, s)
	case width == 2:
		asm.Pack2AVX2(dst, s)
	default:
		asm.Pack4AVX2(dst, s)
	}
}

// odd reports whether a symbol of width bits may lie in two bytes.
func odd(width int) bool { return width&(width-1) != 0 }

// inLanes returns how many of n symbols the lanes pack or unpack.
func (t Tier) inLanes(n, width int) int {
	switch {
	case t == Off:
		return 0
	case odd(width): // these lanes touch the bytes of further symbols
		return max(n-32, 0) &^ 31
	}
	return n &^ 63
}

// packBytes is the definition of Pack. It joins eight symbols in a word: their bytes to pairs, these
// to fours, and these to 8·width bits.
func packBytes(dst []byte, width int, symbols []byte) {
	one, two, four := every(16, width), every(32, 2*width), every(64, 4*width)
	join := func(x uint64) uint64 {
		x = x&one | x>>(8-width)&(one<<width)
		x = x&two | x>>(16-2*width)&(two<<(2*width))
		return x&four | x>>(32-4*width)&(four<<(4*width))
	}
	dst = dst[:(len(symbols)*width+7)/8]
	for len(symbols) >= 8 && len(dst) >= 8 { // the bytes after the word's bits are written next
		binary.LittleEndian.PutUint64(dst, join(binary.LittleEndian.Uint64(symbols)))
		dst, symbols = dst[width:], symbols[8:]
	}
	for len(symbols) > 0 {
		var group [8]byte
		n := copy(group[:], symbols)
		binary.LittleEndian.PutUint64(group[:], join(binary.LittleEndian.Uint64(group[:])))
		dst, symbols = dst[copy(dst, group[:(n*width+7)/8]):], symbols[n:]
	}
}

// every returns a word with the lower count bits of each unit set.
func every(unit, count int) uint64 {
	mask := uint64(1)<<count - 1
	for ; unit < 64; unit *= 2 {
		mask |= mask << unit
	}
	return mask
}

// Unpack reads len(symbols) symbols of width bits, 1 to 8, written by Pack, into
// the upper bits of bytes.
func (t Tier) Unpack(symbols []byte, width int, src []byte) {
	if width == 8 {
		copy(symbols, src)
		return
	}
	n := t.inLanes(len(symbols), width)
	t.unpackLanes(symbols[:n], width, src)
	symbols, src = symbols[n:], src[n/8*width:]
	if t != Off && odd(width) && len(symbols) >= 32 { // these lanes read beyond the end of src
		var last [64]byte
		copy(last[:4*width], src)
		t.unpackLanes(symbols[:32], width, last[:])
		symbols, src = symbols[32:], src[4*width:]
	}
	unpackBytes(symbols, width, src)
}

// UnpackWords is Unpack for symbols of 16 bits, into their lower bits.
func (t Tier) UnpackWords(symbols []uint16, width int, src []byte) {
	if width == 8 {
		t.widenWords(symbols, src, 0)
		return
	}
	var memory [packBlock]byte
	for len(symbols) > 0 {
		n := min(len(symbols), packBlock)
		t.Unpack(memory[:n], width, src)
		t.widenWords(symbols[:n], memory[:n], 8-width)
		symbols, src = symbols[n:], src[n/8*width:]
	}
}

// widenWords writes the upper bits of the bytes src, as many as words, to words.
func (t Tier) widenWords(words []uint16, src []byte, shift int) {
	src = src[:len(words)]
	n := len(words) &^ 63
	switch t {
	case AVX512:
		asm.WidenWordsAVX512(words[:n], src, uint64(shift))
	case AVX2:
		asm.WidenWordsAVX2(words[:n], src, uint64(shift))
	default:
		n = 0
	}
	words, src = words[n:], src[n:]
	for i, b := range src {
		words[i] = uint16(b) >> (shift & 7)
	}
}

// unpackLanes unpacks as many symbols as inLanes returns.
func (t Tier) unpackLanes(s []byte, width int, src []byte) {
	switch {
	case len(s) == 0:
	case width == 3:
		asm.Unpack3AVX2(s, src)
	case width == 5:
		asm.Unpack5AVX2(s, src)
	case width == 6:
		asm.Unpack6AVX2(s, src)
	case width == 7:
		asm.Unpack7AVX2(s, src)
	case t == AVX512 && width == 1:
		asm.Unpack1AVX512(s, src)
	case t == AVX512 && width == 2:
		asm.Unpack2AVX512(s, src)
	case t == AVX512:
		asm.Unpack4AVX512(s, src)
	case width == 1:
		asm.Unpack1AVX2(s, src)
	case width == 2:
		asm.Unpack2AVX2(s, src)
	default:
		asm.Unpack4AVX2(s, src)
	}
}

// unpackBytes is the definition of Unpack: the inverse of packBytes.
func unpackBytes(symbols []byte, width int, src []byte) {
	one, two, four := every(16, width), every(32, 2*width), every(64, 4*width)
	part := func(x uint64) uint64 {
		x = x&four | x<<(32-4*width)&(four<<32)
		x = x&two | x<<(16-2*width)&(two<<16)
		x = x&one | x<<(8-width)&(one<<8)
		return x << (8 - width)
	}
	eight := uint64(1)<<(8*width) - 1
	for len(symbols) >= 8 && len(src) >= 8 {
		binary.LittleEndian.PutUint64(symbols, part(binary.LittleEndian.Uint64(src)&eight))
		symbols, src = symbols[8:], src[width:]
	}
	for len(symbols) > 0 {
		var group [8]byte
		copy(group[:width], src)
		binary.LittleEndian.PutUint64(group[:], part(binary.LittleEndian.Uint64(group[:])))
		n := copy(symbols, group[:])
		symbols, src = symbols[n:], src[min(width, len(src)):]
	}
}

// Raise moves symbols of width bits from the lower bits of bytes to the upper ones.
func (t Tier) Raise(symbols []byte, width int) {
	n := 0
	switch {
	case width == 8:
		return
	case t == AVX512:
		n = len(symbols) &^ 63
		asm.RaiseAVX512(symbols[:n], uint64(8-width))
	case t == AVX2:
		n = len(symbols) &^ 31
		asm.RaiseAVX2(symbols[:n], uint64(8-width))
	}
	for i := n; i < len(symbols); i++ {
		symbols[i] <<= 8 - width
	}
}
