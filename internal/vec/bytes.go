package vec

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendLE appends x to dst as little-endian IEEE 754 binary32, 4·len(x) bytes.
func AppendLE(dst []byte, x []float32) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 4*len(x))[:start+4*len(x)]
	out := dst[start:]
	for len(x) >= 4 && len(out) >= 16 {
		binary.LittleEndian.PutUint32(out[0:4], math.Float32bits(x[0]))
		binary.LittleEndian.PutUint32(out[4:8], math.Float32bits(x[1]))
		binary.LittleEndian.PutUint32(out[8:12], math.Float32bits(x[2]))
		binary.LittleEndian.PutUint32(out[12:16], math.Float32bits(x[3]))
		x, out = x[4:], out[16:]
	}
	for i, v := range x {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return dst
}

// ReadLE fills dst from the first 4·len(dst) bytes of src, written by AppendLE.
func ReadLE(dst []float32, src []byte) {
	src = src[:4*len(dst)]
	for len(dst) >= 4 && len(src) >= 16 {
		dst[0] = math.Float32frombits(binary.LittleEndian.Uint32(src[0:4]))
		dst[1] = math.Float32frombits(binary.LittleEndian.Uint32(src[4:8]))
		dst[2] = math.Float32frombits(binary.LittleEndian.Uint32(src[8:12]))
		dst[3] = math.Float32frombits(binary.LittleEndian.Uint32(src[12:16]))
		dst, src = dst[4:], src[16:]
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}
