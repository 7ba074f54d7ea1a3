package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/vec"
)

// RandomK keeps K random coordinates, others in every round: those that rng.RandomK draws for (seed,
// round). It is that of Wangni et al., "Gradient Sparsification for Communication-Efficient
// Distributed Optimization", NeurIPS 2018. It is a contraction with ω = K/d; multiplied by d/K it is
// unbiased. The values are sent as floats in the order of their indices, which the receiver draws
// again: 4K bytes.
type RandomK struct {
	k       int
	scaling Scaling
	seed    uint64
	indices []uint32 // scratch of rng.RandomK
}

// A Scaling is the factor on the kept coordinates.
type Scaling int

const (
	// AsIs sends them unchanged: a contraction.
	AsIs Scaling = iota
	// Amplified multiplies them by d/K: unbiased.
	Amplified
)

// NewRandomK returns the compressor that keeps k ≥ 1 coordinates. A vector with
// fewer is refused. seed is the worker's own stream, rng.Stream(seed, rank).
func NewRandomK(k int, scaling Scaling, seed uint64) (*RandomK, error) {
	if k < 1 {
		return nil, fmt.Errorf("quant: randomk: k %d: must be at least 1", k)
	}
	return &RandomK{k: k, scaling: scaling, seed: seed}, nil
}

// Properties: a contraction, or unbiased.
func (r *RandomK) Properties() Properties {
	return Properties{Unbiased: r.scaling == Amplified, Contraction: r.scaling == AsIs, Scalable: r.scaling == Amplified}
}

// Scale makes it a contraction: q is d/K − 1, and d/K divided by 1+q is 1.
func (r *RandomK) Scale() error {
	r.scaling = AsIs
	return nil
}

// Bits returns 32, as there is no fixed number: most coordinates take no bits.
func (r *RandomK) Bits() int { return fullBits }

// Len returns the bytes of a payload, which do not depend on the number of coordinates.
func (r *RandomK) Len(int) int { return 4 * r.k }

// Compress appends the coordinates of z that are drawn for round k.
func (r *RandomK) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("randomk", k, z); err != nil {
		return dst, err
	}
	if err := r.fits(len(z)); err != nil {
		return dst, err
	}
	factor, start := 1.0, len(dst)
	if r.scaling == Amplified {
		factor = float64(len(z)) / float64(r.k)
	}
	r.draw(k, len(z))
	dst = slices.Grow(dst, 4*r.k)
	for _, c := range r.indices {
		v := float32(float64(z[c]) * factor)
		if !finite(v) {
			return dst[:start], fmt.Errorf("quant: randomk: round %d: coordinate %d: %v times %v is Inf", k, c, z[c], factor)
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

// draw writes the indices of round k.
func (r *RandomK) draw(k, d int) {
	r.indices = rng.RandomK(r.indices[:0], r.seed, k, d, r.k)
}

func (r *RandomK) fits(d int) error {
	if r.k > d {
		return fmt.Errorf("quant: randomk: k %d: a vector has only %d coordinates", r.k, d)
	}
	return nil
}

// Check returns an error unless payload holds K finite floats.
func (r *RandomK) Check(d int, payload []byte) error {
	if err := r.fits(d); err != nil {
		return err
	}
	if err := checkLen("randomk", payload, 4*r.k, d); err != nil {
		return err
	}
	return checkFloats("randomk", payload)
}

// Bound returns the largest magnitude sent.
func (r *RandomK) Bound(_ int, payload []byte) float32 { return vec.MaxAbsLE(payload) }

// AddTo adds w times the coordinates sent in round k to acc.
func (r *RandomK) AddTo(acc []float32, w float32, k int, payload []byte) error {
	if err := r.Check(len(acc), payload); err != nil {
		return err
	}
	r.draw(k, len(acc))
	for i, c := range r.indices {
		acc[c] += float32(w * float32At(payload, i))
	}
	return nil
}
