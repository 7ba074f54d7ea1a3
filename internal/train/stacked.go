package train

import (
	"bufio"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/safetensors"
	"gossiptrainer/internal/vec"
)

// Replicas of many workers are in one file, stacked: its tensors have one more dimension, the worker. A file for each
// of them would cost more than their training. The name of the file, a colon and a number name one replica.

// ReplicasFile ends the path of a file of stacked replicas.
const ReplicasFile = "replicas.safetensors"

// WriteReplicas writes n replicas of one layout, as Write does. Metadata is that of the file.
func WriteReplicas(path string, n int, metadata map[string]string, replica func(i int) Saved) error {
	file, err := atomicfile.New(path, 0o644)
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

// readRow is Read of a replica in a file of stacked ones; without numbers, X is nil.
func readRow(path string, numbers bool) (Saved, error) {
	r, err := OpenReplica(path)
	if err != nil {
		return Saved{}, err
	}
	s := Saved{Layout: r.Layout(), Metadata: r.header.Metadata}
	if numbers {
		s.X = make([]float32, r.Len())
		err = r.Read(s.X, 0)
	}
	return s, err
}
