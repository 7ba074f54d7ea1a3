package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// segmentName is the format of a segment's file name.
const segmentName = "frames-%08d"

// A versionError says that an earlier version of the program has written a journal.
type versionError struct {
	Path    string // of the file
	Version int    // of its frames
}

func (e *versionError) Error() string {
	return fmt.Sprintf("%s: written by an earlier version of the program: its frames have version %d, this program "+
		"reads %d",
		e.Path, e.Version, wire.Version)
}

// Hint says what to do.
func (e *versionError) Hint() string {
	return fmt.Sprintf("end the run with the program that began it; or remove the folder %s of every peer, "+
		"and let all go on from a checkpoint of the same round", filepath.Dir(e.Path))
}

// Open opens or creates the journal in dir for a worker that next sends the message of slot next. It removes later
// frames, because the worker will send them again. It also removes the frames before a gap or an unreadable frame. It
// changes no journal of another version, and fails with a *versionError.
func Open(dir string, slots gossip.Slots, next int) (*Journal, error) {
	j := &Journal{disk: disk{dir: dir}, slots: slots, repairs: make(map[receipt]place)}
	if err := j.open(next); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), j.Close())
	}
	return j, nil
}

func (j *Journal) open(next int) error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(j.dir) // sorted by name
	if err != nil {
		return err
	}
	over := false // the scan has reached the message of slot next
	for _, entry := range entries {
		n, ok := numberOf(entry.Name())
		if !ok {
			continue
		}
		j.number = n + 1
		if over, err = j.scan(filepath.Join(j.dir, entry.Name()), next, over); err != nil {
			return err
		}
	}
	if j.next() != next { // also if a message is not whole
		j.base, j.places = next, nil
	}
	return j.trim()
}

// numberOf returns the number in the name of a segment.
func numberOf(name string) (n int, ok bool) {
	_, err := fmt.Sscanf(name, segmentName, &n)
	return n, err == nil && fmt.Sprintf(segmentName, n) == name
}

// scan enters the frames of a segment up to the first damaged header or the message of
// slot next, and truncates the file there. It does not read payloads. It reports whether
// it has reached that message; over says that an earlier segment has.
func (j *Journal) scan(path string, next int, over bool) (bool, error) {
	if err := safefile.Check(path); err != nil {
		return over, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return over, err
	}
	s := &segment{path: path, file: file, last: -1}
	j.segments = append(j.segments, s)
	info, err := file.Stat()
	if err != nil {
		return over, err
	}
	if err := earlier(file, path); err != nil {
		return over, err
	}
	for !over && s.size < segmentBytes {
		h, err := headerAt(file, s.size, info.Size())
		if err != nil {
			break
		}
		slot := j.slots.Of(h.Round, h.Hop)
		if over = h.Kind == wire.Data && slot >= next; over {
			break
		}
		j.enter(h, slot, place{in: s, at: uint32(s.size), size: uint32(h.Len)})
		s.size += wire.HeaderLen + int64(h.Len)
		s.last = max(s.last, slot)
	}
	return over, file.Truncate(s.size)
}

// earlier returns a *versionError if a segment begins with a frame of an earlier version.
func earlier(file io.ReaderAt, path string) error {
	var head [wire.HeaderLen]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return nil // too short for a frame
	}
	if v := wire.VersionOf(head[:]); v > 0 && v < wire.Version {
		return &versionError{Path: path, Version: v}
	}
	return nil
}

var errCutOff = errors.New("frame is cut off")

// headerAt reads the header of a frame that must end by size.
func headerAt(r io.ReaderAt, at, size int64) (wire.Header, error) {
	var head [wire.HeaderLen]byte
	room := size - at - wire.HeaderLen
	if room < 0 {
		return wire.Header{}, errCutOff
	}
	if _, err := r.ReadAt(head[:], at); err != nil {
		return wire.Header{}, err
	}
	h, err := wire.ParseHeader(head[:], int(room))
	if err == nil && h.Kind != wire.Data && h.Kind != wire.Repair {
		err = wire.ErrKind
	}
	return h, err
}

// enter records the place of a frame. A piece that does not follow the last one replaces all earlier messages: replay
// cannot cross a gap. Without its first piece a message is no use.
func (j *Journal) enter(h wire.Header, slot int, p place) {
	if h.Kind == wire.Repair {
		j.repairs[receipt{slot: slot, piece: h.Piece, to: topology.Rank(h.Epoch)}] = p
		return
	}
	if slot != j.next() || h.Piece != j.piece() || len(j.places) == 0 {
		j.base, j.places = slot, j.places[:0]
		if h.Piece > 0 {
			return
		}
	}
	j.places = append(j.places, p)
}

// trim deletes the segments that hold no usable frame.
func (j *Journal) trim() error {
	used := make(map[*segment]bool)
	for _, p := range j.places {
		used[p.in] = true
	}
	for key, p := range j.repairs {
		if key.slot < j.base {
			delete(j.repairs, key)
			continue
		}
		used[p.in] = true
	}
	kept := j.segments[:0]
	for _, s := range j.segments {
		if used[s] {
			kept = append(kept, s)
			continue
		}
		_ = s.file.Close() // the file goes next, so an error loses nothing
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	j.segments = kept
	return nil
}
