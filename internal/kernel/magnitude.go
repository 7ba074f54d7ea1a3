package kernel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"gossiptrainer/internal/kernel/asm"
)

// Magnitude returns the largest bits of |x_i| among the coordinates, 0 without any. Floats without
// signs are ordered like their bits: NaN above Inf above the numbers.
func (t Tier) Magnitude(x []float32) uint32 {
	n := len(x) &^ 63
	if t == Off {
		n = 0
	}
	most := t.magnitude(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*n))
	for _, v := range x[n:] {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return most
}

// MagnitudeLE is Magnitude for the floats in p, binary32, little-endian.
func (t Tier) MagnitudeLE(p []byte) uint32 {
	n := len(p) &^ 255
	if t == Off {
		n = 0
	}
	most := t.magnitude(p[:n])
	for p = p[n:]; len(p) >= 4; p = p[4:] {
		most = max(most, binary.LittleEndian.Uint32(p)&^(1<<31))
	}
	return most
}

// magnitude handles whole steps of 256 bytes.
func (t Tier) magnitude(p []byte) uint32 {
	var lanes [16]uint32
	switch t {
	case AVX512:
		asm.MagnitudeAVX512(p, &lanes)
	case AVX2:
		asm.MagnitudeAVX2(p, &lanes)
	}
	most := uint32(0)
	for _, m := range lanes {
		most = max(most, m)
	}
	return most
}
