package checkpoint

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/safetensors"
)

// Encode writes a state in the safetensors format with flat tensors. Tensors of wider
// numbers come first, so that all numbers are aligned.
func Encode(w io.Writer, s *state.Snapshot) error {
	begin, order, err := outline(s)
	if err != nil {
		return err
	}
	if _, err := w.Write(begin); err != nil {
		return err
	}
	for _, t := range order {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// Len returns how many bytes Encode writes.
func Len(s *state.Snapshot) (int64, error) {
	begin, _, err := outline(s)
	return int64(len(begin)) + s.Bytes(), err
}

// outline returns the header of a state, and its tensors in their order.
func outline(s *state.Snapshot) (begin []byte, order []*state.Tensor, err error) {
	order = make([]*state.Tensor, len(s.Tensors))
	for i := range order {
		order[i] = &s.Tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *state.Tensor) int {
		return cmp.Compare(safetensors.Size(b.Type), safetensors.Size(a.Type))
	})
	var h safetensors.Header
	for _, t := range order {
		size := safetensors.Size(t.Type)
		if size == 0 || len(t.Data)%size != 0 {
			return nil, nil, fmt.Errorf("internal error: checkpoint: tensor %s: %d bytes of type %q", t.Name, len(t.Data),
				t.Type)
		}
		h.Tensors = append(h.Tensors, safetensors.Tensor{Name: t.Name, Type: t.Type, Shape: []int{len(t.Data) / size}})
	}
	begin, err = h.Append(nil)
	return begin, order, err
}

// Decode reads a state of size bytes from r. It allocates in proportion to size, even if
// the header in r claims more.
func Decode(r io.Reader, size int64) (*state.Snapshot, error) { return decode(r, size, nil) }

// longest is the largest vector, in bytes, that decode copies to memory if it could stay on disk.
const longest = 1 << 20

// decode is Decode. If stored is not nil, it has what r reads, and long vectors of floats stay there.
func decode(r io.Reader, size int64, stored io.ReaderAt) (*state.Snapshot, error) {
	h, err := safetensors.Read(r, size)
	if err != nil {
		return nil, err
	}
	at := size
	for _, t := range h.Tensors {
		at -= int64(t.Bytes())
	}
	s := &state.Snapshot{Tensors: make([]state.Tensor, len(h.Tensors))}
	for i, t := range h.Tensors {
		n := int64(t.Bytes())
		s.Tensors[i] = state.Tensor{Name: t.Name, Type: t.Type}
		if stored != nil && t.Type == "F32" && n > longest {
			s.Tensors[i].Stored = io.NewSectionReader(stored, at, n)
			_, err = io.CopyN(io.Discard, r, n)
		} else {
			s.Tensors[i].Data = make([]byte, n)
			_, err = io.ReadFull(r, s.Tensors[i].Data)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		at += n
	}
	return s, nil
}
