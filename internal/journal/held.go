package journal

import (
	"slices"

	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

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
}

// Held returns the bytes of payloads that are only in memory, because the disk does not take them. The journal drops
// none, since a neighbour that returns may need them: its caller should send nothing more if there are many.
func (j *Journal) Held() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int64(j.heldSize)
}

// Flush writes the frames that are only in memory to disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flush()
}

// Limit sets the bytes on disk beyond which the journal is crowded; 0: it never is for its length.
func (j *Journal) Limit(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limit = bytes
}

// Crowded reports whether the journal is longer than its limit, or the disk does not take it.
func (j *Journal) Crowded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.held) > 0 || j.limit > 0 && j.size() > j.limit
}

// Size returns the bytes on disk.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size()
}

func (d *disk) size() (bytes int64) {
	for _, s := range d.segments {
		bytes += s.size
	}
	return bytes
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
