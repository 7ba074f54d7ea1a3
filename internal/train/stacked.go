package train

import (
	"bufio"
	"fmt"
	"iter"
	"slices"

	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/safetensors"
	"gossiptrainer/internal/vec"
)

// Replicas of many workers are in one file, stacked: its tensors have one more dimension, the worker. A file for each
// of them would cost more than their training. The name of the file, a colon and a number name one replica.

// WriteReplicas writes n replicas of one layout, as Write does. Metadata is that of the file.
func WriteReplicas(path string, n int, metadata map[string]string, replica func(i int) Saved) error {
	file, err := safefile.New(path, 0o644)
	if err != nil {
		return fmt.Errorf("train: save replicas: %w", err)
	}
	defer file.Cleanup()
	h := safetensors.Header{Metadata: metadata}
	layout := replica(0).Layout
	for _, p := range layout {
		shape := append([]int{n}, p.Shape...)
		h.Tensors = append(h.Tensors, safetensors.Tensor{Name: p.Name, Type: "F32", Shape: shape})
	}
	begin, err := h.Append(nil)
	if err != nil {
		return fmt.Errorf("train: save replicas %s: %w", path, err)
	}
	out := bufio.NewWriterSize(file, 1<<16)
	out.Write(begin)
	for _, p := range layout {
		for i := range n {
			writePart(out, replica(i).parts(), p.Off, p.Off+p.Len())
		}
	}
	if err = out.Flush(); err == nil { // reports the first error of all writes
		err = file.Commit()
	}
	if err != nil {
		return fmt.Errorf("train: save replicas %s: %w", path, err)
	}
	return nil
}

// parts returns the parameters in parts.
func (s Saved) parts() iter.Seq[[]float32] {
	if s.Parts != nil {
		return s.Parts
	}
	return slices.Values([][]float32{s.X})
}

// writePart writes the coordinates from first up to end of a vector in parts.
func writePart(out *bufio.Writer, parts iter.Seq[[]float32], first, end int) {
	at := 0
	for part := range parts {
		from, to := max(first-at, 0), min(end-at, len(part))
		if at += len(part); from < to {
			out.Write(vec.LE(part[from:to]))
		}
	}
}
