package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
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
func (c compressorSpec) compressor(t *testing.T, stream uint64) algos.Compressor {
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
		made algos.Compressor
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
		made, err = c.qsgd(stream)
	case "sign":
		made, err = quant.NewSign(c.Bucket)
	case "topk":
		made, err = quant.NewTopK(c.K)
	case "randomk":
		made, err = quant.NewRandomK(c.K, scaling, stream)
	default:
		t.Fatalf("unknown compressor %q", c.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c compressorSpec) qsgd(stream uint64) (*quant.QSGD, error) {
	norm, err := quant.ParseNorm(c.Norm)
	if err != nil {
		return nil, err
	}
	q, err := quant.NewQSGD(c.Bits, c.Bucket, norm, stream)
	if err == nil {
		q.Scaled = c.Scaled
	}
	return q, err
}

// compressed returns worker i's update rule with its compressors.
func (r *run) compressed(t *testing.T, i int, x []float32) gossip.Algorithm {
	t.Helper()
	a := r.Algorithm
	of := func(j topology.Rank) algos.Compressor {
		return a.Compressor.compressor(t, rng.Stream(uint64(a.Seed), int(j)))
	}
	row := r.rows[i]
	c := algos.Compression{Own: of(topology.Rank(i))}
	for _, e := range row.In {
		c.In = append(c.In, of(e.Peer))
	}
	switch a.Name {
	case "choco":
		return &algos.Choco{X: x, Alpha: r.alpha, Gamma: float32(a.Gamma), Compression: c}
	case "deepsqueeze":
		return &algos.DeepSqueeze{X: x, Alpha: r.alpha, Eta: float32(a.Eta), Compression: c}
	case "dcd":
		return &algos.DCD{X: x, Alpha: r.alpha, Row: row, Compression: c}
	case "ecd":
		return &algos.ECD{X: x, Alpha: r.alpha, Row: row, Compression: c}
	case "naive":
		return &algos.Naive{X: x, Alpha: r.alpha, Compression: c}
	case "allreduce":
		return r.reducing(t, i, x, c, of(topology.Rank(len(r.rows))))
	}
	t.Fatalf("%s takes no compressor", a.Name)
	return nil
}

// A quantizerCase is one vector through one compressor.
type quantizerCase struct {
	Compressor   compressorSpec
	V            []float32
	U            []float64
	Output       []float64
	Symbols      []int64
	Indices      []uint32
	PayloadBytes int `json:"payload_bytes"`
	Seed         seed
	Round        int
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
		if c.Compressor.Mode == "stochastic" {
			payload = c.listed(compressor)
		}
	case *quant.QSGD:
		payload = c.listedQSGD(t, compressor, payload)
	}
	output := make([]float32, len(c.V))
	if err := compressor.AddTo(output, 1, c.Round, payload); err != nil {
		t.Fatal(err)
	}
	for i, want := range c.Output {
		near(t, fmt.Sprintf("output %d", i), float64(output[i]), want, 1e-6)
	}
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
		payload = binary.LittleEndian.AppendUint32(payload, uint32(int32(l.Index(v, c.U[i]))))
	}
	return payload
}

// listedQSGD is the same for QSGD, with the norms of payload.
func (c *quantizerCase) listedQSGD(t *testing.T, q *quant.QSGD, payload []byte) (listed []byte) {
	t.Helper()
	packing, err := quant.NewPacking(1 << c.Compressor.Bits)
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < len(c.V); first += c.bucket() {
		end := min(first+c.bucket(), len(c.V))
		norm := math.Float32frombits(binary.LittleEndian.Uint32(payload))
		var symbols []uint16
		for i := first; i < end; i++ {
			symbols = append(symbols, q.Symbol(c.V[i], norm, c.U[i]))
		}
		listed = append(listed, payload[:4]...)
		if listed, err = packing.Pack(listed, symbols); err != nil {
			t.Fatal(err)
		}
		payload = payload[4+packing.Len(end-first):]
	}
	return listed
}

// bucket returns the coordinates that share a scale.
func (c *quantizerCase) bucket() int {
	if c.Compressor.Bucket == 0 {
		return len(c.V)
	}
	return c.Compressor.Bucket
}

// symbols reads them back from a payload, bucket by bucket.
func (c *quantizerCase) symbols(t *testing.T, payload []byte) (symbols []int64) {
	t.Helper()
	header, levels := 0, 0
	switch c.Compressor.Name {
	case "linear":
		for ; len(payload) > 0; payload = payload[4:] {
			symbols = append(symbols, int64(int32(binary.LittleEndian.Uint32(payload))))
		}
		return symbols
	case "minmax":
		header, levels = 8, 1<<c.Compressor.Bits
	case "qsgd":
		header, levels = 4, 1<<c.Compressor.Bits
	case "sign":
		header, levels = 4, 2
	default:
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
