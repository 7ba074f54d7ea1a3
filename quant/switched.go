package quant

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gossiptrainer/gossip/state"
)

// Switched is a compressor whose bits per coordinate may change in every round. A payload is that of
// the compressor for these bits and then one byte, the bits. So a receiver does not need to know when
// its sender switches.
type Switched struct {
	// Chosen returns the bits of round k, low to high; only Compress asks.
	Chosen func(k int) int

	low int
	of  []Compressor // of low, low+1, … bits
}

// NewSwitched returns the compressor of low to high bits, 1 ≤ low ≤ high ≤ 255; of makes the
// compressor for a number of bits.
func NewSwitched(low, high int, bits func(k int) int, of func(bits int) (Compressor, error)) (*Switched, error) {
	if low < 1 || low > high || high > 255 {
		return nil, fmt.Errorf("quant: switched: %d to %d bits: want 1 ≤ smallest ≤ largest ≤ 255", low, high)
	}
	s := &Switched{Chosen: bits, low: low}
	for b := low; b <= high; b++ {
		c, err := of(b)
		if err != nil {
			return nil, fmt.Errorf("quant: switched: %d bits: %w", b, err)
		}
		s.of = append(s.of, c)
	}
	return s, nil
}

// Properties returns those that the compressors for all bits have.
func (s *Switched) Properties() Properties {
	all := Properties{Unbiased: true, Contraction: true, Deterministic: true, Scalable: true}
	for _, c := range s.of {
		p := c.Properties()
		all.Unbiased = all.Unbiased && p.Unbiased
		all.Contraction = all.Contraction && p.Contraction
		all.Deterministic = all.Deterministic && p.Deterministic
		all.Scalable = all.Scalable && p.Scalable
	}
	return all
}

// Len returns the bytes of the largest payload of d coordinates.
func (s *Switched) Len(d int) int {
	most := 0
	for _, c := range s.of {
		most = max(most, c.Len(d))
	}
	return 1 + most
}

// Compress appends the payload for the bits of round k, and the bits.
func (s *Switched) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	bits := s.Chosen(k)
	if at := bits - s.low; at < 0 || at >= len(s.of) {
		return dst, fmt.Errorf("quant: switched: round %d: %d bits: must be %d to %d", k, bits, s.low, s.low+len(s.of)-1)
	}
	dst, err := s.of[bits-s.low].Compress(slices.Grow(dst, s.Len(len(z))), k, z)
	if err != nil {
		return dst, err
	}
	return append(dst, byte(bits)), nil
}

// Bits returns the most bits of a coordinate.
func (s *Switched) Bits() int { return s.of[len(s.of)-1].Bits() }

// Layout describes no parts: only the payload itself names its bits, see LayoutOf.
func (s *Switched) Layout(d int) Layout { return Bytes(s.Len(d)) }

// LayoutOf returns the layout of a payload of d coordinates; that of Bytes for an invalid one.
func (s *Switched) LayoutOf(d int, payload []byte) Layout {
	c, rest, err := s.named(payload)
	if err != nil {
		return Bytes(len(payload))
	}
	l := c.Layout(d)
	if l.Len() != len(rest) {
		return Bytes(len(payload))
	}
	l.Tail++
	return l
}

// Check returns an error unless payload names its bits and is valid for them.
func (s *Switched) Check(d int, payload []byte) error {
	c, rest, err := s.named(payload)
	if err != nil {
		return err
	}
	return c.Check(d, rest)
}

// Bound returns the bound of the compressor for the payload's bits.
func (s *Switched) Bound(d int, payload []byte) float32 {
	c, rest, err := s.named(payload)
	if err != nil {
		return 0 // Check refuses it
	}
	return c.Bound(d, rest)
}

// AddTo adds w times the vector that the compressor for the payload's bits decodes to acc.
func (s *Switched) AddTo(acc []float32, w float32, k int, payload []byte) error {
	c, rest, err := s.named(payload)
	if err != nil {
		return err
	}
	return c.AddTo(acc, w, k, rest)
}

// named returns the compressor for the bits that payload names, and its payload.
func (s *Switched) named(payload []byte) (Compressor, []byte, error) {
	last := len(payload) - 1
	if last < 0 {
		return nil, nil, errors.New("quant: switched: no bytes: want the number of bits at least")
	}
	at := int(payload[last]) - s.low
	if at < 0 || at >= len(s.of) {
		return nil, nil, fmt.Errorf("quant: switched: %d bits: must be %d to %d", payload[last], s.low, s.low+len(s.of)-1)
	}
	return s.of[at], payload[:last], nil
}

// State visits the compressors that have state.
func (s *Switched) State(v *state.Visit) {
	for i, c := range s.of {
		v.Part("bits"+strconv.Itoa(s.low+i), c)
	}
}
