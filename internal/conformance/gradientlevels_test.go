package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"gossiptrainer/quant"
	"gossiptrainer/quant/levels"
)

// A gradientLevelsCase holds the levels that several compressors choose for one bucket.
type gradientLevelsCase struct {
	V            []float32
	BinGradPB    float64   `json:"bingrad_pb"`
	BinGradMean  []float64 `json:"bingrad_b_mean"` // b0, low, high
	BinGradLloyd []float64 `json:"bingrad_b_lloyd"`
	Clipped      []float64 `json:"clip_2_5"`
	Sigma        float64
	SignScale    float64                           `json:"sign_scale"`
	Stats        struct{ Norm, Mu, Sigma float64 } `json:"bucket_stats"`
}

// checkGradientLevels reads the levels from the payloads, in which they are floats.
func checkGradientLevels(t *testing.T, text []byte) {
	var c gradientLevelsCase
	parse(t, text, &c)
	c.tables(t, text)
	c.header(t, compressorSpec{Name: "bingrad_pb"}, c.BinGradPB)
	c.twoMeans(t, "mean", c.BinGradMean)
	c.twoMeans(t, "lloyd", c.BinGradLloyd)
	c.header(t, compressorSpec{Name: "sign"}, c.SignScale)
	c.clipping(t)
	c.header(t, compressorSpec{Name: "qsgd", Bits: 4, Norm: "l2"}, c.Stats.Norm)
	got := levels.Observe(c.V, c.Stats.Norm)
	near(t, "mean of r", got.Mu, c.Stats.Mu, 1e-9)
	near(t, "deviation of r", got.Sigma, c.Stats.Sigma, 1e-9)
}

// tables compares the levels of ORQ and Linear-s for every number of levels in the case: orq3, linear5, ...
func (c *gradientLevelsCase) tables(t *testing.T, text []byte) {
	t.Helper()
	var fields map[string]json.RawMessage
	parse(t, text, &fields)
	found := 0
	for key, value := range fields {
		name := map[string]string{"orq": "orq", "linear": "linear_s"}[strings.TrimRight(key, "0123456789")]
		if name == "" {
			continue
		}
		var table []float64
		parse(t, value, &table)
		c.header(t, compressorSpec{Name: name, S: len(table)}, table...)
		found++
	}
	if found == 0 {
		t.Error("no levels of ORQ or Linear-s")
	}
}

// header compares the floats at the beginning of the payload of V, and returns the payload.
func (c *gradientLevelsCase) header(t *testing.T, of compressorSpec, want ...float64) ([]byte, quant.Compressor) {
	t.Helper()
	compressor := of.compressor(t, 0)
	payload, err := compressor.Compress(nil, 0, c.V)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		got := math.Float32frombits(binary.LittleEndian.Uint32(payload[4*i:]))
		near(t, fmt.Sprintf("float %d of %+v", i, of), float64(got), w, 1e-6)
	}
	return payload, compressor
}

// twoMeans compares the two levels of BinGrad-b and the sides of b0.
func (c *gradientLevelsCase) twoMeans(t *testing.T, rule string, want []float64) {
	t.Helper()
	payload, compressor := c.header(t, compressorSpec{Name: "bingrad_b", Rule: rule}, want[1:]...)
	for i, got := range decompress(t, compressor, len(c.V), payload) {
		level := want[1]
		if float64(c.V[i]) >= want[0] {
			level = want[2]
		}
		near(t, fmt.Sprintf("bingrad by %s of %v", rule, c.V[i]), float64(got), level, 1e-6)
	}
}

// clipping compares the clipped vector after compression to 16 bits. It reads σ from a clip so low that σ times the
// limit is the largest magnitude left.
func (c *gradientLevelsCase) clipping(t *testing.T) {
	t.Helper()
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range c.Clipped {
		low, high = min(low, v), max(high, v)
	}
	payload, compressor := c.header(t, compressorSpec{Name: "minmax", Bits: 16, Mode: "nearest", Clip: 2.5}, low, high)
	for i, got := range decompress(t, compressor, len(c.V), payload) {
		near(t, fmt.Sprintf("%v clipped", c.V[i]), float64(got), c.Clipped[i], (high-low)/(1<<16))
	}
	const fraction = 0.5 // every vector has a magnitude above this fraction of σ
	c.header(t, compressorSpec{Name: "terngrad", Clip: fraction}, fraction*c.Sigma)
}

func decompress(t *testing.T, c quant.Compressor, d int, payload []byte) []float32 {
	t.Helper()
	out := make([]float32, d)
	if err := c.AddTo(out, 1, 0, payload); err != nil {
		t.Fatal(err)
	}
	return out
}
