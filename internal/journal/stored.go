package journal

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

// A stored is the payload of a piece on disk.
type stored struct {
	journal     *Journal
	slot, piece int
	header      wire.Header
}

var _ gossip.Stored = (*stored)(nil)

// Look returns a piece of the message of a slot in Span, whose payload stays on disk.
func (j *Journal) Look(slot, piece int) (gossip.Frame, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p, err := j.place(slot, piece)
	switch {
	case err != nil:
		return gossip.Frame{}, err
	case p.held != nil:
		return frameOf(p.held.header, p.held.payload), nil
	}
	if _, err := p.in.file.ReadAt(j.head[:], int64(p.at)); err != nil {
		return gossip.Frame{}, p.damaged(slot, err)
	}
	h, err := wire.ParseHeader(j.head[:], int(p.size))
	if err != nil {
		return gossip.Frame{}, p.damaged(slot, err)
	}
	f := frameOf(h, nil)
	f.Stored = &stored{journal: j, slot: slot, piece: piece, header: h}
	return f, nil
}

// Len returns the bytes of the payload.
func (s *stored) Len() int { return s.header.Len }

// Read appends the payload to dst.
func (s *stored) Read(dst []byte) ([]byte, error) {
	j := s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	p, err := j.place(s.slot, s.piece)
	if err != nil {
		return dst, err
	}
	at := len(dst)
	dst = append(dst, make([]byte, s.header.Len)...)
	if _, err := p.in.file.ReadAt(dst[at:], int64(p.at)+wire.HeaderLen); err != nil {
		return dst[:at], p.damaged(s.slot, err)
	}
	if err := wire.Verify(s.header, dst[at:]); err != nil {
		return dst[:at], p.damaged(s.slot, err)
	}
	return dst, nil
}
