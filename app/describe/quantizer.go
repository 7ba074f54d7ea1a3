package describe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/compress"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/vec"
)

// compressorKey begins the keys of a compressor's settings in a run file.
const compressorKey = "algorithm.compressor."

// A Quantizer is the output of "quant show".
type Quantizer struct {
	Name string `json:"name"`
	On   string `json:"on"`
	*compress.Look
}

// A Subject is the vector to compress.
type Subject struct {
	On    string // "normal", or a file
	Count int    // of normal numbers
}

// CompressorNames are those that run files know.
func CompressorNames() []string {
	for _, k := range configs.Reference() {
		if k.Name == compressorKey+"name" {
			return strings.Split(k.Allowed, ", ")
		}
	}
	return nil
}

// Quantize compresses the subject with the compressor of some settings, as in a run file
// without the section: name=alq, bits=3. It also returns the vector.
func Quantize(settings []string, on Subject) (*Quantizer, []float32, error) {
	keys := make([]string, len(settings))
	for i, s := range settings {
		keys[i] = compressorKey + s
	}
	// Naive takes every compressor, and a run file knows compressors only of
	// algorithms that have one.
	loaded, err := configs.Load(configs.Source{Set: append([]string{"algorithm.name=naive"}, keys...)})
	if err != nil {
		return nil, nil, err
	}
	z, err := on.read()
	if err != nil {
		return nil, nil, err
	}
	compressor := loaded.Config.Algorithm.Compressor
	look, err := compress.LookAt(compressor, z)
	if err != nil {
		return nil, nil, fmt.Errorf("quant: %s: %w", on.name(), loaded.Locate(err))
	}
	return &Quantizer{compressor.Name, on.name(), look}, z, nil
}

func (s Subject) name() string {
	if s.On == "normal" {
		return fmt.Sprintf("%d normal numbers", s.Count)
	}
	return s.On
}

// mostNumbers bounds the length of a vector, for the memory of any machine.
const mostNumbers = 1 << 28

// read returns the vector, of one number at least.
func (s Subject) read() ([]float32, error) {
	if s.On == "normal" {
		if s.Count < 1 || s.Count > mostNumbers {
			return nil, advice.Usagef("quant: --count %d: must be 1 to %d", s.Count, mostNumbers)
		}
		return compress.Normal(s.Count), nil
	}
	z, err := readVector(s.On)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usage(fmt.Errorf("quant: --on: %w", err), "--on normal needs no file")
	case err != nil:
		return nil, fmt.Errorf("quant: --on: %w", err)
	case len(z) == 0:
		return nil, advice.Usagef("quant: --on %s: no numbers in it", s.On)
	}
	return z, nil
}

// readVector reads a model file or plain numbers.
func readVector(path string) ([]float32, error) {
	if filepath.Ext(path) == ".safetensors" {
		saved, err := train.Read(path)
		return saved.X, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if size := info.Size(); info.IsDir() || size%4 != 0 || size/4 > mostNumbers {
		return nil, fmt.Errorf("%s: no file of float32 numbers, 4 bytes each, at most %d", path, mostNumbers)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z := make([]float32, len(text)/4)
	vec.ReadLE(z, text)
	return z, nil
}

// Draw returns the figure of the first bucket of the vector z.
func (r *Quantizer) Draw(z []float32, format string) ([]byte, error) {
	var values, shares []float64
	for _, l := range r.Levels {
		values, shares = append(values, l.Value), append(shares, l.Share)
	}
	var figure bytes.Buffer
	if err := report.WriteLevels(&figure, z[:r.Bucket], values, shares, format); err != nil {
		return nil, advice.Usage(err, "-o levels.png, -o levels.svg or -o levels.pdf, of a compressor with levels")
	}
	return figure.Bytes(), nil
}

// Write prints the report and its levels.
func (r *Quantizer) Write(w io.Writer) error {
	t := human.AlignLeft(w)
	fmt.Fprintf(t, "compressor\t%s: %s\n", r.Name, r.properties())
	fmt.Fprintf(t, "vector\t%s, %s\n", r.On, human.Count(r.Parameters, "parameter"))
	fmt.Fprintf(t, "payload\t%s, %.4g bits per parameter", human.Size(int64(r.Bytes)), r.Bits)
	if r.Ideal != nil {
		fmt.Fprintf(t, ", %.4g in an ideal code of order 0", *r.Ideal)
	}
	fmt.Fprintf(t, "\nerror\t%.4g of the squared length", r.Error)
	if r.Expected != nil {
		fmt.Fprintf(t, ", %.4g expected", *r.Expected)
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Levels) == 0 {
		_, err := fmt.Fprintf(w, "levels: more than %d\n", compress.MostLevels)
		return err
	}
	fmt.Fprintf(w, "\nlevels of the first %d parameters:\n", r.Bucket)
	t = human.AlignRight(w)
	fmt.Fprintln(t, "LEVEL\tSHARE\t")
	for _, l := range r.Levels {
		fmt.Fprintf(t, "%.5g\t%.4f\t\n", l.Value, l.Share)
	}
	return t.Flush()
}

// properties writes what the compressor says of itself.
func (r *Quantizer) properties() string {
	var words []string
	for _, p := range []struct {
		has  bool
		word string
	}{{r.Unbiased, "unbiased"}, {!r.Unbiased, "biased"}, {r.Contraction, "a contraction"},
		{r.Deterministic, "deterministic"}} {
		if p.has {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}
