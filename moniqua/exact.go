package moniqua

import (
	"fmt"

	"gossiptrainer/algos"
)

// The last E coordinates of a model may be exact: statistics, like those of a batch normalization, that no gradient
// corrects. A payload then ends with E floats, 4 bytes each. Symbols, hash, repairs and θ are of the coordinates before
// them. A round of full precision needs no such parts.

// floatBytes is the size of a coordinate in full precision.
const floatBytes = 4

// before returns the number of coordinates before the exact ones of a model of d.
func (c *Codec) before(d int) int { return max(0, d-c.Exact) }

// A cut is the working memory of mixExact: the messages in two parts.
type cut struct{ first, last []algos.Message }

// A mixFunc is the Mix of a codec.
type mixFunc func(k int, g gathered) (algos.Mixed, error)

// mixFull is the mixFunc of full precision.
func mixFull(k int, g gathered) (algos.Mixed, error) {
	return algos.Full{}.Mix(g.acc, k, g.x, g.mine, g.in)
}

// mixExact mixes the exact coordinates in full precision and the others by first. It checks the former before any
// change.
func (c *Codec) mixExact(k int, g gathered, first mixFunc) (algos.Mixed, error) {
	if g.part.at == g.part.end {
		return first(k, g)
	}
	at := g.part.at - g.part.first
	size := floatBytes * (len(g.x) - at)
	if err := c.cut.set(g.in, size); err != nil {
		return algos.Mixed{}, fmt.Errorf("moniqua: round %d: %w", k, err)
	}
	largest, err := algos.Full{}.Check(len(g.x)-at, c.cut.last)
	if err != nil {
		return algos.Mixed{}, fmt.Errorf("moniqua: round %d: exact coordinates: %w", k, err)
	}
	exactly := gathered{x: g.x[at:], in: c.cut.last}
	if len(g.acc) > at {
		exactly.acc, g.acc = g.acc[at:], g.acc[:at]
	}
	g.x, g.mine, g.in = g.x[:at], g.mine[:max(0, len(g.mine)-size)], c.cut.first
	saw, err := first(k, g)
	if err != nil {
		return saw, err
	}
	exact, err := mixFull(k, exactly)
	saw.Moved, saw.Largest = saw.Moved+exact.Moved, max(saw.Largest, largest)
	return saw, err
}

// set divides messages, whose exact coordinates take size bytes.
func (c *cut) set(in []algos.Message, size int) error {
	c.first, c.last = append(c.first[:0], in...), append(c.last[:0], in...)
	for j, m := range in {
		at := len(m.Payload) - size
		if at < 0 {
			return &algos.MessageError{From: m.From,
				Err: fmt.Errorf("%d bytes: the exact coordinates alone take %d", len(m.Payload), size)}
		}
		c.first[j].Payload, c.last[j].Payload = m.Payload[:at], m.Payload[at:]
	}
	return nil
}
