// Package journal is a write-ahead log of the messages that a worker sends. A neighbour
// that returns at an earlier round receives the same messages again.
//
// The frames are in segment files of one folder. An appended frame survives the end of
// the process at once, and the end of the machine after Sync. While the disk is full, the
// journal holds frames in memory, up to a bound. A record is a frame in the format of
// package wire, with its checksum. A repair has the rank of its receiver in place of the
// epoch. docs/format/journal.md describes the files.
//
// The package knows neither links nor checkpoints. Its caller must sync the frames of all
// rounds before a checkpoint no later than the checkpoint itself.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// segmentBytes is the size at which a segment is closed. The last frame may exceed it.
const segmentBytes = 64 << 20

var _ replay.Log = (*Journal)(nil)

// A Journal holds the messages of the slots in Span and repairs of some of them. Several
// goroutines may use it.
type Journal struct {
	dir   string
	slots gossip.Slots

	mu       sync.Mutex
	segments []*segment // oldest first
	writing  *segment   // the last of them; nil: the next frame begins one
	number   int        // of the next segment
	base     int
	places   []place // of the messages of the slots from base on
	repairs  map[receipt]place
	held     []*record // frames that are not on disk yet, in order
	heldSize int
	appended int64      // bytes, since it was opened
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

// A place says where to read a frame.
type place struct {
	in   *segment
	at   int64
	size int     // of the payload
	held *record // if it is in memory
}

// A receipt identifies a repair.
type receipt struct {
	slot int
	to   topology.Rank
}

// Span returns the slot of the oldest message and the slot to append next. They are equal
// in an empty journal.
func (j *Journal) Span() (base, next int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.base, j.next()
}

func (j *Journal) next() int { return j.base + len(j.places) }

// Appended returns how many bytes have been appended since Open.
func (j *Journal) Appended() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appended
}

// Append stores the message of the next slot, or a repair. It ignores a repair that it has.
// It never fails for lack of disk space: such frames stay in memory.
func (j *Journal) Append(f gossip.Frame) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	slot := j.slots.Of(f.Round, f.Hop)
	h := wire.Header{Kind: wire.Data, Round: f.Round, Hop: f.Hop, Note: f.Note}
	switch {
	case f.Kind == gossip.Data && slot != j.next():
		return fmt.Errorf("journal: message of slot %d: want slot %d", slot, j.next())
	case f.Kind == gossip.Repair:
		if _, there := j.repairs[receipt{slot: slot, to: f.To}]; there {
			return nil
		}
		h.Kind, h.Epoch = wire.Repair, uint32(f.To)
	case f.Kind != gossip.Data:
		return fmt.Errorf("journal: round %d hop %d: neither a message nor a repair", f.Round, f.Hop)
	}
	j.appended += wire.HeaderLen + int64(len(f.Payload))
	if j.flush() == nil {
		if p, err := j.write(h, f.Payload, slot); err == nil {
			j.enter(h, slot, p)
			return nil
		}
	}
	j.hold(h, f.Payload, slot)
	return nil
}

// write appends a frame to the current segment. After an error the segment is unchanged.
func (j *Journal) write(h wire.Header, payload []byte, slot int) (place, error) {
	if err := wire.PutHeader(j.head[:], h, payload); err != nil {
		return place{}, err
	}
	if err := j.begin(); err != nil {
		return place{}, err
	}
	s := j.writing
	_, err := s.file.WriteAt(j.head[:], s.size)
	if err == nil {
		_, err = s.file.WriteAt(payload, s.size+wire.HeaderLen)
	}
	if err != nil {
		return place{}, errors.Join(err, s.file.Truncate(s.size))
	}
	p := place{in: s, at: s.size, size: len(payload)}
	s.size += wire.HeaderLen + int64(len(payload))
	s.last, s.synced = max(s.last, slot), false
	if s.size >= segmentBytes {
		j.writing = nil
	}
	return p, nil
}

// begin creates a segment if none is open for writing.
func (j *Journal) begin() error {
	if j.writing != nil {
		return nil
	}
	path := filepath.Join(j.dir, fmt.Sprintf(segmentName, j.number))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	j.number++
	j.writing = &segment{path: path, file: file}
	j.segments = append(j.segments, j.writing)
	return nil
}

// Find returns the message of a slot, or its repair for neighbour to, and reports whether
// it found one. It returns an error for a message outside Span or a damaged frame.
func (j *Journal) Find(kind gossip.FrameKind, slot, _ int, to topology.Rank) (f gossip.Frame, ok bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if kind == gossip.Repair {
		p, ok := j.repairs[receipt{slot: slot, to: to}]
		if !ok {
			return gossip.Frame{}, false, nil
		}
		f, err = j.read(p, slot)
		f.Kind, f.To = gossip.Repair, to
		return f, true, err
	}
	if slot < j.base || slot >= j.next() {
		return gossip.Frame{}, false, fmt.Errorf("journal: message of slot %d: only %d to %d are there",
			slot, j.base, j.next()-1)
	}
	f, err = j.read(j.places[slot-j.base], slot)
	return f, err == nil, err
}

// read returns a frame in newly allocated memory.
func (j *Journal) read(p place, slot int) (gossip.Frame, error) {
	if p.held != nil {
		h := p.held.header
		return gossip.Frame{Round: h.Round, Hop: h.Hop, Note: h.Note, Payload: p.held.payload}, nil
	}
	frame := make([]byte, wire.HeaderLen+p.size)
	damaged := func(err error) error {
		return fmt.Errorf("journal: %s: message of slot %d: %w", p.in.path, slot, err)
	}
	if _, err := p.in.file.ReadAt(frame, p.at); err != nil {
		return gossip.Frame{}, damaged(err)
	}
	h, err := wire.ParseHeader(frame, p.size)
	if err != nil {
		return gossip.Frame{}, damaged(err)
	}
	payload := frame[wire.HeaderLen:]
	if err := wire.Verify(h, payload); err != nil {
		return gossip.Frame{}, damaged(err)
	}
	return gossip.Frame{Round: h.Round, Hop: h.Hop, Note: h.Note, Payload: payload}, nil
}

// Sync writes all appended frames to stable storage. The next frame begins a new segment, so
// Trim can delete the segments before a checkpoint.
func (j *Journal) Sync() error {
	j.mu.Lock()
	if err := j.flush(); err != nil {
		j.mu.Unlock()
		return fmt.Errorf("journal: %d frames are only in memory: %d bytes: %w", len(j.held), j.heldSize, err)
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
