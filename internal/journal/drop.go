package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Trim deletes the segments whose slots all precede before. It then deletes the oldest
// segments, even those that neighbours still need, until the rest has at most most bytes.
// The segment being written always stays.
func (j *Journal) Trim(before int, most int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.closeDropped()
	n := 0
	for n < len(j.segments) && j.segments[n] != j.writing && j.segments[n].last < before {
		n++
	}
	if err := j.remove(n); err != nil {
		return err
	}
	first := 0
	for first < len(j.places) && j.places[first].held != nil && j.base+first/j.slots.Parts() < before {
		first++
	}
	j.forget(first / j.slots.Parts() * j.slots.Parts())
	j.release()
	return j.shorten(most)
}

// shorten deletes the oldest segments until the rest has at most most bytes.
func (j *Journal) shorten(most int64) error {
	total, n := j.size(), 0
	for n < len(j.segments) && j.segments[n] != j.writing && total > most {
		total -= j.segments[n].size
		n++
	}
	return j.remove(n)
}

// remove deletes the n oldest segments and forgets their messages.
func (j *Journal) remove(n int) error {
	if n == 0 {
		return nil
	}
	gone := make(map[*segment]bool, n)
	for _, s := range j.segments[:n] {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("journal: %w", err)
		}
		gone[s] = true
	}
	j.dropped = append(j.dropped, j.segments[:n]...)
	j.segments = append(j.segments[:0], j.segments[n:]...)
	first := 0
	for first < len(j.places) && gone[j.places[first].in] {
		first++
	}
	j.forget(first)
	return nil
}

// forget drops the first n pieces and the rest of their messages, and all repairs of older slots.
func (j *Journal) forget(n int) {
	if n <= 0 {
		return
	}
	parts := j.slots.Parts()
	whole, begun := len(j.places)/parts, len(j.places)%parts
	slots := (n + parts - 1) / parts
	if slots > whole { // also the running message
		slots = whole
		j.missing, j.places = j.missing+begun, j.places[:whole*parts]
	}
	j.places, j.base = append(j.places[:0], j.places[slots*parts:]...), j.base+slots
	for key := range j.repairs {
		if key.slot < j.base {
			delete(j.repairs, key)
		}
	}
}

// closeDropped closes the files of deleted segments. While Sync runs it may still use them.
func (d *disk) closeDropped() {
	if d.syncing > 0 {
		return
	}
	for _, s := range d.dropped {
		_ = s.file.Close() // the file is deleted already, so an error loses nothing
	}
	d.dropped = nil
}

// Remove closes the journal and deletes its files. It deletes the folder too if that is empty then.
func (j *Journal) Remove() error {
	j.mu.Lock()
	segments := j.segments
	j.mu.Unlock()
	first := j.Close()
	for _, s := range segments {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) && first == nil {
			first = fmt.Errorf("journal: %w", err)
		}
	}
	if entries, err := os.ReadDir(j.dir); err == nil && len(entries) == 0 && first == nil {
		first = os.Remove(j.dir)
	}
	return first
}
