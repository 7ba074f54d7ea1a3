package vec

import "slices"

// AppendLE appends x to dst as little-endian IEEE 754 binary32, 4·len(x) bytes.
func AppendLE(dst []byte, x []float32) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 4*len(x))[:start+4*len(x)]
	putLE(dst[start:], x)
	return dst
}

// ReadLE fills dst from the first 4·len(dst) bytes of src, written by AppendLE.
func ReadLE(dst []float32, src []byte) { getLE(dst, src[:4*len(dst)]) }
