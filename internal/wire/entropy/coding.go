package entropy

import (
	"fmt"
	"slices"

	"gossiptrainer/quant"
)

// An Encoder codes payloads. It keeps its scratch memory. It is not safe for concurrent use.
type Encoder struct {
	choice Coder
	costs  Costs
	machines
	arrangement
	probe probe
}

// NewEncoder returns an encoder with a fixed coder, or with Auto, which weighs costs. Only
// Auto reads costs.
func NewEncoder(choice Coder, costs Costs) (*Encoder, error) {
	if !choice.Valid() && choice != Auto {
		return nil, fmt.Errorf("internal error: entropy: no encoder for %v", choice)
	}
	return &Encoder{choice: choice, costs: costs}, nil
}

// Encode appends the coded form of payload to dst and returns the coder that made it. It
// returns Plain and dst unchanged if the coded form is not smaller. Auto also does so if
// coding takes longer than it saves at this cost per byte. It fails if layout does not
// describe the payload.
func (e *Encoder) Encode(dst, payload []byte, layout quant.Layout, link LinkCost) ([]byte, Coder, error) {
	if e.choice == Plain || len(payload) == 0 || e.choice == Auto && !e.costs.worthProbing(len(payload), link) {
		return dst, Plain, nil
	}
	if err := layout.Check(); err != nil {
		return dst, Plain, fmt.Errorf("entropy: %w", err)
	}
	if n := layout.Len(); n != len(payload) {
		return dst, Plain, fmt.Errorf("entropy: payload of %d bytes: its layout has %d", len(payload), n)
	}
	if err := e.set(layout); err != nil {
		return dst, Plain, fmt.Errorf("entropy: %w", err)
	}
	start := len(dst)
	out, err := e.apart(appendPrefix(slices.Grow(dst, len(payload)), layout), payload)
	if err != nil {
		return dst, Plain, fmt.Errorf("entropy: %w", err)
	}
	coder := e.choice
	if coder == Auto {
		coder = e.weigh(len(payload), len(out)-start, link)
	}
	if coder == Plain {
		return dst, Plain, nil
	}
	for i := range e.planes {
		if out, err = e.appendBlocks(out, coder, e.plane(i)); err != nil {
			return dst, Plain, err
		}
	}
	if len(out)-start >= len(payload) {
		return out[:start], Plain, nil
	}
	return out, coder, nil
}

// A Decoder restores payloads. It keeps its scratch memory. It is not safe for concurrent use.
type Decoder struct {
	machines
	arrangement
}

// Len returns the length of the payload that coded announces. It refuses more than limit with ErrCoded, so callers may
// allocate that memory.
func Len(coded []byte, limit int) (int, error) {
	layout, _, err := parsePrefix(coded, limit)
	return layout.Len(), err
}

// Decode fills payload from the output of coder. The payload has the length that Len returned. Decode uses memory of at
// most twice that length, for any input. It fails with ErrCoded on bytes that no Encoder writes; the content of payload
// is then undefined.
func (d *Decoder) Decode(payload []byte, coder Coder, coded []byte) error {
	if coder == Plain || !coder.Valid() {
		return fmt.Errorf("%w: %v codes nothing", ErrCoded, coder)
	}
	layout, rest, err := parsePrefix(coded, len(payload))
	if err != nil {
		return err
	}
	if n := layout.Len(); n != len(payload) || n == 0 {
		return fmt.Errorf("%w: of %d bytes, not %d", ErrCoded, n, len(payload))
	}
	if err := d.set(layout); err != nil {
		return fmt.Errorf("%w: %w", ErrCoded, err)
	}
	if len(rest) < d.sides() {
		return errCutOff()
	}
	sides, rest := rest[:d.sides()], rest[d.sides():]
	joined := d.bind(payload)
	for i := range d.planes {
		if rest, err = d.readBlocks(d.plane(i), coder, rest); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrCoded, len(rest))
	}
	return d.join(payload, sides, joined)
}
