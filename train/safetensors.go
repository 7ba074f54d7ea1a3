package train

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"gossiptrainer/internal/vec"
	"gossiptrainer/model"
)

// A model file is in the safetensors format
// (https://github.com/huggingface/safetensors, "Format"): the length of the
// header as uint64 little-endian, the header, a JSON object from tensor names
// to {dtype, shape, data_offsets}, and the tensors one after another.

const (
	maxHeader   = 100_000_000 // the format's own limit, in bytes
	metadataKey = "__metadata__"
	piece       = 1024 // floats converted at a time
)

// Saved is the content of a model file.
type Saved struct {
	X        []float32         // all parameters
	Layout   []model.Param     // their names and shapes, in the order of X, without gaps
	Metadata map[string]string // free text: run, round, …; may be nil
}

// An entry describes one tensor in the header.
type entry struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"` // bytes, from the end of the header
}

// Write saves a model as path, which holds either its old content or the new
// one whatever happens, and is on disk when Write returns. Without a layout,
// all parameters are one tensor "parameters".
func Write(path string, s Saved) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("train: save model: %w", err)
	}
	defer file.Cleanup()
	if err := Encode(file, s); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	return nil
}

// Encode writes a model in the safetensors format.
func Encode(w io.Writer, s Saved) error {
	header, err := s.header()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
	out.Write(header)
	buf := make([]byte, 0, 4*piece)
	for x := range slices.Chunk(s.X, piece) {
		out.Write(vec.AppendLE(buf, x))
	}
	return out.Flush() // reports the first error of all writes
}

// header returns the JSON, filled with spaces to a multiple of 8 bytes so that
// the tensors are aligned.
func (s Saved) header() ([]byte, error) {
	layout := s.Layout
	if layout == nil {
		layout = []model.Param{{Name: "parameters", Shape: []int{len(s.X)}}}
	}
	entries, end := make(map[string]any, len(layout)+1), 0
	for _, p := range layout {
		if _, taken := entries[p.Name]; taken || p.Name == metadataKey {
			return nil, fmt.Errorf("tensor name %q is used twice or reserved", p.Name)
		}
		if p.Off != end {
			return nil, fmt.Errorf("tensor %q begins at %d, the one before ends at %d", p.Name, p.Off, end)
		}
		shape := make([]uint64, len(p.Shape))
		for i, n := range p.Shape {
			shape[i] = uint64(n)
		}
		end += p.Len()
		entries[p.Name] = entry{"F32", shape, []uint64{4 * uint64(p.Off), 4 * uint64(end)}}
	}
	if end != len(s.X) {
		return nil, fmt.Errorf("the layout has %d parameters, the model %d", end, len(s.X))
	}
	if s.Metadata != nil {
		entries[metadataKey] = s.Metadata
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	return append(header, bytes.Repeat([]byte{' '}, -len(header)&7)...), nil
}

// Read loads a model file. All tensors must be float32 and fill the file
// without gap or overlap.
func Read(path string) (Saved, error) {
	file, err := os.Open(path)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model: %w", err)
	}
	s, err := Decode(bufio.NewReader(file), info.Size())
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model %s: %w", path, err)
	}
	return s, nil
}

// Decode reads a model in the safetensors format from size bytes of r. It
// allocates in proportion to size, whatever the header says.
func Decode(r io.Reader, size int64) (Saved, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return Saved{}, fmt.Errorf("header length: %w", err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader || int64(length) > size-int64(len(prefix)) {
		return Saved{}, fmt.Errorf("header of %d bytes in a file of %d: want at most %d", length, size, maxHeader)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return Saved{}, fmt.Errorf("header: %w", err)
	}
	body := uint64(size) - uint64(len(prefix)) - length
	s, err := parseHeader(header, body)
	if err != nil {
		return Saved{}, fmt.Errorf("header: %w", err)
	}
	s.X = make([]float32, body/4)
	buf := make([]byte, 4*piece)
	for x := range slices.Chunk(s.X, piece) {
		if _, err := io.ReadFull(r, buf[:4*len(x)]); err != nil {
			return Saved{}, fmt.Errorf("tensors: %w", err)
		}
		vec.ReadLE(x, buf)
	}
	return s, nil
}

// parseHeader reads layout and metadata and checks them against the number of
// bytes that follow.
func parseHeader(header []byte, body uint64) (Saved, error) {
	var s Saved
	if len(header) == 0 || header[0] != '{' {
		return s, errors.New("does not begin with '{'")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil {
		return s, err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return s, err
		}
		name, _ := token.(string)
		if seen[name] {
			return s, fmt.Errorf("tensor %q: named twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			err = d.Decode(&s.Metadata)
		} else {
			var p model.Param
			p, err = parseEntry(d, name, body)
			s.Layout = append(s.Layout, p)
		}
		if err != nil {
			return s, fmt.Errorf("%q: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return s, err
	}
	if _, err := d.Token(); err != io.EOF {
		return s, errors.New("something follows the JSON object")
	}
	return s, checkLayout(s.Layout, body)
}

// parseEntry reads one tensor's description: within the body, and as long as
// its shape says.
func parseEntry(d *json.Decoder, name string, body uint64) (model.Param, error) {
	var e entry
	if err := d.Decode(&e); err != nil {
		return model.Param{}, err
	}
	if e.DType != "F32" {
		return model.Param{}, fmt.Errorf("dtype %q: only F32 is supported", e.DType)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > body || e.Offsets[0]%4 != 0 {
		return model.Param{}, fmt.Errorf("data offsets %v: want begin ≤ end ≤ %d, at multiples of 4", e.Offsets, body)
	}
	p := model.Param{Name: name, Off: int(e.Offsets[0] / 4), Shape: make([]int, len(e.Shape))}
	count, limit := uint64(1), body/4
	for i, n := range e.Shape {
		if n > limit || count > 0 && n > limit/count {
			return model.Param{}, fmt.Errorf("shape %v: larger than the file", e.Shape)
		}
		count *= n
		p.Shape[i] = int(n)
	}
	if got := e.Offsets[1] - e.Offsets[0]; got != 4*count {
		return model.Param{}, fmt.Errorf("shape %v takes %d bytes, data offsets give %d", e.Shape, 4*count, got)
	}
	return p, nil
}

// checkLayout brings the tensors into the order of their data and refuses
// gaps and overlaps.
func checkLayout(layout []model.Param, body uint64) error {
	slices.SortStableFunc(layout, func(a, b model.Param) int {
		if a.Off != b.Off {
			return a.Off - b.Off
		}
		return a.Len() - b.Len() // an empty tensor comes before its successor
	})
	end := 0
	for _, p := range layout {
		if p.Off != end {
			return fmt.Errorf("tensor %q begins at element %d, the one before ends at %d: gap or overlap", p.Name, p.Off, end)
		}
		end += p.Len()
	}
	if 4*uint64(end) != body {
		return fmt.Errorf("tensors take %d bytes, the file has %d", 4*uint64(end), body)
	}
	return nil
}
