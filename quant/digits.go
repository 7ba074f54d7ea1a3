package quant

import (
	"encoding/binary"
	"math/bits"
)

// digits packs and unpacks groups of symbols of a byte each, several digits of their numbers at a
// time. The bytes are those of Packing, which handles one digit after the other.
type digits struct {
	packing Packing
	eighth  uint64 // N⁸

	// A number is cut into halves first.
	half        uint64 // N^⌊Group/2⌋
	halfInverse uint64
	shift       int // shift of an unpacked symbol in its byte

	// The c lowest digits of a number are found by division by N^c, and in a
	// table of all numbers below it.
	count   int    // c
	whole   uint64 // N^c
	inverse uint64 // 2⁶⁴ < inverse·N^c ≤ 2⁶⁴ + N^c
	table   []uint64
}

// digitsSlack is room for the digits that a table writes beyond the end.
const digitsSlack = 8

// maxTable is the largest N^c: 8 kB.
const maxTable = 1 << 10

// manyDigits is the largest N that has a table of two digits.
const manyDigits = 32

// newDigits returns the digits of a layout of groups with N up to 256. Unpacked symbols of width bits
// lie in the upper bits of their bytes.
func newDigits(p Packing, width int) *digits {
	d := &digits{packing: p, eighth: p.power(8), half: p.power(p.group / 2), shift: 8 - width, count: 1}
	d.halfInverse = ^uint64(0)/d.half + 1
	for d.count < digitsSlack && d.packing.power(d.count+1) <= maxTable {
		d.count++
	}
	d.whole = p.power(d.count)
	d.inverse = ^uint64(0)/d.whole + 1
	d.table = make([]uint64, d.whole)
	for v := range d.table {
		rest := uint64(v)
		for t := range d.count {
			d.table[v] |= rest % uint64(p.levels) << d.shift << (8 * t)
			rest /= uint64(p.levels)
		}
	}
	return d
}

// pack writes symbols below N to dst, which has their exact length.
func (d *digits) pack(dst, symbols []byte) {
	for group := d.packing.group; len(symbols) >= group; dst, symbols = dst[8:], symbols[group:] {
		binary.LittleEndian.PutUint64(dst, d.number(symbols[:group]))
	}
	putShort(dst, d.number(symbols))
}

// number returns Σ s_t·N^t of a group or less.
func (d *digits) number(s []byte) uint64 {
	base, value := uint64(d.packing.levels), uint64(0)
	for len(s)%8 != 0 {
		value = value*base + uint64(s[len(s)-1])
		s = s[:len(s)-1]
	}
	for ; len(s) > 0; s = s[:len(s)-8] {
		value = value*d.eighth + eight(binary.LittleEndian.Uint64(s[len(s)-8:]), base)
	}
	return value
}

// eight returns the number with the eight digits that are the bytes of x: in each
// step two neighbours become one.
func eight(x, base uint64) uint64 {
	const bytes, pairs, fours = 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF
	x = x&bytes + x>>8&bytes*base
	base *= base
	x = x&pairs + x>>16&pairs*base
	return x&fours + x>>32*base*base
}

// unpack writes the symbols of src, which Packing.Check has passed, and up to
// digitsSlack bytes behind them.
func (d *digits) unpack(dst []byte, n int, src []byte) {
	group := d.packing.group
	for ; n >= group; dst, src, n = dst[group:], src[8:], n-group {
		d.spell(dst, binary.LittleEndian.Uint64(src), group)
	}
	d.spell(dst, short(src), n)
}

// spell writes the r digits of value, r ≤ Group, in two parts. The inverse is exact only for numbers
// to which c more digits could be added within 64 bits.
func (d *digits) spell(dst []byte, value uint64, r int) {
	if half := d.packing.group / 2; r > half {
		upper, _ := bits.Mul64(value, d.halfInverse) // the quotient or one more: the error is below 1
		lower := value - upper*d.half
		if int64(lower) < 0 {
			upper, lower = upper-1, lower+d.half
		}
		d.part(dst[:half+digitsSlack], lower)
		dst, value, r = dst[half:], upper, r-half
	}
	d.part(dst[:r+digitsSlack], value)
}

// part writes the digits of value, as many as dst has room for.
func (d *digits) part(dst []byte, value uint64) {
	for len(dst) > digitsSlack {
		quotient, _ := bits.Mul64(value, d.inverse)
		binary.LittleEndian.PutUint64(dst, d.table[value-quotient*d.whole])
		value = quotient
		dst = dst[min(d.count, len(dst)-digitsSlack):]
	}
}
