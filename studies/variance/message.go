package main

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/quant/levels"
	"gossiptrainer/studies/gradients"
)

// A messenger makes and reads the messages of a compressor or codec.
type messenger interface {
	// encode appends the message of a round.
	encode(dst []byte, s sample) ([]byte, error)
	// decode processes a message as its receiver does.
	decode(s sample, payload []byte) error
	// lost returns |C(z) − z|²/|z|² for the vector z that is sent.
	lost(s sample) (float64, error)
	// layout returns the layout of the payloads of a round.
	layout(s sample) quant.Layout
	// ideal returns the bits of a payload in an ideal code of order 0, 0 if it
	// has no symbols.
	ideal(s sample, payload []byte) (float64, error)
}

// A compressed messenger sends gradients by a compressor.
type compressed struct {
	gradients.Lost
	acc []float32 // of the receiver
}

// messenger returns the messenger for the compressor of r.
func (r row) messenger(p plan) (messenger, error) {
	run, err := r.run(p.fits(), p.more)
	if err != nil {
		return nil, err
	}
	made, err := run.Compressors().Make(0, nil)
	return &compressed{gradients.Lost{C: made}, make([]float32, run.Dim())}, err
}

func (c *compressed) encode(dst []byte, s sample) ([]byte, error) {
	return c.C.Compress(dst, s.round, s.gradient)
}

func (c *compressed) decode(s sample, payload []byte) error {
	return c.C.AddTo(c.acc, 0.25, s.round, payload)
}

func (c *compressed) lost(s sample) (float64, error) {
	lost, _, err := c.Of(s.round, s.gradient)
	return lost, err
}

func (c *compressed) layout(s sample) quant.Layout {
	return c.C.Layout(len(s.gradient))
}

func (c *compressed) ideal(s sample, payload []byte) (float64, error) {
	packed, ok := c.C.(quant.Entropic)
	if !ok {
		return 0, nil
	}
	return packed.IdealBits(len(s.gradient), payload)
}

// A modular messenger sends the models of worker 1 to worker 0 by the modulo
// codec.
type modular struct {
	*moniqua.Codec
	mine map[int][]byte // the own messages of worker 0, by round
	acc  []float32
	in   [1]algos.Message
}

// thetaOf returns twice the largest difference between the two models of the samples, which is the theta of the rule
// "measured".
func thetaOf(samples []sample) float64 {
	gap := float32(0)
	apart := make([]float32, len(samples[0].own))
	for _, s := range samples {
		vec.Sub(apart, s.own, s.other)
		gap = max(gap, vec.MaxAbs(apart))
	}
	return 2 * float64(gap)
}

// newModular returns a modular messenger with the given bits.
func newModular(bits int, samples []sample) (*modular, error) {
	theta, err := moniqua.Fixed(thetaOf(samples))
	if err != nil {
		return nil, fmt.Errorf("models that do not differ: %w", err)
	}
	codec, err := moniqua.New(1<<bits, moniqua.Dither, theta, 1, 0)
	if err != nil {
		return nil, err
	}
	m := &modular{Codec: codec, mine: map[int][]byte{}, acc: make([]float32, len(samples[0].own))}
	for _, s := range samples {
		if m.mine[s.round], err = codec.Encode(nil, s.round, s.own); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *modular) encode(dst []byte, s sample) ([]byte, error) {
	return m.Encode(dst, s.round, s.other)
}

func (m *modular) decode(s sample, payload []byte) error {
	m.in[0] = algos.Message{From: 1, Weight: 0.25, Payload: payload}
	_, err := m.Mix(m.acc, s.round, s.own, m.mine[s.round], m.in[:])
	return err
}

func (m *modular) lost(s sample) (float64, error) {
	payload, err := m.encode(nil, s)
	if err != nil {
		return 0, err
	}
	indices, values := make([]int32, len(s.own)), make([]float64, len(s.own))
	if err := m.Decode(indices, s.round, s.own, payload); err != nil {
		return 0, err
	}
	if err := m.Values(values, s.round, indices); err != nil {
		return 0, err
	}
	squares := 0.0
	for i, v := range values {
		off := v - float64(s.other[i])
		squares += off * off
	}
	return squares / vec.Dot(s.other, s.other), nil
}

func (m *modular) layout(s sample) quant.Layout { return m.Layout(s.round, len(s.own), 0) }

func (m *modular) ideal(_ sample, payload []byte) (float64, error) {
	packing, err := quant.NewPacking(m.Levels)
	if err != nil {
		return 0, err
	}
	symbols, counts := make([]uint16, len(m.acc)), make([]float64, m.Levels)
	if err := packing.Unpack(symbols, payload); err != nil {
		return 0, err
	}
	for _, s := range symbols {
		counts[s] += 1 / float64(len(symbols))
	}
	return float64(len(symbols)) * levels.Entropy(counts), nil
}
