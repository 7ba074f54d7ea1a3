package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/vec"
)

// Full is the compressor that does not compress: C(z) = z, 4 bytes per coordinate, IEEE 754 binary32,
// little-endian. With it every algorithm has full precision.
type Full struct{}

// Properties: exact.
func (Full) Properties() Properties {
	return Properties{Unbiased: true, Contraction: true, Deterministic: true}
}

// Bits returns the bits of a float.
func (Full) Bits() int { return fullBits }

// Len returns the bytes of a payload of d coordinates.
func (Full) Len(d int) int { return 4 * d }

// Compress appends z.
func (Full) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("full", k, z); err != nil {
		return dst, err
	}
	return vec.AppendLE(dst, z), nil
}

// Check returns an error unless payload holds d finite floats.
func (Full) Check(d int, payload []byte) error {
	if err := checkLen("full", payload, 4*d, d); err != nil {
		return err
	}
	return checkFloats("full", payload)
}

// Bound returns |z|_∞.
func (Full) Bound(_ int, payload []byte) float32 { return vec.MaxAbsLE(payload) }

// AddTo adds w·z to acc.
func (f Full) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := f.Check(len(acc), payload); err != nil {
		return err
	}
	var block [blockLen]float32
	for len(acc) > 0 {
		z := block[:min(blockLen, len(acc))]
		vec.ReadLE(z, payload)
		vec.Axpy(acc[:len(z)], w, z)
		acc, payload = acc[len(z):], payload[4*len(z):]
	}
	return nil
}

// float32At returns float number i of payload.
func float32At(payload []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(payload[4*i:]))
}

// checkFloats returns an error unless all floats of payload are finite.
func checkFloats(name string, payload []byte) error {
	var block [blockLen]float32
	n := len(payload) / 4
	for first := 0; first < n; first += blockLen {
		z := block[:min(blockLen, n-first)]
		vec.ReadLE(z, payload[4*first:])
		if vec.Finite(z) {
			continue
		}
		at := slices.IndexFunc(z, func(v float32) bool { return !finite(v) })
		return fmt.Errorf("quant: %s: float %d of %d is NaN or Inf", name, first+at, n)
	}
	return nil
}
