package moniqua

import (
	"fmt"
	"math"
)

// The methods below show the integers behind the payloads: for the index hash,
// for repair by quotients, and for tests.

// Indices writes the grid indices k_i of x in round k to dst, of the same
// length. It fails where Encode does.
func (c *Codec) Indices(dst []int32, k int, x []float32) error {
	r, err := c.round(k)
	if err != nil {
		return err
	}
	var index [blockLen]int64
	for first := 0; first < len(x); first += r.block {
		part := x[first:min(first+r.block, len(x))]
		if err := r.indices(index[:len(part)], part, first); err != nil {
			return err
		}
		out := dst[first : first+len(part)]
		for i := range out {
			out[i] = int32(index[i])
		}
	}
	return nil
}

// Decode writes the indices that payload means to a receiver with model x to
// dst, of the same length. They are the sender's wherever the models differ by
// less than θ. It fails if the payload is none for len(x) coordinates, if x is
// not finite or far beyond the grid, or if an index reaches ±2³¹.
func (c *Codec) Decode(dst []int32, k int, x []float32, payload []byte) error {
	r, err := c.round(k)
	if err != nil {
		return err
	}
	if err := r.checkPayload(payload, len(x)); err != nil {
		return fmt.Errorf("moniqua: round %d: %w", k, err)
	}
	if err := r.checkReference(x); err != nil {
		return err
	}
	var (
		index        [blockLen]int64
		low, symbols [blockLen]uint16
	)
	for first := 0; first < len(x); first += r.block {
		end := min(first+r.block, len(x))
		n := end - first
		if at := r.windows.round(index[:n], x[first:end], first); at >= 0 {
			return r.strange(x[first+at], first+at)
		}
		r.divisor.residues(low[:n], index[:n])
		if err := r.packing.Unpack(symbols[:n], payload[r.packing.Len(first):r.packing.Len(end)]); err != nil {
			return fmt.Errorf("moniqua: internal error: %w", err)
		}
		place(symbols[:n], symbols[:n], low[:n], int32(r.grid.Levels))
		for i, p := range symbols[:n] {
			v := index[i] + int64(p)
			if v > math.MaxInt32 || v < -math.MaxInt32 {
				return fmt.Errorf("moniqua: round %d: coordinate %d: index %d reaches 2³¹", k, first+i, v)
			}
			dst[first+i] = int32(v)
		}
	}
	return nil
}

// Values writes the values v(k) that indices stand for in round k to dst, of
// the same length: D·index, with Dither D·(index − u + 1/2).
func (c *Codec) Values(dst []float64, k int, indices []int32) error {
	g, err := c.Grid(k)
	if err != nil {
		return err
	}
	step, key := g.Step(), c.noise(k)
	for i, v := range indices {
		dst[i] = float64(v)
		if c.Rounding == Dither {
			dst[i] += 0.5 - float64(key.Uniform(uint32(i)))
		}
		dst[i] *= step
	}
	return nil
}

// Quotients writes m = (index − symbol)/N of round k to dst, of the same length:
// what a receiver needs beyond the symbols to know the indices for certain.
func (c *Codec) Quotients(dst []int32, k int, indices []int32) {
	n := int32(c.levels(k))
	for i, v := range indices {
		m := v / n
		if m*n > v {
			m--
		}
		dst[i] = m
	}
}
