package quant

import (
	"fmt"
	"slices"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// A Span is the coordinates from First to End−1.
type Span struct{ First, End int }

// Partial compresses some coordinates of a vector, those of its spans, as one vector. The others travel in full
// precision, as Cui et al., "MQGrad", 2018, send the small layers of a network. A payload is one of the inner
// compressor with the other coordinates behind it, in their order, 4 bytes each.
type Partial struct {
	inner  Compressor
	spans  []Span
	chosen int       // coordinates of all spans
	d      int       // of the vectors
	part   []float32 // scratch
	rest   []float32 // scratch
}

// NewPartial returns the compressor of vectors of d coordinates. The spans are not empty, ascend and do not overlap;
// inner compresses vectors as long as all of them.
func NewPartial(inner Compressor, spans []Span, d int) (*Partial, error) {
	p := &Partial{inner: inner, spans: slices.Clone(spans), d: d}
	at := 0
	for _, s := range spans {
		if s.First < at || s.End <= s.First || s.End > d {
			return nil, fmt.Errorf("quant: partial: coordinates %d to %d of %d: want ascending spans", s.First, s.End-1, d)
		}
		at, p.chosen = s.End, p.chosen+s.End-s.First
	}
	if p.chosen == 0 {
		return nil, fmt.Errorf("quant: partial: no span: want at least one")
	}
	return p, nil
}

// divide copies the coordinates of the spans to part, and the others to rest.
func (p *Partial) divide(z []float32) {
	p.part, p.rest = p.part[:0], p.rest[:0]
	at := 0
	for _, s := range p.spans {
		p.rest, p.part = append(p.rest, z[at:s.First]...), append(p.part, z[s.First:s.End]...)
		at = s.End
	}
	p.rest = append(p.rest, z[at:]...)
}

// join copies part and rest back to z.
func (p *Partial) join(z []float32) {
	part, rest, at := p.part, p.rest, 0
	for _, s := range p.spans {
		rest = rest[copy(z[at:s.First], rest):]
		part = part[copy(z[s.First:s.End], part):]
		at = s.End
	}
	copy(z[at:], rest)
}

// size refuses vectors of another length.
func (p *Partial) size(d int) error {
	if d != p.d {
		return fmt.Errorf("quant: partial: %d coordinates: want %d", d, p.d)
	}
	return nil
}

// Compress appends the payload of the inner compressor and the other coordinates.
func (p *Partial) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if err := p.size(len(z)); err != nil {
		return dst, err
	}
	p.divide(z)
	if err := checkVector("partial", k, p.rest); err != nil {
		return dst, err
	}
	start := len(dst)
	dst, err := p.inner.Compress(dst, k, p.part)
	if err != nil {
		return dst[:start], err
	}
	return vec.AppendLE(dst, p.rest), nil
}

// cut divides a payload.
func (p *Partial) cut(payload []byte) (part, rest []byte, err error) {
	at := len(payload) - 4*(p.d-p.chosen)
	if at < 0 {
		return nil, nil, fmt.Errorf("quant: partial: %d bytes: the coordinates in full precision take %d", len(payload),
			4*(p.d-p.chosen))
	}
	return payload[:at], payload[at:], nil
}

// Check returns an error for an invalid payload of d coordinates.
func (p *Partial) Check(d int, payload []byte) error {
	if err := p.size(d); err != nil {
		return err
	}
	part, rest, err := p.cut(payload)
	if err != nil {
		return err
	}
	if err := checkFloats("partial", rest); err != nil {
		return err
	}
	return p.inner.Check(p.chosen, part)
}

// Bound returns the larger one of the bounds of both parts.
func (p *Partial) Bound(_ int, payload []byte) float32 {
	part, rest, err := p.cut(payload)
	if err != nil {
		return 0 // Check refuses it
	}
	return max(p.inner.Bound(p.chosen, part), vec.MaxAbsLE(rest))
}

// AddTo computes acc ← acc + w·C(z).
func (p *Partial) AddTo(acc []float32, w float32, k int, payload []byte) error {
	if err := p.Check(len(acc), payload); err != nil {
		return err
	}
	part, rest, _ := p.cut(payload) // Check has cut it
	p.divide(acc)
	if err := p.inner.AddTo(p.part, w, k, part); err != nil {
		return err
	}
	if err := (Full{}).AddTo(p.rest, w, k, rest); err != nil {
		return err
	}
	p.join(acc)
	return nil
}

// Len returns the bytes of the largest payload.
func (p *Partial) Len(int) int { return p.inner.Len(p.chosen) + 4*(p.d-p.chosen) }

// Bits returns the bits of a coordinate that is compressed.
func (p *Partial) Bits() int { return p.inner.Bits() }

// Layout returns the layout of the inner compressor with the other coordinates behind it.
func (p *Partial) Layout(int) Layout { return p.inner.Layout(p.chosen).Longer(4 * (p.d - p.chosen)) }

// LayoutOf returns the layout of a payload.
func (p *Partial) LayoutOf(d int, payload []byte) Layout {
	varying, ok := p.inner.(Varying)
	part, rest, err := p.cut(payload)
	if !ok || err != nil {
		return p.Layout(d)
	}
	return varying.LayoutOf(p.chosen, part).Longer(len(rest))
}

// Properties returns those of the inner compressor: coordinates in full precision have all of them.
func (p *Partial) Properties() Properties { return p.inner.Properties() }

// State shows the state of the inner compressor.
func (p *Partial) State(v *state.Visit) { v.Part("inner", p.inner) }
