// Package journal is a write-ahead log of the messages that a worker sends. A neighbour that returns at an earlier
// round receives the same messages again.
//
// The frames, which are pieces of messages, are in segment files of one folder. An appended frame survives the end of
// the process at once, and the end of the machine after Sync. In memory are the places of the frames, and, while the
// disk is full, the frames that it does not take. A record is a frame in the format of package wire, with its checksum.
// A repair has the rank of its receiver in place of the epoch. docs/format/journal.md describes the files.
//
// The package knows neither links nor checkpoints. Its caller must sync the frames of all rounds before a checkpoint no
// later than the checkpoint itself.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// segmentBytes is the size at which a segment is closed. The last frame may exceed it.
const segmentBytes = 64 << 20

var _ replay.Log = (*Journal)(nil)

// A Journal holds the messages of the slots in Span and repairs of some of their pieces. Several goroutines may use it.
type Journal struct {
	slots gossip.Slots

	mu sync.Mutex // guards the rest
	disk
	base     int
	places   []place // of the pieces of the slots from base on, without a gap
	missing  int     // pieces of the running message that are dropped already; then places is empty
	repairs  map[receipt]place
	held     []*record // frames that are not on disk yet, in order
	heldSize int
	limit    int64 // see Limit
	appended int64 // bytes, since it was opened
}

// A disk is the files of a journal.
type disk struct {
	dir      string
	segments []*segment // oldest first
	writing  *segment   // the last of them; nil: the next frame begins one
	number   int        // of the next segment
	syncing  int        // running calls of Sync
	dropped  []*segment // deleted segments that a running Sync may use
	head     [wire.HeaderLen]byte
}

// A segment is one file.
type segment struct {
	path   string
	file   *os.File
	size   int64
	last   int  // latest slot of its frames
	synced bool // all its frames are
}

// A place says where to read a frame. Numbers of 32 bits suffice: a frame begins before the end of a segment, and its
// header has its length.
type place struct {
	in       *segment
	held     *record // if it is in memory
	at, size uint32  // of the frame, and of the payload
}

// A receipt identifies a repair.
type receipt struct {
	slot, piece int
	to          topology.Rank
}

// Span returns the slot of the oldest message and the first slot whose message is not whole. They are equal in a
// journal
// without a whole message.
func (j *Journal) Span() (base, next int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.base, j.next()
}

func (j *Journal) next() int { return j.base + len(j.places)/j.slots.Parts() }

// piece returns the piece to append next.
func (j *Journal) piece() int { return j.missing + len(j.places)%j.slots.Parts() }

// Appended returns how many bytes have been appended since Open.
func (j *Journal) Appended() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appended
}

// Append stores the next piece of the message of the next slot, or a repair. It ignores a repair that it has. It never
// fails for lack of disk space: from then on frames stay in memory, until Flush or Sync finds room for all.
func (j *Journal) Append(f gossip.Frame) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	slot := j.slots.Of(f.Round, f.Hop)
	h := wire.Header{Kind: wire.Data, Round: f.Round, Hop: f.Hop, Piece: f.Piece, Note: f.Note}
	switch {
	case f.Kind == gossip.Data && (slot != j.next() || f.Piece != j.piece()):
		return fmt.Errorf("journal: message of slot %d, piece %d: want slot %d, piece %d", slot, f.Piece, j.next(), j.piece())
	case f.Kind == gossip.Repair:
		if _, there := j.repairs[receiptOf(f, slot)]; there {
			return nil
		}
		h.Kind, h.Epoch = wire.Repair, uint32(f.To)
	case f.Kind != gossip.Data:
		return fmt.Errorf("journal: round %d hop %d: neither a message nor a repair", f.Round, f.Hop)
	}
	j.appended += wire.HeaderLen + int64(len(f.Payload))
	if f.Kind == gossip.Data && j.missing > 0 {
		j.pass()
		return nil
	}
	if len(j.held) == 0 {
		if p, err := j.write(h, f.Payload, slot); err == nil {
			j.enter(h, slot, p)
			return nil
		}
	}
	j.hold(h, f.Payload, slot)
	return nil
}

// pass counts a piece of a message whose first pieces are dropped: it is useless.
func (j *Journal) pass() {
	if j.missing++; j.missing == j.slots.Parts() {
		j.base, j.missing = j.base+1, 0
	}
}

func receiptOf(f gossip.Frame, slot int) receipt {
	return receipt{slot: slot, piece: f.Piece, to: f.To}
}

// write appends a frame to the current segment. After an error the segment is unchanged.
func (d *disk) write(h wire.Header, payload []byte, slot int) (place, error) {
	if err := wire.PutHeader(d.head[:], h, payload); err != nil {
		return place{}, err
	}
	if err := d.begin(); err != nil {
		return place{}, err
	}
	s := d.writing
	_, err := s.file.WriteAt(d.head[:], s.size)
	if err == nil {
		_, err = s.file.WriteAt(payload, s.size+wire.HeaderLen)
	}
	if err != nil {
		return place{}, errors.Join(err, s.file.Truncate(s.size))
	}
	p := place{in: s, at: uint32(s.size), size: uint32(len(payload))}
	s.size += wire.HeaderLen + int64(len(payload))
	s.last, s.synced = max(s.last, slot), false
	if s.size >= segmentBytes {
		d.writing = nil
	}
	return p, nil
}

// begin creates a segment if none is open for writing.
func (d *disk) begin() error {
	if d.writing != nil {
		return nil
	}
	path := filepath.Join(d.dir, fmt.Sprintf(segmentName, d.number))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	d.number++
	d.writing = &segment{path: path, file: file}
	d.segments = append(d.segments, d.writing)
	return nil
}

// Find returns a piece of the message of a slot, or its repair for neighbour to, and reports whether it found one. It
// returns an error for a message outside Span or a damaged frame.
func (j *Journal) Find(kind gossip.FrameKind, slot, piece int, to topology.Rank) (f gossip.Frame, ok bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if kind == gossip.Repair {
		p, ok := j.repairs[receipt{slot: slot, piece: piece, to: to}]
		if !ok {
			return gossip.Frame{}, false, nil
		}
		f, err = p.read(slot)
		f.Kind, f.To = gossip.Repair, to
		return f, true, err
	}
	p, err := j.place(slot, piece)
	if err != nil {
		return gossip.Frame{}, false, err
	}
	f, err = p.read(slot)
	return f, err == nil, err
}

// place returns the place of a piece of a message in Span.
func (j *Journal) place(slot, piece int) (place, error) {
	parts := j.slots.Parts()
	if slot < j.base || slot >= j.next() || piece < 0 || piece >= parts {
		return place{}, fmt.Errorf("journal: message of slot %d, piece %d: only %d to %d are there, in %s",
			slot, piece, j.base, j.next()-1, human.Count(parts, "piece"))
	}
	return j.places[(slot-j.base)*parts+piece], nil
}

// read returns the frame of a slot in newly allocated memory.
func (p place) read(slot int) (gossip.Frame, error) {
	if p.held != nil {
		return frameOf(p.held.header, p.held.payload), nil
	}
	frame := make([]byte, wire.HeaderLen+int(p.size))
	damaged := func(err error) error { return p.damaged(slot, err) }
	if _, err := p.in.file.ReadAt(frame, int64(p.at)); err != nil {
		return gossip.Frame{}, damaged(err)
	}
	h, err := wire.ParseHeader(frame, int(p.size))
	if err != nil {
		return gossip.Frame{}, damaged(err)
	}
	payload := frame[wire.HeaderLen:]
	if err := wire.Verify(h, payload); err != nil {
		return gossip.Frame{}, damaged(err)
	}
	return frameOf(h, payload), nil
}

// damaged adds the place to the error of a frame.
func (p place) damaged(slot int, err error) error {
	return fmt.Errorf("journal: %s: message of slot %d: %w", p.in.path, slot, err)
}

func frameOf(h wire.Header, payload []byte) gossip.Frame {
	return gossip.Frame{Round: h.Round, Hop: h.Hop, Piece: h.Piece, Note: h.Note, Payload: payload}
}

// Sync writes all frames that were sent before a round to stable storage. Later ones may stay in memory. The next frame
// begins a new segment, so Trim can delete the segments before a checkpoint.
func (j *Journal) Sync(round int) error {
	j.mu.Lock()
	before := j.slots.Of(round, 0)
	if err := j.flush(); err != nil && slices.ContainsFunc(j.held, func(r *record) bool { return r.slot < before }) {
		defer j.mu.Unlock()
		return fmt.Errorf("journal: only in memory: %s of %d bytes: %w", human.Count(len(j.held), "frame"), j.heldSize, err)
	}
	var fresh []*segment
	for _, s := range j.segments {
		if !s.synced {
			s.synced = true
			fresh = append(fresh, s)
		}
	}
	j.writing = nil
	j.syncing++
	j.mu.Unlock()

	err := syncAll(j.dir, fresh)

	j.mu.Lock()
	defer j.mu.Unlock()
	j.syncing--
	j.closeDropped()
	if err != nil {
		for _, s := range fresh {
			s.synced = false
		}
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func syncAll(dir string, segments []*segment) error {
	for _, s := range segments {
		if err := s.file.Sync(); err != nil {
			return err
		}
	}
	return syncFolder(dir)
}

// Close closes the files and leaves them on disk.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var first error
	for _, s := range append(j.segments, j.dropped...) {
		if err := s.file.Close(); err != nil && first == nil {
			first = fmt.Errorf("journal: %w", err)
		}
	}
	j.segments, j.dropped, j.writing = nil, nil, nil
	return first
}
