package algos

import (
	"encoding/binary"
	"fmt"

	"gossiptrainer/internal/vec"
)

// appendFloats appends x to dst, or fails with dst as it was if x holds NaN or
// Inf: what is not a number must not reach the neighbours.
func appendFloats(dst []byte, x []float32) ([]byte, error) {
	if !vec.Finite(x) {
		return dst, fmt.Errorf("a vector of %d coordinates holds NaN or Inf", len(x))
	}
	return vec.AppendLE(dst, x), nil
}

// checkFloats says whether the payload of m holds n finite floats, and whose
// message it is if not.
func checkFloats(m Message, n int) error {
	if len(m.Payload) != 4*n {
		return &MessageError{m.From, fmt.Errorf("%d bytes, want %d", len(m.Payload), 4*n)}
	}
	if !finiteLE(m.Payload) {
		return &MessageError{m.From, fmt.Errorf("%d coordinates hold NaN or Inf", n)}
	}
	return nil
}

// finiteLE is vec.Finite for floats as bytes, two at a time.
func finiteLE(p []byte) bool {
	const (
		low   = 1<<32 | 1     // the lowest bit of either half
		sign  = low << 31     // the sign bits
		carry = low << 23     // added, carries into the sign bit from a full exponent
		mag   = ^uint64(sign) // everything but the signs
	)
	var seen uint64
	for len(p) >= 8 {
		seen |= binary.LittleEndian.Uint64(p)&mag + carry
		p = p[8:]
	}
	if len(p) >= 4 {
		seen |= uint64(binary.LittleEndian.Uint32(p))&mag + carry
	}
	return seen&sign == 0
}
