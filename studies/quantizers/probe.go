package main

import (
	"gossiptrainer/internal/experiment"
	"gossiptrainer/studies/gradients"
)

// A probe compresses every gradient of worker 0 once more, to measure the loss. Its compressor is a copy of the
// worker's and sees the same gradients, unless the run has error feedback.
type probe struct {
	gradients.Lost         // without a compressor in full precision
	bits           float64 // of a message per parameter

	lost float64 // Σ |C(g) − g|²/|g|²
	seen int     // rounds so far
}

func newProbe(r *experiment.Run) (*probe, error) {
	p := &probe{bits: float64(r.Bits())}
	if !r.Method().Compresses() {
		return p, nil
	}
	var err error
	p.C, err = r.Compressors().Make(0, nil)
	return p, err
}

func (p *probe) look(k int, _, g []float32) error {
	if p.C == nil {
		return nil
	}
	lost, payload, err := p.Of(k, g)
	if err != nil {
		return err
	}
	const bitsPerByte = 8
	p.bits = bitsPerByte * float64(len(payload)) / float64(len(g))
	p.lost += lost
	p.seen++
	return nil
}
