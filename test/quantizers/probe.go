package main

import (
	"gossiptrainer/algos"
	"gossiptrainer/experiment"
	"gossiptrainer/internal/vec"
)

// A probe compresses every gradient of a worker once more, to see what is lost.
// Its compressor is one like the worker's, and sees what that one sees where
// there is no error feedback.
type probe struct {
	worker     *experiment.Worker
	compressor algos.Compressor // nil in full precision
	bits       float64          // of a message per parameter
	payload    []byte
	rest       []float32

	lost float64 // Σ |C(g) − g|²/|g|²
	seen int     // over so many rounds
}

func newProbe(r *experiment.Run, w *experiment.Worker) (*probe, error) {
	p := &probe{worker: w, bits: float64(r.Bits()), rest: make([]float32, r.Dim())}
	if !r.Compresses() {
		return p, nil
	}
	const bitsPerByte = 8
	p.bits = bitsPerByte * float64(w.MaxPayload) / float64(r.Dim())
	var err error
	p.compressor, err = r.Compressor(w.Rank)
	return p, err
}

// gradient is the worker's.
func (p *probe) gradient(g []float32, k int, x []float32) (float32, error) {
	loss, err := p.worker.Gradient(g, k, x)
	if err != nil || p.compressor == nil {
		return loss, err
	}
	if p.payload, err = p.compressor.Compress(p.payload[:0], k, g); err != nil {
		return loss, err
	}
	copy(p.rest, g)
	if err := p.compressor.AddTo(p.rest, -1, k, p.payload); err != nil {
		return loss, err
	}
	if of := vec.Dot(g, g); of > 0 {
		p.lost += vec.Dot(p.rest, p.rest) / of
		p.seen++
	}
	return loss, nil
}
