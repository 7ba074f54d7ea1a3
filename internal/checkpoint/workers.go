package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/safetensors"
)

// The checkpoint of a simulation has the states of all its workers in one file of records, which is written and read
// one worker at a time. Names of tensors take more room than a small model. So a record has the number of its form: the
// names and types of its tensors, which most workers share. A number of 0 in place of a worker begins another form.

const workersFile = "workers.bin"

// Bounds of what a reader believes before it has seen the data.
const (
	mostWorkers = 1 << 24
	mostTensors = 1 << 20
	longestName = 1 << 12
	longestType = 8
)

// A form has the names and types of the tensors of a record.
type form []state.Tensor

// like reports whether a state has the form.
func (f form) like(s *state.Snapshot) bool {
	return slices.EqualFunc(f, s.Tensors, func(a, b state.Tensor) bool { return a.Name == b.Name && a.Type == b.Type })
}

// recent is the number of forms among which a writer looks for that of a record.
const recent = 16

// An archive writes records.
type archive struct {
	to    *bufio.Writer
	bytes int64
	forms []form
	err   error // of the first record that failed
}

// put writes a record of a worker.
func (a *archive) put(rank int, s *state.Snapshot) {
	if a.err != nil {
		return
	}
	number := max(0, len(a.forms)-recent)
	for number < len(a.forms) && !a.forms[number].like(s) {
		number++
	}
	if number == len(a.forms) {
		a.define(s)
	}
	a.number(rank + 1)
	a.number(number)
	for i := range s.Tensors {
		t := &s.Tensors[i]
		if size := safetensors.Size(t.Type); size == 0 || len(t.Data)%size != 0 || t.Stored != nil {
			a.err = fmt.Errorf("internal error: checkpoint: worker %d: tensor %s: %d bytes of type %q", rank, t.Name,
				len(t.Data), t.Type)
			return
		}
		a.number(len(t.Data))
		a.write(t.Data)
	}
}

// define writes the form of a state.
func (a *archive) define(s *state.Snapshot) {
	a.number(0)
	a.number(len(s.Tensors))
	own := make(form, len(s.Tensors))
	for i := range s.Tensors {
		own[i] = state.Tensor{Name: s.Tensors[i].Name, Type: s.Tensors[i].Type}
		for _, text := range []string{own[i].Name, own[i].Type} {
			a.number(len(text))
			a.write([]byte(text))
		}
	}
	a.forms = append(a.forms, own)
}

func (a *archive) number(n int) {
	var buffer [binary.MaxVarintLen64]byte
	a.write(binary.AppendUvarint(buffer[:0], uint64(n)))
}

func (a *archive) write(data []byte) {
	n, err := a.to.Write(data)
	a.bytes += int64(n)
	if a.err == nil {
		a.err = err
	}
}

// Workers are the states of the workers of a simulation in a file. They are read one at a time.
type Workers struct {
	file    io.ReaderAt
	bytes   int64
	forms   []form
	records []place // in the order of the file
	first   []int32 // by rank: its first record; −1: none
	windows [2]window
}

// A place is that of a record.
type place struct {
	begin int64
	next  int32 // record of the same worker, −1: none
}

// Len returns the number of workers.
func (w *Workers) Len() int { return len(w.first) }

// Worker reads the state of a worker: the tensors of all its records. Only one goroutine may call it.
func (w *Workers) Worker(rank int) (*state.Snapshot, error) {
	s := new(state.Snapshot)
	turn := 0
	for i := w.first[rank]; i >= 0; i = w.records[i].next {
		end := w.bytes
		if int(i)+1 < len(w.records) {
			end = w.records[i+1].begin
		}
		data, err := w.windows[turn%len(w.windows)].read(w.file, w.records[i].begin, end)
		if err == nil {
			err = w.record(data, s)
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint: worker %d: %w", rank, err)
		}
		turn++
	}
	return s, nil
}

// record appends the tensors of a record to s, which takes over its memory.
func (w *Workers) record(data []byte, s *state.Snapshot) error {
	in := &scanner{data: data, left: int64(len(data))}
	_, own, err := in.head(w.forms)
	for i := 0; err == nil && i < len(own); i++ {
		var n int
		if n, err = in.number(int(in.left)); err == nil {
			t := own[i]
			t.Data, err = in.take(n)
			s.Tensors = append(s.Tensors, t)
		}
	}
	return err
}

// A window is a part of a file in memory. Records of workers in turn follow each other, so one read has many.
type window struct {
	begin int64
	data  []byte
}

const windowBytes = 1 << 20

// read returns a copy of a part of the file.
func (w *window) read(file io.ReaderAt, begin, end int64) ([]byte, error) {
	own := make([]byte, end-begin)
	if len(own) > windowBytes {
		_, err := file.ReadAt(own, begin)
		return own, err
	}
	if begin < w.begin || end > w.begin+int64(len(w.data)) {
		w.data = slices.Grow(w.data[:0], windowBytes)[:windowBytes]
		n, err := file.ReadAt(w.data, begin)
		if w.begin, w.data = begin, w.data[:n]; n < len(own) {
			return nil, err
		}
	}
	copy(own, w.data[begin-w.begin:])
	return own, nil
}

// scan reads the places of all records from r, which has all bytes of the file.
func scan(r io.Reader, bytes int64, file io.ReaderAt) (*Workers, error) {
	w := &Workers{file: file, bytes: bytes}
	in := &scanner{from: bufio.NewReaderSize(r, 1<<16), left: bytes}
	var last []int32 // by rank
	for in.left > 0 {
		begin := bytes - in.left
		rank, own, err := in.head(w.forms)
		switch {
		case err != nil:
			return nil, fmt.Errorf("record %d: %w", len(w.records), err)
		case rank < 0:
			w.forms = append(w.forms, own)
			continue
		}
		for len(w.first) <= rank {
			w.first, last = append(w.first, -1), append(last, -1)
		}
		number := int32(len(w.records))
		if w.first[rank] < 0 {
			w.first[rank] = number
		} else {
			w.records[last[rank]].next = number
		}
		last[rank] = number
		w.records = append(w.records, place{begin, -1})
		for _, t := range own {
			n, err := in.number(int(in.left))
			if err == nil && n%safetensors.Size(t.Type) != 0 {
				err = fmt.Errorf("%d bytes of type %s", n, t.Type)
			}
			if err == nil {
				err = in.skip(n)
			}
			if err != nil {
				return nil, fmt.Errorf("worker %d: tensor %s: %w", rank, t.Name, err)
			}
		}
	}
	if rank := slices.Index(w.first, -1); rank >= 0 {
		return nil, fmt.Errorf("worker %d of %d has no state", rank, len(w.first))
	}
	return w, nil
}

// A scanner reads the parts of records, from memory or from a reader.
type scanner struct {
	data []byte
	from *bufio.Reader // nil: data
	left int64         // bytes
}

// head reads the worker of a record and its form. The worker is −1 where another form follows in place of a record.
func (s *scanner) head(forms []form) (rank int, own form, err error) {
	if rank, err = s.number(mostWorkers); err != nil {
		return 0, nil, err
	}
	if rank--; rank < 0 {
		own, err = s.form()
		return rank, own, err
	}
	number, err := s.number(len(forms) - 1)
	if err != nil {
		return 0, nil, err
	}
	return rank, forms[number], nil
}

// ReadByte reads the next byte.
func (s *scanner) ReadByte() (byte, error) {
	data, err := s.take(1)
	if err != nil {
		return 0, err
	}
	return data[0], nil
}

// number reads a number from 0 to most.
func (s *scanner) number(most int) (int, error) {
	n, err := binary.ReadUvarint(s)
	if err == nil && (most < 0 || n > uint64(most)) {
		err = fmt.Errorf("%d: want at most %d", n, most)
	}
	return int(n), err
}

var errShort = errors.New("ends too early")

// take reads n bytes.
func (s *scanner) take(n int) ([]byte, error) {
	if int64(n) > s.left {
		return nil, errShort
	}
	s.left -= int64(n)
	if s.from == nil {
		data := s.data[:n:n]
		s.data = s.data[n:]
		return data, nil
	}
	data := make([]byte, n)
	_, err := io.ReadFull(s.from, data)
	return data, err
}

// skip passes over n bytes.
func (s *scanner) skip(n int) error {
	s.left -= int64(n)
	_, err := s.from.Discard(n)
	return err
}

// form reads the names and types of tensors.
func (s *scanner) form() (form, error) {
	n, err := s.number(int(min(s.left, mostTensors)))
	if err != nil {
		return nil, err
	}
	var own form
	for range n {
		var t state.Tensor
		if t.Name, err = s.text(longestName); err == nil {
			t.Type, err = s.text(longestType)
		}
		if err == nil && safetensors.Size(t.Type) == 0 {
			err = fmt.Errorf("type %q: not supported", t.Type)
		}
		if err != nil {
			return nil, err
		}
		own = append(own, t)
	}
	return own, nil
}

func (s *scanner) text(longest int) (string, error) {
	n, err := s.number(longest)
	if err != nil {
		return "", err
	}
	text, err := s.take(n)
	return string(text), err
}
