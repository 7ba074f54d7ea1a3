package moniqua

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"
)

func mustEncode(t fataler, c *Codec, k int, x []float32) []byte {
	t.Helper()
	payload, err := c.Encode(nil, k, x)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// as returns the codec of another worker.
func (c *Codec) as(rank topology.Rank) *Codec {
	other := *c
	other.Rank = rank
	return &other
}

// drawPair draws two models closer than θ in every coordinate, within 2²⁰ steps
// of 0 and with room for float32 to tell them apart.
func drawPair(t *rapid.T, c *Codec) (x, y []float32) {
	g, err := c.Grid(0)
	if err != nil {
		t.Fatal(err)
	}
	n := rapid.IntRange(0, 40).Draw(t, "d")
	x, y = make([]float32, n), make([]float32, n)
	scale := g.Step() * math.Exp2(rapid.Float64Range(0, 20).Draw(t, "log2 scale"))
	limit := g.Theta * (1 - 1e-12) // float64 cannot represent values closer to θ
	for i := range x {
		x[i] = float32(rapid.Float64Range(-1, 1).Draw(t, "x") * scale)
		part := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{-1, 1, 0})).Draw(t, "gap")
		y[i] = float32(float64(x[i]) + part*g.Theta)
		if math.Abs(float64(x[i])-float64(y[i])) >= limit {
			y[i] = x[i] + (y[i]-x[i])*(1-1e-6)
		}
		if math.Abs(float64(x[i])-float64(y[i])) >= limit {
			y[i] = x[i]
		}
	}
	return x, y
}

// Lemma 1 on the integers of the grid: a residue and a reference nearer than
// half the modulus determine a number.
func TestLemma1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(2, 65536).Draw(t, "N")
		k := rapid.Int64Range(-1<<31, 1<<31).Draw(t, "k")
		low := k - int64(rapid.IntRange(0, levels-1).Draw(t, "place"))
		residues := make([]uint16, 2)
		d := newDivisor(levels)
		d.residues(residues, []int64{k, low})
		place(residues[:1], residues[:1], residues[1:], int32(levels))
		if got := low + int64(residues[0]); got != k {
			t.Fatalf("recovered %d, want %d", got, k)
		}
	})
}

// Lemma 2: with B = 2θ/(1−2δ) and |x − y| < θ the recovered value is within δB
// of x, and the index is the sender's own.
func TestLemma2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		x, y := drawPair(t, c)
		g, err := c.Grid(5)
		if err != nil {
			t.Fatal(err)
		}
		sent, got := make([]int32, len(x)), make([]int32, len(x))
		if err := c.as(1).Indices(sent, 5, x); err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(got, 5, y, mustEncode(t, c.as(1), 5, x)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, sent) {
			t.Fatalf("recovered %v, want %v", got, sent)
		}
		values := make([]float64, len(x))
		if err := c.Values(values, 5, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if distance := math.Abs(v - float64(x[i])); distance > g.Delta()*g.Modulus()*(1+1e-9)+1e-12*math.Abs(v) {
				t.Fatalf("%v became %v: off by %v, more than δB = %v", x[i], v, distance, g.Delta()*g.Modulus())
			}
		}
	})
}

func TestOwnIndicesAreRecovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		r, err := c.round(3, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := drawVector(t, &r, 0, 30)
		want, got := make([]int32, len(x)), make([]int32, len(x))
		if err := c.Indices(want, 3, x); err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(got, 3, x, mustEncode(t, c, 3, x)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("recovered %v, want %v", got, want)
		}
	})
}

// For any reference, the decoded index is the one integer that has the symbol and lies in [t − N/2, t + N/2).
func TestDecodedIndexIsTheOneInTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		r, err := c.round(2, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := rapid.SliceOfN(rapid.Float32Range(-3, 3), 1, 20).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float32Range(-3, 3), len(x), len(x)).Draw(t, "y")
		sent, got := make([]int32, len(x)), make([]int32, len(x))
		if err := c.Indices(sent, 2, x); err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(got, 2, y, mustEncode(t, c, 2, x)); err != nil {
			t.Fatal(err)
		}
		for i, k := range got {
			low := float64(y[i])/r.grid.Step() - float64(c.Levels)/2
			if c.Rounding == Dither {
				low += float64(r.encode.key.Uniform(uint32(i))) - 0.5
			}
			if (k-sent[i])%int32(c.Levels) != 0 {
				t.Fatalf("coordinate %d: %d has not the symbol of %d", i, k, sent[i])
			}
			if float64(k) < low || float64(k)-float64(c.Levels) >= low {
				t.Fatalf("coordinate %d: %d is not in the window from %v", i, k, low)
			}
		}
	})
}

func TestHalfTheModulusApartIsTheSameSymbol(t *testing.T) {
	for _, levels := range []int{2, 4, 256} {
		c := mustCodec(t, levels, Nearest, float64(levels-1)/2, 0) // D = 1, B = N
		half := float32(levels) / 2
		up, down := mustEncode(t, c, 0, []float32{half}), mustEncode(t, c, 0, []float32{-half})
		if !bytes.Equal(up, down) {
			t.Errorf("%d levels: +B/2 is %x, −B/2 is %x", levels, up, down)
		}
		// The window is half open: it contains its low end.
		var got [1]int32
		if err := c.Decode(got[:], 0, []float32{0}, up); err != nil || got[0] != int32(-half) {
			t.Errorf("%d levels: decoded %d, want %v (%v)", levels, got[0], -half, err)
		}
	}
}

func TestEncodeRefusesValuesWithoutIndex(t *testing.T) {
	tests := []struct {
		name string
		x    float32
		want string
	}{
		{"NaN", float32(math.NaN()), "coordinate 1500: NaN"},
		{"Inf", float32(math.Inf(-1)), "coordinate 1500: -Inf"},
		{"index 2³¹", 1 << 31,
			"coordinate 1500: 2.1474836e+09 is 2³¹ or more steps of 1 from 0: " +
				"the model exploded or theta 1.5 is far too small"},
		{"index −2³¹", -(1 << 31), "coordinate 1500"},
		{"index 2³²", 1 << 32, "coordinate 1500"},
		{"very large", math.MaxFloat32, "coordinate 1500"},
	}
	for _, test := range tests {
		for _, levels := range []int{4, 5} {
			c := mustCodec(t, levels, Nearest, float64(levels-1)/2, 0)
			x := make([]float32, 2000)
			x[1500] = test.x
			out, err := c.Encode([]byte("kept"), 7, x)
			want := strings.Replace(test.want, "1.5 is", fmt.Sprint(float64(levels-1)/2, " is"), 1)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "round 7") {
				t.Errorf("%s: error %v, want %q", test.name, err, want)
			}
			if string(out) != "kept" {
				t.Errorf("%s: dst became %q", test.name, out)
			}
			if err := c.Indices(make([]int32, len(x)), 7, x); err == nil {
				t.Errorf("%s: Indices succeeded", test.name)
			}
		}
	}
}

func TestTheLargestIndicesReturn(t *testing.T) {
	edge := float32(1<<31 - 1<<7) // the largest float32 below 2³¹
	for _, rounding := range []Rounding{Dither, Nearest, Stochastic, Shared} {
		for _, levels := range []int{3, 4, 65535, 65536} {
			c := mustCodec(t, levels, rounding, float64(levels-rounding.spread())/2, 3) // D = 1
			x := []float32{edge, -edge}
			want, got := make([]int32, 2), make([]int32, 2)
			if err := c.Indices(want, 0, x); err != nil {
				t.Fatal(err)
			}
			if err := c.Decode(got, 0, x, mustEncode(t, c, 0, x)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %d levels: %v, want %v (%v)", rounding, levels, got, want, err)
			}
		}
	}
}

func TestQuotientsCompleteTheSymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Codec{Levels: rapid.IntRange(2, 65536).Draw(t, "N")}
		k := []int32{rapid.Int32().Draw(t, "k")}
		var m [1]int32
		c.Quotients(m[:], 0, k)
		symbol := int64(k[0]) - int64(m[0])*int64(c.Levels)
		if symbol < 0 || symbol >= int64(c.Levels) {
			t.Fatalf("%d = %d·%d + %d", k[0], m[0], c.Levels, symbol)
		}
	})
}

func TestEmptyModel(t *testing.T) {
	c := mustCodec(t, 5, Dither, 1, 0)
	payload := mustEncode(t, c, 0, nil)
	if len(payload) != 0 {
		t.Errorf("payload of %d bytes", len(payload))
	}
	mixed, err := c.Mix(nil, 0, nil, payload, []algos.Message{{From: 1, Weight: 0.5}})
	if err != nil || mixed != (algos.Mixed{}) {
		t.Errorf("Mix: %+v, %v", mixed, err)
	}
	if _, err := c.Mix(nil, 0, nil, nil, []algos.Message{{From: 1, Payload: []byte{0}}}); err == nil {
		t.Error("Mix accepted a byte for an empty model")
	}
}
