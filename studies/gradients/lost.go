package gradients

import (
	"gossiptrainer/internal/vec"
	"gossiptrainer/quant"
)

// Lost measures the relative error of messages of a compressor C. It reuses its buffers.
type Lost struct {
	C quant.Compressor

	payload []byte
	rest    []float32
}

// Of returns |C(g) − g|²/|g|² of a message of round k, 0 for an empty g, and its payload, which the next call
// overwrites.
func (l *Lost) Of(k int, g []float32) (float64, []byte, error) {
	var err error
	if l.payload, err = l.C.Compress(l.payload[:0], k, g); err != nil {
		return 0, nil, err
	}
	l.rest = append(l.rest[:0], g...)
	if err := l.C.AddTo(l.rest, -1, k, l.payload); err != nil {
		return 0, nil, err
	}
	of := vec.Dot(g, g)
	if of == 0 {
		return 0, l.payload, nil
	}
	return vec.Dot(l.rest, l.rest) / of, l.payload, nil
}
