package algos

import (
	"fmt"
	"math"

	"gossiptrainer/internal/vec"
)

// appendFloats appends x to dst. It fails, and leaves dst unchanged, if x holds NaN or Inf, which must not reach the
// neighbours.
func appendFloats(dst []byte, x []float32) ([]byte, error) {
	if !vec.Finite(x) {
		return dst, fmt.Errorf("a vector of %d coordinates holds NaN or Inf", len(x))
	}
	return vec.AppendLE(dst, x), nil
}

// checkFloats returns the largest magnitude of the n finite floats in the payload of m. An error names the sender and
// the fault.
func checkFloats(m Message, n int) (largest float32, err error) {
	if len(m.Payload) != 4*n {
		return 0, &MessageError{m.From, fmt.Errorf("%d bytes, want %d", len(m.Payload), 4*n)}
	}
	largest = vec.MaxAbsLE(m.Payload)
	if !(largest <= math.MaxFloat32) {
		return 0, &MessageError{m.From, fmt.Errorf("%d coordinates hold NaN or Inf", n)}
	}
	return largest, m.Believe(largest)
}
