package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
)

// A compressorSpec is how vector files name a compressor. The fields of those
// that are covered are read strictly: one that is not known here could change
// the result.
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
	if err := json.Unmarshal(text, &struct{ Name *string }{&c.Name}); err != nil {
		return err
	}
	if row, ok := find(compressors, c.Name); !ok || row.test == "" {
		return nil
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	return strict.Decode((*plain)(c))
}

// compressor builds it for a worker with the given stream.
func (c compressorSpec) compressor(t *testing.T, stream uint64) quant.Compressor {
	t.Helper()
	mode := quant.Nearest
	if c.Mode != "" {
		var err error
		if mode, err = quant.ParseMode(c.Mode); err != nil {
			t.Fatal(err)
		}
	}
	scaling := map[bool]quant.Scaling{false: quant.AsIs, true: quant.Amplified}[c.Unbiased]
	var (
		made quant.Compressor
		err  error
	)
	switch c.Name {
	case "full":
		made = quant.Full{}
	case "linear":
		made, err = quant.NewLinear(c.Step, mode, stream)
	case "minmax":
		made, err = quant.NewMinMax(c.Bits, c.Bucket, mode, stream)
	case "qsgd":
		made, err = quant.NewQSGD(c.Bits, c.Bucket, c.norm(t), stream)
	case "nuqsgd":
		made, err = quant.NewNUQSGD(c.Bits, c.Bucket, c.norm(t), c.form(t), stream)
	case "levels":
		made, err = quant.NewLevels(quant.Table{Form: c.form(t), Levels: c.Levels}, c.Bucket, c.norm(t), stream)
	case "terngrad":
		made, err = quant.NewTernGrad(c.Bucket, stream)
	case "orq":
		made, err = quant.NewORQ(c.S, c.Bucket, stream)
	case "linear_s":
		made, err = quant.NewQuantiles(c.S, c.Bucket, stream)
	case "bingrad_pb":
		made, err = quant.NewBinGradPB(c.Bucket, stream)
	case "bingrad_b":
		made, err = quant.NewBinGradB(c.threshold(t), c.Bucket)
	case "sign":
		made, err = quant.NewSign(c.Bucket)
	case "topk":
		made, err = quant.NewTopK(c.K)
	case "randomk":
		made, err = quant.NewRandomK(c.K, scaling, stream)
	default:
		t.Fatalf("unknown compressor %q", c.Name)
	}
	if err == nil {
		err = c.options(made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// norm is l2 where the file says nothing.
func (c compressorSpec) norm(t *testing.T) quant.Norm {
	t.Helper()
	if c.Norm == "" {
		return quant.L2
	}
	norm, err := quant.ParseNorm(c.Norm)
	if err != nil {
		t.Fatal(err)
	}
	return norm
}

// form is zero where the file says nothing.
func (c compressorSpec) form(t *testing.T) quant.Form {
	t.Helper()
	if c.Variant == "" {
		return quant.Zero
	}
	form, err := quant.ParseForm(c.Variant)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// threshold is the mean where the file says nothing.
func (c compressorSpec) threshold(t *testing.T) quant.Threshold {
	t.Helper()
	if c.Rule == "" {
		return quant.Mean
	}
	threshold, err := quant.ParseThreshold(c.Rule)
	if err != nil {
		t.Fatal(err)
	}
	return threshold
}

// options clips and scales what has been made.
func (c compressorSpec) options(made quant.Compressor) error {
	if c.Scaled {
		scalable, ok := made.(quant.Scaler)
		if !ok {
			return fmt.Errorf("%s cannot be scaled", c.Name)
		}
		if err := scalable.Scale(); err != nil {
			return err
		}
	}
	if c.Clip == 0 {
		return nil
	}
	bucketed, ok := made.(quant.Clipper)
	if !ok {
		return fmt.Errorf("%s cannot clip", c.Name)
	}
	return bucketed.Clip(c.Clip)
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

// floats are one number, or several.
type floats []float64

func (f *floats) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]float64)(f))
	}
	*f = make(floats, 1)
	return json.Unmarshal(text, &(*f)[0])
}

func TestConformanceQuantizer(t *testing.T) {
	var file struct{ Cases []quantizerCase }
	Load(t, "quantizers.json", &file)
	covered, missing := 0, map[string]int{}
	for i, c := range file.Cases {
		row, ok := find(compressors, c.Compressor.Name)
		switch {
		case !ok:
			t.Errorf("case %d: unknown compressor %q", i, c.Compressor.Name)
		case row.test == "":
			missing[c.Compressor.Name]++
		default:
			covered++
			t.Run(fmt.Sprintf("%d: %s", i, c.Compressor.Name), c.check)
		}
	}
	for _, row := range compressors {
		if n := missing[row.what]; n > 0 {
			t.Logf("not yet covered: %d cases of %s", n, row.what)
		}
	}
	if covered == 0 {
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
	c.checkHeaders(t, payload)
	if got := c.symbols(t, payload); !slices.Equal(got, c.Symbols) {
		t.Errorf("symbols %v, want %v", got, c.Symbols)
	}
	if got := c.indices(payload); !slices.Equal(got, c.Indices) {
		t.Errorf("indices %v, want %v", got, c.Indices)
	}
}

// listed returns the payload that the listed uniforms give: those of the
// vectors come from no address.
func (c *quantizerCase) listed(l *quant.Linear) (payload []byte) {
	for i, v := range c.V {
		payload = binary.LittleEndian.AppendUint32(payload, uint32(int32(l.Index(v, float64(c.U[i])))))
	}
	return payload
}

// checkHeaders compares the floats at the beginning of each bucket. Those of a
// scaled compressor are not the listed ones, for the scaling is in them.
func (c *quantizerCase) checkHeaders(t *testing.T, payload []byte) {
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
			header, levels := c.layout()
			packing, err := quant.NewPacking(levels)
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[header+packing.Len(len(part)):]
		}
	}
}

// bucket returns the coordinates that share a scale, at least 1.
func (c *quantizerCase) bucket() int {
	if c.Compressor.Bucket == 0 {
		return max(1, len(c.V))
	}
	return c.Compressor.Bucket
}

// layout returns the bytes of the header of a bucket and the number of levels.
func (c *quantizerCase) layout() (header, levels int) {
	switch c.Compressor.Name {
	case "minmax":
		return 8, 1 << c.Compressor.Bits
	case "qsgd", "nuqsgd":
		return 4, 1 << c.Compressor.Bits
	case "levels":
		if levels = len(c.Compressor.Levels); c.Compressor.Variant != "sym" {
			levels *= 2 // with the sign
		}
		return 4, levels
	case "terngrad":
		return 4, 3
	case "orq", "linear_s":
		return 4 * c.Compressor.S, c.Compressor.S
	case "bingrad_b":
		return 8, 2
	case "sign", "bingrad_pb":
		return 4, 2
	}
	return 0, 0
}

// symbols reads them back from a payload, bucket by bucket.
func (c *quantizerCase) symbols(t *testing.T, payload []byte) (symbols []int64) {
	t.Helper()
	if c.Compressor.Name == "linear" {
		for ; len(payload) > 0; payload = payload[4:] {
			symbols = append(symbols, int64(int32(binary.LittleEndian.Uint32(payload))))
		}
		return symbols
	}
	header, levels := c.layout()
	if levels == 0 {
		return nil
	}
	packing, err := quant.NewPacking(levels)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(c.V, c.bucket()) {
		read := make([]uint16, len(part))
		end := header + packing.Len(len(part))
		if err := packing.Unpack(read, payload[header:end]); err != nil {
			t.Fatal(err)
		}
		for _, s := range read {
			symbols = append(symbols, int64(s))
		}
		payload = payload[end:]
	}
	return symbols
}

// indices returns those that a sparse payload stands for.
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
