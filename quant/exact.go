package quant

import (
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// Exact compresses all coordinates of a vector but the last ones, which travel in full precision. These are
// statistics, like those of a batch normalization, that no gradient corrects. A payload is one of the inner compressor
// with the exact coordinates behind it, 4 bytes each. A round may change the size of the inner payload.
type Exact struct {
	inner Compressor
	last  int // E, the number of exact coordinates
}

// NewExact returns the compressor of vectors whose last coordinates are exact; last ≥ 1.
func NewExact(inner Compressor, last int) (*Exact, error) {
	if last < 1 {
		return nil, fmt.Errorf("quant: exact: %d coordinates: must be at least 1", last)
	}
	return &Exact{inner, last}, nil
}

// before returns the number of coordinates that the inner compressor gets of d.
func (e *Exact) before(d int) int { return max(0, d-e.last) }

// Compress appends the payload of the inner compressor and the exact coordinates.
func (e *Exact) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	at, start := e.before(len(z)), len(dst)
	if err := checkVector("exact", k, z[at:]); err != nil {
		return dst, err
	}
	dst, err := e.inner.Compress(dst, k, z[:at])
	if err != nil {
		return dst[:start], err
	}
	return vec.AppendLE(dst, z[at:]), nil
}

// cut divides the payload of d coordinates.
func (e *Exact) cut(d int, payload []byte) (first, last []byte, err error) {
	at := len(payload) - 4*(d-e.before(d))
	if at < 0 {
		return nil, nil, fmt.Errorf("quant: exact: %d bytes: %d exact coordinates alone take %d", len(payload), e.last,
			4*e.last)
	}
	return payload[:at], payload[at:], nil
}

// Check returns an error for an invalid payload of d coordinates.
func (e *Exact) Check(d int, payload []byte) error {
	first, last, err := e.cut(d, payload)
	if err != nil {
		return err
	}
	if err := checkFloats("exact", last); err != nil {
		return err
	}
	return e.inner.Check(e.before(d), first)
}

// Bound returns the larger one of the bounds of both parts.
func (e *Exact) Bound(d int, payload []byte) float32 {
	first, last, err := e.cut(d, payload)
	if err != nil {
		return 0 // Check refuses it
	}
	return max(e.inner.Bound(e.before(d), first), vec.MaxAbsLE(last))
}

// AddTo computes acc ← acc + w·C(z).
func (e *Exact) AddTo(acc []float32, w float32, k int, payload []byte) error {
	first, last, err := e.cut(len(acc), payload)
	if err != nil {
		return err
	}
	if err := checkFloats("exact", last); err != nil {
		return err
	}
	at := e.before(len(acc))
	if err := e.inner.AddTo(acc[:at], w, k, first); err != nil {
		return err
	}
	return Full{}.AddTo(acc[at:], w, k, last)
}

// Len returns the bytes of the largest payload of d coordinates.
func (e *Exact) Len(d int) int { return e.inner.Len(e.before(d)) + 4*(d-e.before(d)) }

// Bits returns the bits of a coordinate that is not exact.
func (e *Exact) Bits() int { return e.inner.Bits() }

// Layout returns the layout of the inner compressor with the exact coordinates behind it.
func (e *Exact) Layout(d int) Layout {
	return e.inner.Layout(e.before(d)).Longer(4 * (d - e.before(d)))
}

// LayoutOf returns the layout of a payload of d coordinates.
func (e *Exact) LayoutOf(d int, payload []byte) Layout {
	varying, ok := e.inner.(Varying)
	first, last, err := e.cut(d, payload)
	if !ok || err != nil {
		return e.Layout(d)
	}
	return varying.LayoutOf(e.before(d), first).Longer(len(last))
}

// Properties returns those of the inner compressor: exact coordinates have all of them.
func (e *Exact) Properties() Properties { return e.inner.Properties() }

// State shows the state of the inner compressor.
func (e *Exact) State(v *state.Visit) { v.Part("inner", e.inner) }
