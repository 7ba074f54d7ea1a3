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
	order := make([]*state.Tensor, len(s.Tensors))
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
			return fmt.Errorf("internal error: checkpoint: tensor %s: %d bytes of type %q", t.Name, len(t.Data), t.Type)
		}
		h.Tensors = append(h.Tensors, safetensors.Tensor{Name: t.Name, Type: t.Type, Shape: []int{len(t.Data) / size}})
	}
	begin, err := h.Append(nil)
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

// Decode reads a state of size bytes from r. It allocates in proportion to size, even if
// the header in r claims more.
func Decode(r io.Reader, size int64) (*state.Snapshot, error) {
	h, err := safetensors.Read(r, size)
	if err != nil {
		return nil, err
	}
	s := &state.Snapshot{Tensors: make([]state.Tensor, len(h.Tensors))}
	for i, t := range h.Tensors {
		s.Tensors[i] = state.Tensor{Name: t.Name, Type: t.Type, Data: make([]byte, t.Bytes())}
		if _, err := io.ReadFull(r, s.Tensors[i].Data); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
		}
	}
	return s, nil
}
