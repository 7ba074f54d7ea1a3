package moniqua

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// drawByteRound draws a codec whose symbols are bytes, and a round.
func drawByteRound(t *rapid.T) (*Codec, round) {
	rounding := rapid.SampledFrom([]Rounding{Dither, Nearest, Stochastic, Shared}).Draw(t, "rounding")
	width := rapid.IntRange(rounding.spread(), 8).Draw(t, "bits")
	theta := math.Exp2(rapid.Float64Range(-12, 6).Draw(t, "log2 theta"))
	if rapid.Bool().Draw(t, "step is a power of two") {
		theta = math.Exp2(math.Round(math.Log2(theta))) * float64(1<<width-rounding.spread()) / 2
	}
	c := mustCodec(t, 1<<width, rounding, theta, rapid.Uint64().Draw(t, "seed"))
	r, err := c.round(rapid.IntRange(0, 1<<20).Draw(t, "k"))
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

// drawModels draws models of which the others are up to reach·θ from the first,
// with coordinates on boundaries, 0, and with one far from 0.
func drawModels(t *rapid.T, r *round, n int) [][]float32 {
	d := rapid.SampledFrom([]int{1, 127, 128, 300, 1024, 2500, 5000}).Draw(t, "d")
	source := rng.At(rapid.Uint64().Draw(t, "models"), 1)
	scale := math.Exp2(rapid.Float64Range(-2, 20).Draw(t, "log2 steps"))
	reach := rapid.SampledFrom([]float64{0, 0.1, 0.9, 1, 3}).Draw(t, "reach")
	far := rapid.SampledFrom([]float64{0, 1 << 24, 1 << 30}).Draw(t, "far")
	step := r.grid.Step()
	out := make([][]float32, n)
	for j := range out {
		out[j] = make([]float32, d)
	}
	for i := range d {
		draw := func(j int) float64 { return float64(source.Uniform(uint32(64*i+j))) - 0.5 }
		steps := draw(0) * scale
		switch kind := draw(1); {
		case kind < -0.4:
			steps = 0
		case kind < 0:
			u := float64(r.encode.key.Uniform(uint32(i)))
			steps = math.Floor(steps) + []float64{0, 0.5, -u, 0.5 - u}[int(4*(draw(2)+0.5))]
		case i == d/2:
			steps = far
		}
		for j := range out {
			gap := 0.0
			if j > 0 {
				gap = 2 * reach * draw(3+j) * r.grid.Theta
			}
			out[j][i] = float32(steps*step + gap)
		}
	}
	return out
}

func TestLanesGiveTheBitsOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawByteRound(t)
		all := drawModels(t, &r, rapid.IntRange(2, 6).Draw(t, "models"))
		x, width := all[0], r.byteWidth()
		payloads := make([][]byte, len(all))
		for j, y := range all {
			payloads[j] = make([]byte, r.packing.Len(len(y)))
			s, err := c.as(topology.Rank(j)).round(r.k)
			if err != nil {
				t.Fatal(err)
			}
			if err := new(verification).encodeWords(&s, payloads[j][:0], y, nil); err != nil {
				t.Fatal(err)
			}
		}
		in := make([]algos.Message, 0, len(all))
		for j := 1; j < len(all); j++ {
			in = append(in, algos.Message{From: topology.Rank(j), Weight: 0.3, Payload: append(payloads[j], make([]byte, HashLen)...)})
		}
		want := slices.Clone(x)
		wantSaw, err := r.mixWords(want, x, payloads[0], in, nil)
		if err != nil {
			t.Fatal(err)
		}
		var wantHash, gotHash verification
		wantHash.begin(0)
		keptWant := wantHash.begin(0)
		if err := wantHash.encodeWords(&r, make([]byte, 0, len(payloads[0])), x, keptWant); err != nil {
			t.Fatal(err)
		}
		wantHash.start(in)
		for first := 0; first < len(x); first += r.block {
			if err := wantHash.block(&r, x[first:min(first+r.block, len(x))], first, in); err != nil {
				t.Fatal(err)
			}
		}
		for _, r.tier = range kernel.Available() {
			payload := make([]byte, len(payloads[0]))
			if err := r.encodeBytes(payload, x, width); err != nil || !bytes.Equal(payload, payloads[0]) {
				t.Fatalf("%v: other symbols (%v)", r.tier, err)
			}
			got := slices.Clone(x)
			if saw, err := r.mixBytes(got, x, payloads[0], in, width); err != nil || saw != wantSaw || !slices.Equal(got, want) {
				t.Fatalf("%v: %+v, want %+v, or another model (%v)", r.tier, saw, wantSaw, err)
			}
			kept := gotHash.begin(0)
			clear(payload)
			if err := gotHash.encodeBytes(&r, payload, x, width, kept); err != nil || !bytes.Equal(payload, payloads[0]) ||
				!bytes.Equal(kept.data, keptWant.data) || gotHash.hash.Sum() != wantHash.hash.Sum() {
				t.Fatalf("%v: other symbols, quotients or hash (%v)", r.tier, err)
			}
			gotHash.start(in)
			if err := gotHash.recover(&r, x, in); err != nil {
				t.Fatal(err)
			}
			for j := range in {
				if gotHash.theirs[j].Sum() != wantHash.theirs[j].Sum() {
					t.Fatalf("%v: other indices of neighbour %d", r.tier, j)
				}
			}
		}
	})
}

func TestLanesRefuseWhatTheDefinitionRefuses(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1 << 31, -1 << 33} {
		for _, at := range []int{0, 1500, 4095} {
			r, err := mustCodec(t, 256, Nearest, 127.5, 1).round(3) // D = 1
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, 4096)
			x[at] = bad
			want := new(verification).encodeWords(&r, make([]byte, 0, len(x)), x, nil)
			if want == nil {
				t.Fatalf("%v has an index", bad)
			}
			for _, r.tier = range kernel.Available() {
				for name, err := range map[string]error{
					"plain":    r.encodeBytes(make([]byte, len(x)), x, 8),
					"verified": new(verification).encodeBytes(&r, make([]byte, len(x)), x, 8, &repair{}),
				} {
					if err == nil || err.Error() != want.Error() {
						t.Errorf("%v, %s: %v, want %v", r.tier, name, err, want)
					}
				}
			}
		}
	}
}
