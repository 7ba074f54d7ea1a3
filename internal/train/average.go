package train

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/safetensors"
	"gossiptrainer/model"
)

// An Averaging is a mean of model files that is to be written.
type Averaging struct {
	Files []string // paths, at least one
	// Metadata goes into the file, beside the entries that are the same in all files; nil: those alone.
	Metadata map[string]string
	Watch    func(done, all int64) // unless nil, hears how many bytes of the files have been read
}

// An Averaged describes a mean of model files.
type Averaged struct {
	Tensors  int
	Elements int
	// Kept names the tensors without floats in which the files differ. They are those of the first file.
	Kept []string
}

// Write writes the mean at path, which holds either its old content or the new one at any time. All files must have the
// same tensors: names, shapes and types; the error of other files is a *LayoutError. A file that is no model is a
// *StateError. Sums are float64, in the order of
// the files, and memory does not grow with the models. Tensors of whole numbers are those of the first file.
func (a Averaging) Write(path string) (Averaged, error) {
	if len(a.Files) == 0 {
		return Averaged{}, fmt.Errorf("train: average: no files")
	}
	all, err := a.sources()
	if err != nil {
		return Averaged{}, fmt.Errorf("train: average: %w", err)
	}
	out, err := safefile.New(path, 0o644)
	if err != nil {
		return Averaged{}, fmt.Errorf("train: average: %w", err)
	}
	defer out.Cleanup()
	done, err := a.write(out, all)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return Averaged{}, fmt.Errorf("train: average: %s: %w", path, err)
	}
	return done, nil
}

// ReplicasFile ends the path of a file of stacked replicas, see WriteReplicas.
const ReplicasFile = "replicas.safetensors"

// A source is one of the files that are averaged.
type source struct {
	path   string
	header safetensors.Header
	at     map[string]int64 // by tensor: where its elements begin
}

// sources reads the headers of all files and compares them.
func (a Averaging) sources() ([]source, error) {
	all := make([]source, len(a.Files))
	for i, path := range a.Files {
		var err error
		if all[i], err = newSource(path); err != nil {
			return nil, err
		}
		if err := all[i].like(all[0]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func newSource(path string) (source, error) {
	name, row, stacked := rowOf(path)
	s := source{path: name, at: map[string]int64{}}
	file, h, err := open(name)
	if err != nil {
		return s, err
	}
	defer file.Close()
	s.header = h
	if err := stateOf(h); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if !slices.ContainsFunc(h.Tensors, func(t safetensors.Tensor) bool { return safetensors.Floats(t.Type) }) {
		return s, fmt.Errorf("%s: %w", path, &StateError{"no tensor of floats"})
	}
	at, err := file.Seek(0, io.SeekCurrent)
	for _, t := range h.Tensors {
		s.at[t.Name] = at
		at += int64(t.Bytes())
	}
	if err == nil && stacked {
		if err = s.cut(row); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, err
}

// rowOf splits the name of a replica in a file of stacked ones.
func rowOf(path string) (file string, row int, ok bool) {
	at := strings.LastIndexByte(path, ':')
	if at < 0 || !strings.HasSuffix(path[:at], ReplicasFile) {
		return path, 0, false
	}
	row, err := strconv.Atoi(path[at+1:])
	return path[:at], row, err == nil && row >= 0
}

// cut makes s the source of one replica of a file of stacked ones.
func (s *source) cut(row int) error {
	tensors := slices.Clone(s.header.Tensors)
	for i, t := range tensors {
		if len(t.Shape) == 0 || row >= t.Shape[0] {
			return fmt.Errorf("no replica %d: the shape of tensor %s is %v: name one by a colon and its number, from 0 to "+
				"one below the first of the shape", row, t.Name, t.Shape)
		}
		tensors[i].Shape = t.Shape[1:]
		s.at[t.Name] += int64(row * tensors[i].Bytes())
	}
	s.header.Tensors = tensors
	return nil
}

// like checks that s has the tensors of the first source.
func (s source) like(first source) error {
	got := Saved{Layout: s.layout()}
	if err := got.Match(first.layout(), s.path, first.path); err != nil {
		return err
	}
	for _, t := range first.header.Tensors {
		i := slices.IndexFunc(s.header.Tensors, func(o safetensors.Tensor) bool { return o.Name == t.Name })
		if have := s.header.Tensors[i]; have.Type != t.Type {
			return fmt.Errorf("%s: tensor %s has the dtype %s, but %s in %s", s.path, t.Name, have.Type, t.Type, first.path)
		}
	}
	return nil
}

// layout returns names and shapes of all tensors.
func (s source) layout() []model.Param {
	layout := make([]model.Param, len(s.header.Tensors))
	for i, t := range s.header.Tensors {
		layout[i] = model.Param{Name: t.Name, Shape: t.Shape}
	}
	return layout
}

// share is how many elements are averaged at a time. Files are opened for each share, so that any number of them can be
// averaged.
const share = 1 << 20

// write writes the header and the mean of every tensor.
func (a Averaging) write(w io.Writer, all []source) (Averaged, error) {
	h := safetensors.Header{Tensors: all[0].header.Tensors, Metadata: a.metadata(all)}
	begin, err := h.Append(nil)
	if err != nil {
		return Averaged{}, err
	}
	out := bufio.NewWriter(w)
	out.Write(begin) // Flush reports its error
	done, bytes, read := Averaged{Tensors: len(h.Tensors)}, int64(0), int64(0)
	for _, t := range h.Tensors {
		bytes += int64(t.Bytes()) * int64(len(all))
	}
	watch := func(n int) {
		if read += int64(n); a.Watch != nil {
			a.Watch(read, bytes)
		}
	}
	for _, t := range h.Tensors {
		done.Elements += t.Len()
		if safetensors.Floats(t.Type) {
			err = writeMean(out, all, t, watch)
		} else if err = done.keep(out, all, t); err == nil {
			watch(t.Bytes() * len(all))
		}
		if err != nil {
			return Averaged{}, err
		}
	}
	return done, out.Flush()
}

// metadata returns the entries that are the same in all files, and those given.
func (a Averaging) metadata(all []source) map[string]string {
	same := maps.Clone(all[0].header.Metadata)
	for _, s := range all[1:] {
		maps.DeleteFunc(same, func(key, value string) bool { return s.header.Metadata[key] != value })
	}
	if same == nil {
		same = map[string]string{}
	}
	same["averaged"] = strconv.Itoa(len(all))
	maps.Copy(same, a.Metadata)
	return same
}

// writeMean writes the mean of a tensor of floats. It calls read with the bytes that it has read.
func writeMean(w io.Writer, all []source, t safetensors.Tensor, read func(n int)) error {
	size := safetensors.Size(t.Type)
	most := min(share, t.Len())
	sum, numbers, raw := make([]float64, most), make([]float64, most), make([]byte, size*most)
	for first := 0; first < t.Len(); first += share {
		n := min(share, t.Len()-first)
		clear(sum)
		for _, s := range all {
			if err := s.read(raw[:size*n], t.Name, int64(size*first)); err != nil {
				return err
			}
			safetensors.Decode(numbers[:n], raw, t.Type)
			for i, v := range numbers[:n] {
				if math.IsNaN(v) {
					return fmt.Errorf("%s: tensor %s: element %d is not a number", s.path, t.Name, first+i)
				}
				sum[i] += v
			}
			read(size * n)
		}
		for i := range sum[:n] {
			sum[i] /= float64(len(all))
		}
		if _, err := w.Write(safetensors.Append(raw[:0], sum[:n], t.Type)); err != nil {
			return err
		}
	}
	return nil
}

// keep writes a tensor without floats as the first file has it.
func (d *Averaged) keep(w io.Writer, all []source, t safetensors.Tensor) error {
	size := safetensors.Size(t.Type)
	differs := false
	for first := 0; first < t.Len(); first += share {
		n := size * min(share, t.Len()-first)
		raw, other := make([]byte, n), make([]byte, n)
		if err := all[0].read(raw, t.Name, int64(size*first)); err != nil {
			return err
		}
		for _, s := range all[1:] {
			if err := s.read(other, t.Name, int64(size*first)); err != nil {
				return err
			}
			differs = differs || !bytes.Equal(raw, other)
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	if differs {
		d.Kept = append(d.Kept, t.Name)
	}
	return nil
}

// read fills raw with the bytes of a tensor from an offset on.
func (s source) read(raw []byte, name string, offset int64) error {
	file, err := safefile.Open(s.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.ReadAt(raw, s.at[name]+offset); err != nil {
		return fmt.Errorf("%s: tensor %s: %w", s.path, name, err)
	}
	return nil
}
