package train

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/regular"
	"gossiptrainer/internal/safetensors"
	"gossiptrainer/internal/vec"
	"gossiptrainer/model"
)

// piece is the number of floats that are converted at a time.
const piece = 1024

// Saved is the content of a model file.
type Saved struct {
	X        []float32         // all parameters
	Layout   []model.Param     // their names and shapes, in the order of X, without gaps
	Metadata map[string]string // free text: run, round, …; may be nil
}

// Write saves a model at path, which holds either its old content or the new one at any time. The new content is on
// disk when Write returns. Without a layout, all parameters are one tensor "parameters".
func Write(path string, s Saved) error {
	file, err := atomicfile.New(path, 0o644)
	if err != nil {
		return fmt.Errorf("train: save model: %w", err)
	}
	defer file.Cleanup()
	if err := Encode(file, s); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	return nil
}

// Encode writes a model in the safetensors format.
func Encode(w io.Writer, s Saved) error {
	h, err := s.header()
	if err != nil {
		return err
	}
	begin, err := h.Append(nil)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(begin)
	buf := make([]byte, 0, 4*piece)
	for x := range slices.Chunk(s.X, piece) {
		out.Write(vec.AppendLE(buf, x))
	}
	return out.Flush() // reports the first error of all writes
}

// header describes the tensors of the layout.
func (s Saved) header() (safetensors.Header, error) {
	h := safetensors.Header{Metadata: s.Metadata}
	layout := s.Layout
	if layout == nil {
		layout = []model.Param{{Name: "parameters", Shape: []int{len(s.X)}}}
	}
	end := 0
	for _, p := range layout {
		if p.Off != end {
			return h, fmt.Errorf("tensor %q begins at %d, the one before ends at %d", p.Name, p.Off, end)
		}
		end += p.Len()
		h.Tensors = append(h.Tensors, safetensors.Tensor{Name: p.Name, Type: "F32", Shape: p.Shape})
	}
	if end != len(s.X) {
		return h, fmt.Errorf("the layout has %d parameters, the model %d", end, len(s.X))
	}
	return h, nil
}

// Read loads a model file. All tensors must be float32 and fill the file
// without gap or overlap.
func Read(path string) (Saved, error) {
	file, err := regular.Open(path)
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

// Decode reads a model in the safetensors format from size bytes of r. It allocates in proportion to size, for any
// header.
func Decode(r io.Reader, size int64) (Saved, error) {
	h, err := safetensors.Read(r, size)
	if err != nil {
		return Saved{}, err
	}
	s := Saved{Metadata: h.Metadata}
	end := 0
	for _, t := range h.Tensors {
		if t.Type != "F32" {
			return Saved{}, fmt.Errorf("header: %q: dtype %q: only F32 is supported", t.Name, t.Type)
		}
		s.Layout = append(s.Layout, model.Param{Name: t.Name, Off: end, Shape: t.Shape})
		end += t.Len()
	}
	s.X = make([]float32, end)
	buf := make([]byte, 4*piece)
	for x := range slices.Chunk(s.X, piece) {
		if _, err := io.ReadFull(r, buf[:4*len(x)]); err != nil {
			return Saved{}, fmt.Errorf("tensors: %w", err)
		}
		vec.ReadLE(x, buf)
	}
	return s, nil
}
