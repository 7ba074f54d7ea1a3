package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
)

// Linear rounds to the unbounded grid of the multiples of Step,
//
//	C(z)_c = Step·⌊z_c/Step + u⌋,  u = 1/2 or uniform in [0, 1),
//
// with an error of at most half a step (Nearest) or one step (Stochastic) for any z. It is the direct
// quantization of Lu and De Sa, "Moniqua", ICML 2020, section 3. An index is an int32, little-endian;
// Compress refuses coordinates beyond ±2³¹ steps.
type Linear struct {
	step float64
	mode Mode
	seed uint64
}

// maxStep keeps 2³¹ steps within the range of float32.
const maxStep = 1e20

// NewLinear returns the compressor with grid points step apart, in (0, 1e20].
// seed is the worker's own stream, rng.Stream(seed, rank); only Stochastic
// needs it.
func NewLinear(step float64, mode Mode, seed uint64) (*Linear, error) {
	if !(step > 0 && step <= maxStep) {
		return nil, fmt.Errorf("quant: linear: step %v: must be above 0, at most %g", step, maxStep)
	}
	return &Linear{step: step, mode: mode, seed: seed}, nil
}

// Properties: the error is bounded, but not by the length of z.
func (l *Linear) Properties() Properties {
	return Properties{Unbiased: l.mode == Stochastic, Deterministic: l.mode == Nearest}
}

// Bits returns the bits of an index.
func (l *Linear) Bits() int { return fullBits }

// Len returns the bytes of a payload of d coordinates.
func (l *Linear) Len(d int) int { return 4 * d }

// Index returns ⌊v/Step + u⌋ in float64, which may exceed an int32.
func (l *Linear) Index(v float32, u float64) float64 {
	return math.Floor(float64(v)/l.step + u)
}

// Compress appends the indices of z.
func (l *Linear) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := checkVector("linear", k, z); err != nil {
		return dst, err
	}
	key, u, start := rng.At(l.seed, k), 0.5, len(dst)
	dst = slices.Grow(dst, 4*len(z))[:start+4*len(z)]
	for c, v := range z {
		if l.mode == Stochastic {
			u = float64(key.Uniform(uint32(c)))
		}
		index := l.Index(v, u)
		if index < math.MinInt32 || index > math.MaxInt32 {
			return dst[:start], fmt.Errorf("quant: linear: round %d: coordinate %d: %v is 2³¹ or more steps of %v from 0",
				k, c, v, l.step)
		}
		binary.LittleEndian.PutUint32(dst[start+4*c:], uint32(int32(index)))
	}
	return dst, nil
}

// Check returns an error unless payload holds d indices; any index is legal.
func (l *Linear) Check(d int, payload []byte) error {
	return checkLen("linear", payload, 4*d, d)
}

// Bound returns the largest magnitude of a grid point.
func (l *Linear) Bound(_ int, payload []byte) float32 {
	low, high := int32(0), int32(0)
	for ; len(payload) > 0; payload = payload[4:] {
		index := int32(binary.LittleEndian.Uint32(payload))
		low, high = min(low, index), max(high, index)
	}
	return float32(l.step * max(-float64(low), float64(high)))
}

// AddTo adds w times the grid points to acc.
func (l *Linear) AddTo(acc []float32, w float32, _ int, payload []byte) error {
	if err := l.Check(len(acc), payload); err != nil {
		return err
	}
	for c := range acc {
		index := int32(binary.LittleEndian.Uint32(payload[4*c:]))
		acc[c] += float32(w * float32(l.step*float64(index)))
	}
	return nil
}
