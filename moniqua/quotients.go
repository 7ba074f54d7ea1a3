package moniqua

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/internal/kernel"
)

// From the quotients m = (k − s)/N and the symbols s a receiver knows the indices k for certain. Most quotients are
// equal, so each block of coordinates is coded by frame of reference. It begins with the minimum as 4 bytes, and a
// width of 0 to 32 bits as 1 byte. The differences to the minimum follow as a bit stream, least significant bit first
// (Goldstein, Ramakrishnan and Shaft, "Compressing relations and indexes", ICDE 1998).

const quotientHead = 5 // bytes of minimum and width

// maxQuotients returns the largest size in bytes of d quotients in blocks.
func maxQuotients(d, block int) int {
	return 4*d + quotientHead*((d+block-1)/block)
}

// UsualRepair returns the bytes of the repair of d coordinates of both signs with magnitudes below N/2 steps: their
// quotients are −1 and 0, one bit each.
func UsualRepair(d int) int { return quotientHead*((d+blockLen-1)/blockLen) + (d+7)/8 }

// appendQuotients appends one block of quotients k >> shift, at most blockLen, to dst. Package kernel packs differences
// of up to 8 bits like symbols. Wider ones are rare and may have 32 bits, which neither kernel nor quant can pack.
func appendQuotients(dst []byte, k []int32, shift int, tier kernel.Tier) []byte {
	low, high := tier.Extent(k)
	low, high = low>>shift, high>>shift
	width := bits.Len32(uint32(high) - uint32(low))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(low))
	dst = append(dst, byte(width))
	switch {
	case width == 0:
		return dst
	case width > 8:
		return appendWide(dst, k, shift, low, width)
	}
	var m [blockLen]byte
	tier.Narrow(m[:len(k)], k, shift, low, math.MaxUint8)
	start, n := len(dst), (len(k)*width+7)/8
	dst = slices.Grow(dst, n)[:start+n]
	tier.Pack(dst[start:], width, m[:len(k)])
	return dst
}

// appendWide appends the differences to low as a bit stream.
func appendWide(dst []byte, k []int32, shift int, low int32, width int) []byte {
	var (
		word uint64 // stream bits not yet written
		held int    // their number, < 32
	)
	for _, v := range k {
		word |= uint64(uint32(v>>shift)-uint32(low)) << held
		held += width
		if held >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
			word, held = word>>32, held-32
		}
	}
	for ; held > 0; held -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

var errQuotients = errors.New("moniqua: repair: too short or too long")

// cutQuotients splits src after its first block, of n quotients. It returns the minimum, the width and the bit stream
// of that block, and the rest.
func cutQuotients(src []byte, n int) (low int32, width int, body, rest []byte, err error) {
	if len(src) < quotientHead {
		return 0, 0, nil, nil, errQuotients
	}
	low, width = int32(binary.LittleEndian.Uint32(src)), int(src[4])
	src = src[quotientHead:]
	size := (n*width + 7) / 8
	if width > 32 || len(src) < size {
		return 0, 0, nil, nil, errQuotients
	}
	return low, width, src[:size], src[size:], nil
}

// readQuotients reads one block of quotients, at most blockLen, from src and returns the
// rest.
func readQuotients(dst []int32, src []byte, tier kernel.Tier) (rest []byte, err error) {
	low, width, body, rest, err := cutQuotients(src, len(dst))
	if err != nil {
		return nil, err
	}
	if width > 8 {
		return rest, readWide(dst, low, width, body)
	}
	var m [blockLen]byte
	if width > 0 {
		tier.Unpack(m[:len(dst)], width, body)
	}
	if low <= math.MaxInt32-math.MaxUint8 {
		for i, v := range m[:len(dst)] {
			dst[i] = low + int32(v>>(8-width))
		}
		return rest, nil
	}
	for i := range dst {
		v := int64(low) + int64(m[i]>>(8-width))
		if v > math.MaxInt32 {
			return nil, errQuotients
		}
		dst[i] = int32(v)
	}
	return rest, nil
}

// readWide reads the stream of appendWide.
func readWide(dst []int32, low int32, width int, body []byte) error {
	var (
		word uint64 // stream bits read but not yet used
		held int
		mask = uint64(1)<<width - 1
	)
	for i := range dst {
		for held < width {
			word |= uint64(body[0]) << held
			body, held = body[1:], held+8
		}
		v := int64(low) + int64(word&mask)
		if v > math.MaxInt32 {
			return errQuotients
		}
		dst[i] = int32(v)
		word, held = word>>width, held-width
	}
	return nil
}

// quotients writes (index − symbol)/N to dst.
func (r *round) quotients(dst []int32, index []int64, symbols []uint16) {
	dst, symbols = dst[:len(index)], symbols[:len(index)]
	if n := r.grid.Levels; n&(n-1) == 0 {
		shift := bits.TrailingZeros(uint(n))
		for i, k := range index {
			dst[i] = int32(k >> shift)
		}
		return
	}
	n := float64(r.grid.Levels)
	for i, k := range index {
		dst[i] = int32(float64(k-int64(symbols[i])) / n) // without remainder
	}
}

// join writes the indices N·m + s to dst and reports whether all of them are in range.
func (r *round) join(dst, m []int32, symbols []uint16) bool {
	n := int64(r.grid.Levels)
	dst, symbols = dst[:len(m)], symbols[:len(m)]
	sound := true
	for i, q := range m {
		k := n*int64(q) + int64(symbols[i])
		sound = sound && -math.MaxInt32 <= k && k <= math.MaxInt32
		dst[i] = int32(k)
	}
	return sound
}

var errRepaired = errors.New("moniqua: repair: an index reaches 2³¹")

// mend writes the indices of one block to dst and returns the rest of the repair.
func (r *round) mend(dst []int32, repair []byte, symbols []uint16) (rest []byte, err error) {
	var m [blockLen]int32
	if rest, err = readQuotients(m[:len(dst)], repair, r.tier); err != nil {
		return nil, err
	}
	if !r.join(dst, m[:len(dst)], symbols) {
		return nil, errRepaired
	}
	return rest, nil
}
