package replay

import (
	"fmt"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A Memory is a Log in memory. In a simulation it outlives the machine of a worker that dies. The zero value is empty
// and begins with slot 0.
type Memory struct {
	slots   gossip.Slots
	base    int
	sent    []gossip.Frame // the pieces of the slots from base on, without a gap
	repairs map[receipt]gossip.Frame
	bytes   int64 // of all payloads
}

// A receipt names a repair.
type receipt struct {
	slot, piece int
	to          topology.Rank
}

var _ Log = (*Memory)(nil)

// NewMemory returns the empty log of a worker whose next message is that of slot next.
func NewMemory(slots gossip.Slots, next int) *Memory {
	return &Memory{slots: slots, base: next, repairs: make(map[receipt]gossip.Frame)}
}

// Rewind removes the frames from slot next on, because a worker that has come back makes them again.
func (m *Memory) Rewind(next int) {
	if base, end := m.Span(); next < base || next > end {
		*m = *NewMemory(m.slots, next)
		return
	}
	rest := m.sent[(next-m.base)*m.slots.Parts():]
	for _, f := range rest {
		m.bytes -= int64(len(f.Payload))
	}
	clear(rest)
	m.sent = m.sent[:len(m.sent)-len(rest)]
	for key := range m.repairs {
		if key.slot >= next {
			m.drop(key)
		}
	}
}

// Span returns the oldest slot in the log, and the next one whose message is not whole.
func (m *Memory) Span() (base, next int) { return m.base, m.base + len(m.sent)/m.slots.Parts() }

// Append keeps a copy of a piece of a message, or of a repair.
func (m *Memory) Append(f gossip.Frame) error {
	slot := m.slots.Of(f.Round, f.Hop)
	key := receipt{slot: slot, piece: f.Piece, to: f.To}
	_, next := m.Span()
	switch piece := len(m.sent) % m.slots.Parts(); {
	case f.Kind == gossip.Data && slot == next && f.Piece == piece:
		f.Payload = slices.Clone(f.Payload)
		m.sent = append(m.sent, f)
	case f.Kind == gossip.Data:
		return fmt.Errorf("log: message of slot %d, piece %d: want slot %d, piece %d", slot, f.Piece, next, piece)
	case f.Kind != gossip.Repair:
		return fmt.Errorf("log: round %d hop %d: neither a message nor a repair", f.Round, f.Hop)
	default:
		if _, there := m.repairs[key]; there {
			return nil
		}
		f.Payload = slices.Clone(f.Payload)
		m.repairs[key] = f
	}
	m.bytes += int64(len(f.Payload))
	return nil
}

// Find returns a piece of a message, or its repair.
func (m *Memory) Find(kind gossip.FrameKind, slot, piece int, to topology.Rank) (gossip.Frame, bool, error) {
	if kind == gossip.Repair {
		f, ok := m.repairs[receipt{slot: slot, piece: piece, to: to}]
		return f, ok, nil
	}
	if base, next := m.Span(); slot < base || slot >= next {
		return gossip.Frame{}, false, fmt.Errorf("log: message of slot %d: only %d to %d are there", slot, base, next-1)
	}
	return m.sent[(slot-m.base)*m.slots.Parts()+piece], true, nil
}

// Look returns a piece of a message.
func (m *Memory) Look(slot, piece int) (gossip.Frame, error) {
	f, _, err := m.Find(gossip.Data, slot, piece, 0)
	return f, err
}

// Trim removes the messages before a slot, and the oldest ones beyond a number of bytes of payload.
func (m *Memory) Trim(before int, most int64) error {
	n, parts := 0, m.slots.Parts()
	for ; (n+1)*parts <= len(m.sent) && (m.base+n < before || m.bytes > most); n++ {
		for _, f := range m.sent[n*parts : (n+1)*parts] {
			m.bytes -= int64(len(f.Payload))
		}
	}
	if n == 0 {
		return nil
	}
	m.sent, m.base = slices.Delete(m.sent, 0, n*parts), m.base+n
	for key := range m.repairs {
		if key.slot < m.base {
			m.drop(key)
		}
	}
	return nil
}

func (m *Memory) drop(key receipt) {
	m.bytes -= int64(len(m.repairs[key].Payload))
	delete(m.repairs, key)
}
