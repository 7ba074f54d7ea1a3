package entropy

import (
	"fmt"

	"gossiptrainer/quant"
)

// Symbols 0..N−1 are coded as many to a byte as fit, the digits of its value:
//
//	byte = Σ_t s_t·N^t,  t < g,  g the largest number with N^g ≤ 256.
//
// A code of whole bits, like Huffman's, then wastes little on a symbol of less
// than one bit, and there are fewer bytes to code. Where the bits of a symbol
// divide 8, packing makes the same bytes. A bucket ends with a byte of the
// remaining digits.

// chunk is the largest number of symbols that are unpacked at a time.
const chunk = 1024

// digits converts symbols to bytes, and back.
type digits struct {
	packing quant.Packing
	levels  int
	group   int             // g
	values  int             // N^g
	step    int             // symbols at a time: whole bytes here and in the packing
	table   [8 * 256]uint16 // the g digits of each value
}

// set prepares d for N = levels ≤ 256.
func (d *digits) set(levels int) error {
	if d.levels == levels {
		return nil
	}
	packing, err := quant.NewPacking(levels)
	if err != nil {
		return err
	}
	d.packing, d.levels, d.group, d.values = packing, levels, 1, levels
	for d.values*levels <= 256 {
		d.group, d.values = d.group+1, d.values*levels
	}
	unit := d.group * packing.Group()
	d.step = chunk / unit * unit
	for v := range d.values {
		for t, rest := 0, v; t < d.group; t, rest = t+1, rest/levels {
			d.table[v*d.group+t] = uint16(rest % levels)
		}
	}
	return nil
}

// len returns the bytes of m symbols.
func (d *digits) len(m int) int { return (m + d.group - 1) / d.group }

// gather converts the m symbols packed in src to dst, which has len(m) bytes.
func (d *digits) gather(dst, src []byte, m int) error {
	var symbols [chunk]uint16
	for at := 0; at < m; at += d.step {
		s := symbols[:min(d.step, m-at)]
		if err := d.packing.Unpack(s, src[d.packing.Len(at):d.packing.Len(at+len(s))]); err != nil {
			return err
		}
		out := dst[at/d.group:]
		if d.group == 1 {
			for i, v := range s {
				out[i] = byte(v)
			}
			continue
		}
		for i := 0; len(s) > 0; i++ {
			value := uint16(0)
			g := min(d.group, len(s))
			for t := g - 1; t >= 0; t-- {
				value = value*uint16(d.levels) + s[t]
			}
			out[i], s = byte(value), s[g:]
		}
	}
	return nil
}

// scatter packs the m symbols in the bytes of src into dst, which has their packed length.
func (d *digits) scatter(dst, src []byte, m int) error {
	var room [chunk + 8]uint16 // spare digits of the last byte
	for at := 0; at < m; at += d.step {
		n := min(d.step, m-at)
		bytes := src[at/d.group : d.len(at+n)]
		for i, v := range bytes {
			if int(v) >= d.values {
				return fmt.Errorf("%w: byte %d is no %d symbols of %d levels", ErrCoded, v, d.group, d.levels)
			}
			copy(room[i*d.group:], d.table[int(v)*d.group:][:d.group])
		}
		for _, extra := range room[n : len(bytes)*d.group] {
			if extra != 0 {
				return fmt.Errorf("%w: a symbol after the last one of a bucket", ErrCoded)
			}
		}
		from, to := d.packing.Len(at), d.packing.Len(at+n)
		if _, err := d.packing.Pack(dst[from:from:to], room[:n]); err != nil {
			return fmt.Errorf("%w: %w", ErrCoded, err)
		}
	}
	return nil
}
