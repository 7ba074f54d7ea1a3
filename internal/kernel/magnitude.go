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
	p := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	if most, ok := t.magnitude(p); ok {
		return most
	}
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return most
}

// MagnitudeLE is Magnitude for the floats in p, binary32, little-endian.
func (t Tier) MagnitudeLE(p []byte) uint32 {
	p = p[:len(p)&^3]
	if most, ok := t.magnitude(p); ok {
		return most
	}
	most := uint32(0)
	for ; len(p) >= 4; p = p[4:] {
		most = max(most, binary.LittleEndian.Uint32(p)&^(1<<31))
	}
	return most
}

// magnitude takes one vector at least. The last vector may have coordinates that another one has, too.
func (t Tier) magnitude(p []byte) (most uint32, ok bool) {
	const wide, narrow = 64, 32
	switch {
	case t == AVX512 && len(p) >= wide:
		most = asm.MagnitudeAVX512(p[:len(p)&^(wide-1)])
		if len(p)%wide > 0 {
			most = max(most, asm.MagnitudeAVX512(p[len(p)-wide:]))
		}
	case t == AVX2 && len(p) >= narrow:
		most = asm.MagnitudeAVX2(p[:len(p)&^(narrow-1)])
		if len(p)%narrow > 0 {
			most = max(most, asm.MagnitudeAVX2(p[len(p)-narrow:]))
		}
	default:
		return 0, false
	}
	return most, true
}
