package journal

import (
	"slices"

	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// heldBytes bounds the payloads in memory. Beyond it the journal drops the oldest messages, at last the running one. A
// neighbour that returns at a dropped message is refused with the reason.
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
	for j.heldSize > heldBytes {
		oldest := j.held[0]
		j.forget((oldest.slot - j.base + 1) * j.slots.Parts())
		if j.release(); len(j.held) > 0 && j.held[0] == oldest {
			j.pop() // a repair of a message that is not there
		}
	}
}

// pop takes the oldest frame out of memory.
func (j *Journal) pop() {
	r := j.held[0]
	if key := r.receipt(); j.repairs[key].held == r {
		delete(j.repairs, key)
	}
	j.heldSize -= len(r.payload)
	j.held = slices.Delete(j.held, 0, 1)
}

// receipt identifies r, if it is a repair.
func (r *record) receipt() receipt {
	return receipt{slot: r.slot, piece: r.header.Piece, to: topology.Rank(r.header.Epoch)}
}

// release drops the held frames of messages that the journal has not any more.
func (j *Journal) release() {
	first := j.base
	if j.missing > 0 {
		first++
	}
	for len(j.held) > 0 && j.held[0].slot < first {
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
			j.repairs[r.receipt()] = p
		} else {
			j.places[(r.slot-j.base)*j.slots.Parts()+r.header.Piece] = p
		}
		j.pop()
	}
	return nil
}
