package algos

import (
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
	if !vec.FiniteLE(m.Payload) {
		return &MessageError{m.From, fmt.Errorf("%d coordinates hold NaN or Inf", n)}
	}
	return nil
}
