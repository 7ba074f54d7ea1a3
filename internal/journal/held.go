package journal

import (
	"slices"

	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// heldBytes bounds the payloads in memory. Beyond it the journal drops the oldest messages.
// A neighbour that returns at a dropped message is refused with the reason.
const heldBytes = 64 << 20

// A record is a frame that could not be written to disk yet.
type record struct {
	header  wire.Header
	payload []byte
	slot    int
}

// hold keeps a frame in memory.
func (j *Journal) hold(h wire.Header, payload []byte, slot int) {
	r := &record{header: h, payload: slices.Clone(payload), slot: slot}
	j.held, j.heldSize = append(j.held, r), j.heldSize+len(payload)
	j.enter(h, slot, place{held: r})
	for j.heldSize > heldBytes && len(j.held) > 1 {
		j.shift(max(0, j.held[1].slot-j.base))
		j.pop()
		j.release()
	}
}

// pop takes the oldest frame out of memory.
func (j *Journal) pop() {
	j.heldSize -= len(j.held[0].payload)
	j.held = slices.Delete(j.held, 0, 1)
}

// release drops the held frames of slots before base.
func (j *Journal) release() {
	for len(j.held) > 0 && j.held[0].slot < j.base {
		j.pop()
	}
}

// flush writes the held frames to disk in order, until one fails.
func (j *Journal) flush() error {
	for len(j.held) > 0 {
		r := j.held[0]
		p, err := j.write(r.header, r.payload, r.slot)
		if err != nil {
			return err
		}
		if r.header.Kind == wire.Repair {
			j.repairs[receipt{slot: r.slot, to: topology.Rank(r.header.Epoch)}] = p
		} else {
			j.places[r.slot-j.base] = p
		}
		j.pop()
	}
	return nil
}
