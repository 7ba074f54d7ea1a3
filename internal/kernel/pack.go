package kernel

// Pack writes symbols 0..2^width−1, width 1 to 8, as a bit stream, least
// significant bit first, to the ⌈len(symbols)·width/8⌉ bytes of dst.
func (t Tier) Pack(dst []byte, width int, symbols []byte) {
	n := t.inLanes(len(symbols), width)
	s := symbols[:n]
	switch {
	case width == 8:
		copy(dst, symbols)
		return
	case n == 0:
	case width == 3:
		pack3AVX2(dst, s)
	case width == 5:
		pack5AVX2(dst, s)
	case width == 6:
		pack6AVX2(dst, s)
	case width == 7:
		pack7AVX2(dst, s)
	case t == AVX512 && width == 1:
		pack1AVX512(dst, s)
	case t == AVX512 && width == 2:
		pack2AVX512(dst, s)
	case t == AVX512:
		pack4AVX512(dst, s)
	case width == 1:
		pack1AVX2(dst, s)
	case width == 2:
		pack2AVX2(dst, s)
	default:
		pack4AVX2(dst, s)
	}
	packBytes(dst[n/8*width:], width, symbols[n:])
}

// inLanes returns how many of n symbols are packed or unpacked in lanes.
func (t Tier) inLanes(n, width int) int {
	switch {
	case t == Off:
		return 0
	case width&(width-1) != 0: // these lanes touch the bytes of further symbols
		return max(n-32, 0) &^ 31
	}
	return n &^ 63
}

// packBytes is the definition of Pack.
func packBytes(dst []byte, width int, symbols []byte) {
	var (
		word uint32 // stream bits not yet written
		held int    // how many
	)
	for _, s := range symbols {
		word |= uint32(s) << held
		held += width
		if held >= 8 {
			dst[0] = byte(word)
			dst, word, held = dst[1:], word>>8, held-8
		}
	}
	if held > 0 {
		dst[0] = byte(word)
	}
}

// Unpack reads len(symbols) symbols of width bits, 1 to 8, written by Pack, into
// the upper bits of bytes.
func (t Tier) Unpack(symbols []byte, width int, src []byte) {
	n := t.inLanes(len(symbols), width)
	s := symbols[:n]
	switch {
	case width == 8:
		copy(symbols, src)
		return
	case n == 0:
	case width == 3:
		unpack3AVX2(s, src)
	case width == 5:
		unpack5AVX2(s, src)
	case width == 6:
		unpack6AVX2(s, src)
	case width == 7:
		unpack7AVX2(s, src)
	case t == AVX512 && width == 1:
		unpack1AVX512(s, src)
	case t == AVX512 && width == 2:
		unpack2AVX512(s, src)
	case t == AVX512:
		unpack4AVX512(s, src)
	case width == 1:
		unpack1AVX2(s, src)
	case width == 2:
		unpack2AVX2(s, src)
	default:
		unpack4AVX2(s, src)
	}
	unpackBytes(symbols[n:], width, src[n/8*width:])
}

// unpackBytes is the definition of Unpack.
func unpackBytes(symbols []byte, width int, src []byte) {
	var (
		word uint32 // stream bits read but not yet used
		held int
		mask = byte(0xFF << (8 - width))
	)
	for i := range symbols {
		if held < width {
			word |= uint32(src[0]) << held
			src, held = src[1:], held+8
		}
		symbols[i] = byte(word<<(8-width)) & mask
		word, held = word>>width, held-width
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
		raiseAVX512(symbols[:n], uint64(8-width))
	case t == AVX2:
		n = len(symbols) &^ 31
		raiseAVX2(symbols[:n], uint64(8-width))
	}
	for i := n; i < len(symbols); i++ {
		symbols[i] <<= 8 - width
	}
}
