package conformance

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
)

// A compressorSpec is the form of a compressor in vector files. Unknown fields are errors, because one could change the
// result.
type compressorSpec struct {
	Name     string
	Bits     int
	Norm     string
	Scaled   bool
	Bucket   int
	Step     float64
	Mode     string
	K        int
	Unbiased bool
	Variant  string
	Levels   []float64
	S        int
	Rule     string
	Clip     float64
}

func (c *compressorSpec) UnmarshalJSON(text []byte) error {
	type plain compressorSpec
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	return strict.Decode((*plain)(c))
}

// compressor builds the compressor for a worker with the given stream.
func (c compressorSpec) compressor(t *testing.T, stream uint64) quant.Compressor {
	t.Helper()
	if _, ok := registry.FindCompressor(c.Name); !ok {
		t.Fatalf("unknown compressor %q", c.Name)
	}
	made, err := registry.New(c.settings(), 0, stream)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// settings returns the settings of a run file, with the defaults of the vectors. Random-k is scaled there unless it is
// unbiased.
func (c compressorSpec) settings() registry.CompressorSettings {
	return registry.CompressorSettings{
		Name: c.Name, Bits: c.Bits, Levels: c.S, Variant: cmp.Or(c.Variant, "zero"), Table: c.Levels,
		Rule: cmp.Or(c.Rule, "mean"), Mode: cmp.Or(c.Mode, "nearest"), Step: c.Step, K: c.K,
		Norm: cmp.Or(c.Norm, "l2"), Bucket: c.Bucket, Clip: c.Clip,
		Scaled: c.Scaled || c.Name == "randomk" && !c.Unbiased,
	}
}

// A quantizerCase is one vector through one compressor.
type quantizerCase struct {
	Compressor   compressorSpec
	V            []float32
	U            []float32
	Output       []float64
	Symbols      []int64
	Indices      []uint32
	Meta         map[string][]floats
	PayloadBytes int `json:"payload_bytes"`
	Seed         seed
	Round        int
}

// floats is one number or a list of numbers in JSON.
type floats []float64

func (f *floats) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]float64)(f))
	}
	*f = make(floats, 1)
	return json.Unmarshal(text, &(*f)[0])
}

// loadQuantizers reads quantizers.json and all files in quantizers.
func loadQuantizers(t *testing.T) []quantizerCase {
	t.Helper()
	more, err := filepath.Glob(filepath.Join(Dir(), "quantizers", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []quantizerCase
	for _, name := range append([]string{"quantizers.json"}, more...) {
		var file struct{ Cases []quantizerCase }
		if name != "quantizers.json" {
			name = path.Join("quantizers", filepath.Base(name))
		}
		Load(t, name, &file)
		all = append(all, file.Cases...)
	}
	return all
}

func TestConformanceQuantizer(t *testing.T) {
	all := loadQuantizers(t)
	for i, c := range all {
		t.Run(fmt.Sprintf("%d: %s", i, c.Compressor.Name), c.check)
	}
	if len(all) == 0 {
		t.Error("no case is covered")
	}
}

func (c *quantizerCase) check(t *testing.T) {
	compressor := c.Compressor.compressor(t, uint64(c.Seed))
	payload, err := compressor.Compress(nil, c.Round, c.V)
	if err != nil {
		t.Fatal(err)
	}
	if len(payload) != c.PayloadBytes {
		t.Errorf("%d bytes, want %d", len(payload), c.PayloadBytes)
	}
	layout := compressor.Layout(len(c.V))
	switch compressor := compressor.(type) {
	case *quant.Linear:
		if c.Compressor.Mode == "stochastic" && len(c.U) > 0 {
			payload = c.listed(compressor)
		}
	case interface {
		CompressWith(dst []byte, z, u []float32) ([]byte, error)
	}:
		if len(c.U) > 0 {
			payload, err = compressor.CompressWith(payload[:0], c.V, c.U)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	output := make([]float32, len(c.V))
	if err := compressor.AddTo(output, 1, c.Round, payload); err != nil {
		t.Fatal(err)
	}
	for i, want := range c.Output {
		near(t, fmt.Sprintf("output %d", i), float64(output[i]), want, 1e-6)
	}
	c.checkHeaders(t, payload, layout)
	if got := c.symbols(t, payload, layout); !slices.Equal(got, c.Symbols) {
		t.Errorf("symbols %v, want %v", got, c.Symbols)
	}
	if got := c.indices(payload); !slices.Equal(got, c.Indices) {
		t.Errorf("indices %v, want %v", got, c.Indices)
	}
}

// listed returns the payload for the listed uniforms, which do not come from the generator.
func (c *quantizerCase) listed(l *quant.Linear) (payload []byte) {
	for i, v := range c.V {
		payload = binary.LittleEndian.AppendUint32(payload, uint32(int32(l.Index(v, float64(c.U[i])))))
	}
	return payload
}

// checkHeaders compares the floats at the beginning of each bucket. A scaled compressor has other floats than the
// listed ones, because they include the scale.
func (c *quantizerCase) checkHeaders(t *testing.T, payload []byte, layout quant.Layout) {
	t.Helper()
	if c.Compressor.Scaled {
		return
	}
	for what, buckets := range c.Meta {
		rest := payload
		for part := range slices.Chunk(c.V, c.bucket()) {
			want := buckets[0]
			buckets = buckets[1:]
			if what == "b0_bm_bp" {
				want = want[1:] // the threshold is not sent
			}
			for j, v := range want {
				got := math.Float32frombits(binary.LittleEndian.Uint32(rest[4*j:]))
				near(t, fmt.Sprintf("%s %d", what, j), float64(got), v, 1e-6)
			}
			packing, err := quant.NewPacking(layout.Levels)
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[layout.Head+packing.Len(len(part)):]
		}
	}
}

// bucket returns the number of coordinates that share a scale, at least 1.
func (c *quantizerCase) bucket() int {
	if c.Compressor.Bucket == 0 {
		return max(1, len(c.V))
	}
	return c.Compressor.Bucket
}

// symbols reads the symbols of a payload, bucket by bucket. In a payload without buckets the words are the symbols, if
// the case lists symbols.
func (c *quantizerCase) symbols(t *testing.T, payload []byte, layout quant.Layout) (symbols []int64) {
	t.Helper()
	if layout.Levels == 0 {
		for ; len(c.Symbols) > 0 && len(payload) > 0; payload = payload[layout.Word:] {
			symbols = append(symbols, int64(int32(binary.LittleEndian.Uint32(payload))))
		}
		return symbols
	}
	packing, err := quant.NewPacking(layout.Levels)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(c.V, c.bucket()) {
		read := make([]uint16, len(part))
		end := layout.Head + packing.Len(len(part))
		if err := packing.Unpack(read, payload[layout.Head:end]); err != nil {
			t.Fatal(err)
		}
		for _, s := range read {
			symbols = append(symbols, int64(s))
		}
		payload = payload[end:]
	}
	return symbols
}

// indices returns the coordinates in a sparse payload.
func (c *quantizerCase) indices(payload []byte) (indices []uint32) {
	switch c.Compressor.Name {
	case "topk":
		for ; len(payload) > 0; payload = payload[8:] {
			indices = append(indices, binary.LittleEndian.Uint32(payload))
		}
	case "randomk":
		indices = rng.RandomK(nil, uint64(c.Seed), c.Round, len(c.V), c.Compressor.K)
	}
	return indices
}
