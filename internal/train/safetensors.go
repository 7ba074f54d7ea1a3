package train

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/safetensors"
	"gossiptrainer/internal/vec"
	"gossiptrainer/model"
)

// piece is the number of floats that are converted at a time.
const piece = 1024

// Saved is the content of a model file.
type Saved struct {
	X        []float32           // all parameters
	Parts    iter.Seq[[]float32] // X in parts, to be written without a copy of the whole; nil: X is there
	Layout   []model.Param       // their names and shapes, in the order of X, without gaps
	Metadata map[string]string   // free text: run, round, …; may be nil
	Flat     bool                // X is that of a checkpoint, in the order of memory, and Layout has one tensor
}

// Write saves a model at path, which holds either its old content or the new one at any time. The new content is on
// disk when Write returns. Without a layout, all parameters are one tensor "parameters".
func Write(path string, s Saved) error {
	file, err := safefile.New(path, 0o644)
	if err != nil {
		return fmt.Errorf("train: save model: %w", err)
	}
	defer file.Cleanup()
	if err := encode(file, s); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("train: save model %s: %w", path, err)
	}
	return nil
}

// encode writes a model in the safetensors format.
func encode(w io.Writer, s Saved) error {
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
	parts, written := s.Parts, 0
	if parts == nil {
		parts = slices.Values([][]float32{s.X})
	}
	for part := range parts {
		for x := range slices.Chunk(part, piece) {
			out.Write(vec.AppendLE(buf, x))
		}
		written += len(part)
	}
	if all := lenOf(s.Layout, len(s.X)); written != all {
		return fmt.Errorf("the layout has %d parameters, the model %d", all, written)
	}
	return out.Flush() // reports the first error of all writes
}

// lenOf returns the number of parameters of a layout, of a plain vector without one.
func lenOf(layout []model.Param, plain int) int {
	if layout == nil {
		return plain
	}
	sum := 0
	for _, p := range layout {
		sum += p.Len()
	}
	return sum
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
	if s.Parts == nil && end != len(s.X) {
		return h, fmt.Errorf("the layout has %d parameters, the model %d", end, len(s.X))
	}
	return h, nil
}

// Read loads a model file. Its tensors must be floats and fill the file without gap or overlap. Those of 16 and 64 bits
// are converted to float32. Counters of batches, which PyTorch keeps beside batch normalizations, are left out. Of a
// worker's state in a checkpoint it takes only the parameters; that of a simulation or a script is a *StateError.
func Read(path string) (Saved, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model: %w", err)
	}
	defer file.Close()
	s, _, err := decodeFile(file)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model %s: %w", path, err)
	}
	return s, nil
}

// ReadKnown is Read of a file with a known SHA-256, in hex. It fails if the file has changed.
func ReadKnown(path, sum string) (Saved, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model: %w", err)
	}
	defer file.Close()
	s, got, err := decodeFile(file)
	if err == nil && got != sum {
		err = errors.New("the file has changed since it was first read")
	}
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model %s: %w", path, err)
	}
	return s, nil
}

// decodeFile decodes a file and computes its SHA-256.
func decodeFile(file *os.File) (s Saved, sum string, err error) {
	info, err := file.Stat()
	if err != nil {
		return Saved{}, "", err
	}
	hash := sha256.New()
	if s, err = decode(bufio.NewReader(io.TeeReader(file, hash)), info.Size()); err != nil {
		err = mistaken(file, err)
	}
	return s, hex.EncodeToString(hash.Sum(nil)), err
}

// ReadLayout is Read without the numbers: X is nil.
func ReadLayout(path string) (Saved, error) {
	file, h, err := open(path)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model: %w", err)
	}
	defer file.Close()
	s, _, err := choose(h)
	if err != nil {
		return Saved{}, fmt.Errorf("train: load model %s: %w", path, err)
	}
	return s, nil
}

// open opens a model file behind its header.
func open(path string) (*os.File, safetensors.Header, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, safetensors.Header{}, err
	}
	info, err := file.Stat()
	if err == nil {
		var h safetensors.Header
		if h, err = safetensors.Read(file, info.Size()); err == nil {
			return file, h, nil
		}
		err = fmt.Errorf("%s: %w", path, mistaken(file, err))
	}
	return nil, safetensors.Header{}, errors.Join(err, file.Close())
}

// mistaken names the format of a file that has no header of a model, or returns err.
func mistaken(file io.ReaderAt, err error) error {
	head := make([]byte, 1<<12)
	n, _ := file.ReadAt(head, 0) // of a short file, what there is
	head = head[:n]
	what := data.Mistaken(head)
	switch {
	case what != "":
	case data.IsTorchArchive(head), data.IsPickle(head):
		what = "a file of torch.save, which could run code when read: write the tensors with " +
			"safetensors.torch.save_file(model.state_dict(), path)"
	case bytes.HasPrefix(head, []byte("\x89HDF")):
		what = "an HDF5 file, such as Keras writes: write the tensors with safetensors"
	case bytes.HasPrefix(head, []byte("GGUF")):
		what = "a GGUF file: take the model in the safetensors format"
	case bytes.HasPrefix(head, []byte("PK")):
		what = "a zip file: unpack it, or write the tensors with safetensors"
	case len(head) > 4 && head[4] != 0 && bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		what = "JSON: name the .safetensors file"
	default:
		return err
	}
	return errors.New("it is " + what)
}

// counter ends the name of a counter that PyTorch keeps beside a batch normalization.
const counter = ".num_batches_tracked"

// counts reports whether a tensor is such a counter.
func counts(t safetensors.Tensor) bool { return strings.HasSuffix(t.Name, counter) && t.Len() == 1 }

// layoutOf returns the layout of the tensors that Decode keeps of a model file.
func layoutOf(h safetensors.Header) ([]model.Param, error) {
	var layout []model.Param
	end := 0
	for _, t := range h.Tensors {
		switch {
		case counts(t):
			continue
		case !safetensors.Floats(t.Type):
			return nil, fmt.Errorf("header: %q: dtype %q: only F32, F16, BF16 and F64 are supported", t.Name, t.Type)
		}
		layout = append(layout, model.Param{Name: t.Name, Off: end, Shape: t.Shape})
		end += t.Len()
	}
	return layout, nil
}

// decode reads a model in the safetensors format from size bytes of r. It allocates in proportion to size, for any
// header.
func decode(r io.Reader, size int64) (Saved, error) {
	h, err := safetensors.Read(r, size)
	if err != nil {
		return Saved{}, err
	}
	s, keeps, err := choose(h)
	if err != nil {
		return Saved{}, err
	}
	if len(s.Layout) > 0 {
		last := s.Layout[len(s.Layout)-1]
		s.X = make([]float32, last.Off+last.Len())
	}
	rest := s.X
	for _, t := range h.Tensors {
		if keeps(t) {
			err = decodeTensor(rest[:t.Len()], r, t.Type)
			rest = rest[t.Len():]
		} else {
			_, err = io.CopyN(io.Discard, r, int64(t.Bytes()))
		}
		if err != nil {
			return Saved{}, fmt.Errorf("tensors: %w", err)
		}
	}
	return s, nil
}

// decodeTensor reads floats of a type.
func decodeTensor(x []float32, r io.Reader, dtype string) error {
	size := safetensors.Size(dtype)
	buf, numbers := make([]byte, size*piece), make([]float64, piece)
	for x := range slices.Chunk(x, piece) {
		raw := buf[:size*len(x)]
		if _, err := io.ReadFull(r, raw); err != nil {
			return err
		}
		if dtype == "F32" {
			vec.ReadLE(x, raw)
			continue
		}
		safetensors.Decode(numbers[:len(x)], raw, dtype)
		for i, v := range numbers[:len(x)] {
			x[i] = float32(v)
		}
	}
	return nil
}
