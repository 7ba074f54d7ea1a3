package moniqua

import (
	"fmt"
	"math"
)

// The methods below give the integers of payloads: for the index hash, for repair by quotients, and for tests.

// Indices writes the grid indices κ_i of x in round k to dst, of the same length. It fails for the models that Encode
// refuses.
func (c *Codec) Indices(dst []int32, k int, x []float32) error {
	r, err := c.round(k, 0)
	if err != nil {
		return err
	}
	indices, symbols := make([]int64, len(x)), make([]uint16, len(x))
	if at := r.plain.encode(indices, symbols, x); at >= 0 {
		return r.strange(x[at], at)
	}
	for i, v := range indices {
		dst[i] = int32(v)
	}
	return nil
}

// Decode writes the indices that a receiver with model x recovers from payload to dst, of the same length. They equal
// the sender's indices wherever the models differ by less than θ. Decode fails if payload does not fit len(x)
// coordinates, if x is not finite or far beyond the grid, or if an index reaches ±2³¹.
func (c *Codec) Decode(dst []int32, k int, x []float32, payload []byte) error {
	r, err := c.round(k, 0)
	if err != nil {
		return err
	}
	if err := r.checkPayload(payload, len(x)); err != nil {
		return fmt.Errorf("moniqua: round %d: %w", k, err)
	}
	if err := r.checkReference(x); err != nil {
		return err
	}
	indices, symbols := make([]int64, len(x)), make([]uint16, len(x))
	if err := r.packing.Unpack(symbols, payload[:len(payload)-r.tail]); err != nil {
		return fmt.Errorf("moniqua: internal error: %w", err)
	}
	r.plain.decode(indices, symbols, x)
	for i, v := range indices {
		if v > math.MaxInt32 || v < -math.MaxInt32 {
			return fmt.Errorf("moniqua: round %d: coordinate %d: index %d reaches 2³¹", k, i, v)
		}
		dst[i] = int32(v)
	}
	return nil
}

// Values writes the values v(k) of indices in round k to dst, of the same length: D·index, with Dither D·(index − u +
// 1/2).
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

// Quotients writes m = (index − symbol)/N of round k to dst, of the same length. From quotients and symbols a receiver
// knows the indices for certain.
func (c *Codec) Quotients(dst []int32, k int, indices []int32) {
	p := plain{levels: c.levels(k)}
	for i, v := range indices {
		dst[i] = p.quotient(int64(v))
	}
}
