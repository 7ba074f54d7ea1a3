// Package safetensors reads and writes the headers of files in the safetensors format
// (https://github.com/huggingface/safetensors, "Format"). A file has the length of the header
// as uint64 little-endian, the header, and the tensors one after another. The header is a JSON
// object from tensor names to {dtype, shape, data_offsets}.
//
// The package leaves reading and writing the tensors to its callers.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	maxHeader   = 100_000_000 // the format's own limit, in bytes
	metadataKey = "__metadata__"
	prefixBytes = 8
)

// A Header describes a file.
type Header struct {
	Tensors  []Tensor          // in the order of their data, without gaps
	Metadata map[string]string // free text; may be nil
}

// A Tensor is described by its name, the type of its elements and its shape.
type Tensor struct {
	Name  string
	Type  string // see Size
	Shape []int
}

// An entry describes one tensor in the header.
type entry struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"` // bytes, from the end of the header
}

// Size returns the bytes of an element of a type, 0 of an unknown type. Only types of floats have numbers, see Floats.
func Size(dtype string) int {
	switch dtype {
	case "F64", "I64", "U64":
		return 8
	case "F32", "I32", "U32":
		return 4
	case "F16", "BF16", "I16", "U16":
		return 2
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2":
		return 1
	}
	return 0
}

// Len returns the number of elements, the product of Shape.
func (t Tensor) Len() int {
	n := 1
	for _, size := range t.Shape {
		n *= size
	}
	return n
}

// Bytes returns how many bytes the elements take.
func (t Tensor) Bytes() int { return Size(t.Type) * t.Len() }

// Bytes returns how many bytes follow the header.
func (h Header) Bytes() int {
	total := 0
	for _, t := range h.Tensors {
		total += t.Bytes()
	}
	return total
}

// Append appends the length of the header and the header, filled with spaces to
// a multiple of 8 bytes so that the tensors are aligned. It fails on a name that is
// used twice or reserved, and on a type that it does not know.
func (h Header) Append(dst []byte) ([]byte, error) {
	entries, end := make(map[string]any, len(h.Tensors)+1), 0
	for _, t := range h.Tensors {
		if _, taken := entries[t.Name]; taken || t.Name == metadataKey {
			return dst, fmt.Errorf("tensor name %q is used twice or reserved", t.Name)
		}
		if Size(t.Type) == 0 {
			return dst, fmt.Errorf("tensor %q: dtype %q: not supported", t.Name, t.Type)
		}
		shape := make([]uint64, len(t.Shape))
		for i, n := range t.Shape {
			shape[i] = uint64(n)
		}
		begin := end
		end += t.Bytes()
		entries[t.Name] = entry{t.Type, shape, []uint64{uint64(begin), uint64(end)}}
	}
	if h.Metadata != nil {
		entries[metadataKey] = h.Metadata
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return dst, err
	}
	text = append(text, bytes.Repeat([]byte{' '}, -len(text)&7)...)
	return append(binary.LittleEndian.AppendUint64(dst, uint64(len(text))), text...), nil
}

// Read reads the header of a file of size bytes from r. The tensors fill the rest
// of the file without gap or overlap. It allocates in proportion to size,
// whatever the header says.
func Read(r io.Reader, size int64) (Header, error) {
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return Header{}, fmt.Errorf("header length: %w", err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader || int64(length) > size-prefixBytes {
		return Header{}, fmt.Errorf("header of %d bytes in a file of %d: want at most %d", length, size, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, fmt.Errorf("header: %w", err)
	}
	h, err := parse(text, uint64(size)-prefixBytes-length)
	if err != nil {
		return Header{}, fmt.Errorf("header: %w", err)
	}
	return h, nil
}

// A placed tensor has the offset of its data.
type placed struct {
	Tensor
	begin int
}

// parse reads the header and checks it against the number of bytes that follow.
func parse(text []byte, body uint64) (Header, error) {
	var h Header
	if len(text) == 0 || text[0] != '{' {
		return h, errors.New("does not begin with '{'")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil {
		return h, err
	}
	var all []placed
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return h, err
		}
		name, _ := token.(string)
		if seen[name] {
			return h, fmt.Errorf("tensor %q: named twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			err = d.Decode(&h.Metadata)
		} else {
			var t placed
			t, err = parseEntry(d, name, body)
			all = append(all, t)
		}
		if err != nil {
			return h, fmt.Errorf("%q: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return h, err
	}
	if _, err := d.Token(); err != io.EOF {
		return h, errors.New("something follows the JSON object")
	}
	var err error
	h.Tensors, err = inOrder(all, body)
	return h, err
}

// parseEntry reads one tensor's description: within the body, and as long as
// its shape says.
func parseEntry(d *json.Decoder, name string, body uint64) (placed, error) {
	var e entry
	if err := d.Decode(&e); err != nil {
		return placed{}, err
	}
	element := uint64(Size(e.DType))
	if element == 0 {
		return placed{}, fmt.Errorf("dtype %q: not supported", e.DType)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > min(body, math.MaxInt) ||
		e.Offsets[0]%element != 0 {
		return placed{}, fmt.Errorf("data offsets %v: want begin ≤ end ≤ %d, at multiples of %d", e.Offsets, body, element)
	}
	t := placed{Tensor{Name: name, Type: e.DType, Shape: make([]int, len(e.Shape))}, int(e.Offsets[0])}
	count, limit := uint64(1), body/element
	for i, n := range e.Shape {
		if n > limit || count > 0 && n > limit/count {
			return placed{}, fmt.Errorf("shape %v: larger than the file", e.Shape)
		}
		count *= n
		t.Shape[i] = int(n)
	}
	if got := e.Offsets[1] - e.Offsets[0]; got != element*count {
		return placed{}, fmt.Errorf("shape %v takes %d bytes, data offsets give %d", e.Shape, element*count, got)
	}
	return t, nil
}

// inOrder brings the tensors into the order of their data and refuses gaps and
// overlaps.
func inOrder(all []placed, body uint64) ([]Tensor, error) {
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(a.begin-b.begin, a.Bytes()-b.Bytes()) // an empty tensor comes before its successor
	})
	var tensors []Tensor
	end := 0
	for _, t := range all {
		if t.begin != end {
			return nil, fmt.Errorf("tensor %q begins at byte %d, the one before ends at %d: gap or overlap", t.Name, t.begin,
				end)
		}
		end += t.Bytes()
		tensors = append(tensors, t.Tensor)
	}
	if uint64(end) != body {
		return nil, fmt.Errorf("tensors take %d bytes, the file has %d", end, body)
	}
	return tensors, nil
}
