package moniqua

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/topology"
)

func TestQuotientsComeBack(t *testing.T) {
	tests := []struct {
		name string
		m    []int32
		size int
	}{
		{"one", []int32{7}, 5},
		{"all equal", []int32{-3, -3, -3}, 5},
		{"two values", []int32{0, -1, 0, 0, -1, 0, 0, 0, -1}, 5 + 2},
		{"the whole range", []int32{math.MinInt32, math.MaxInt32, 0}, 5 + 12},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			packed := appendQuotients(nil, test.m, 0, kernel.Best())
			if len(packed) != test.size {
				t.Errorf("%d bytes, want %d", len(packed), test.size)
			}
			got := make([]int32, len(test.m))
			rest, err := readQuotients(got, append(packed, 1, 2), kernel.Best())
			if err != nil || !slices.Equal(got, test.m) || len(rest) != 2 {
				t.Errorf("got %v and %d bytes left, %v; want %v", got, len(rest), err, test.m)
			}
			if _, err := readQuotients(got, packed[:len(packed)-1], kernel.Best()); err == nil {
				t.Error("one byte short: accepted")
			}
		})
	}
}

// Quotients and symbols give any indices back.
func TestQuotientsAndSymbolsAreTheIndices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Codec{Levels: rapid.SampledFrom([]int{2, 3, 5, 16, 100, 65536}).Draw(t, "levels"),
			Theta: func(int) float64 { return 1 }}
		r, err := c.round(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := rapid.SliceOfN(rapid.Int32Range(-math.MaxInt32, math.MaxInt32), 1, 50).Draw(t, "indices")
		index, symbols := make([]int64, len(want)), make([]uint16, len(want))
		for i, k := range want {
			index[i] = int64(k)
		}
		r.divisor.residues(symbols, index)
		m, plain, got := make([]int32, len(want)), make([]int32, len(want)), make([]int32, len(want))
		r.quotients(m, index, symbols)
		if c.Quotients(plain, 0, want); !slices.Equal(m, plain) {
			t.Fatalf("quotients %v, by definition %v", m, plain)
		}
		if !r.join(got, m, symbols) || !slices.Equal(got, want) {
			t.Fatalf("joined %v, want %v", got, want)
		}
	})
}

// wronged returns a receiver's codec, its model, and a message from a model
// 10 θ away with its repair.
func wronged(t fataler, d int) (c *Codec, x []float32, mine []byte, in []algos.Message, repair []byte) {
	theirs := &Codec{Levels: 16, Theta: func(int) float64 { return 0.1 }, Seed: 1, Verify: true, Rank: 1}
	c = &Codec{Levels: 16, Theta: theirs.Theta, Seed: 1, Verify: true}
	x, y := make([]float32, d), make([]float32, d)
	for i := range y {
		x[i], y[i] = float32(math.Sin(float64(i))), float32(math.Cos(float64(3*i)))
	}
	mine = mustEncode(t, c, 4, x)
	in = []algos.Message{{From: 1, Weight: 0.25, Payload: mustEncode(t, theirs, 4, y)}}
	repair, ok := theirs.AppendRepair(nil, 4, 0, nil)
	if !ok {
		t.Fatal("no repair is kept")
	}
	return c, x, mine, in, repair
}

func TestMismatchIsFoundAndMended(t *testing.T) {
	c, x, mine, in, repair := wronged(t, 3000)
	acc := slices.Clone(x)
	_, err := c.Mix(acc, 4, x, mine, in)
	var wrong *algos.MismatchError
	if !errors.As(err, &wrong) || !slices.Equal(wrong.From, []topology.Rank{1}) || !slices.Equal(acc, x) {
		t.Fatalf("error %v, want a mismatch and the model as it was", err)
	}
	for _, bad := range [][]byte{{}, repair[:len(repair)-1], append(slices.Clone(repair), 0), flipped(repair, 5)} {
		in[0].Repair = bad
		var sorry *algos.MessageError
		if _, err := c.Mix(acc, 4, x, mine, in); !errors.As(err, &sorry) || sorry.From != 1 || !slices.Equal(acc, x) {
			t.Errorf("a bad repair of %d bytes: %v, want a message error", len(bad), err)
		}
	}
	in[0].Repair = repair
	mixed, err := c.Mix(acc, 4, x, mine, in)
	if err != nil || mixed.Gap < 1.5 || mixed.Gap > 2.1 {
		t.Errorf("mixed %+v, %v; want the true gap", mixed, err)
	}
}

func flipped(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 1
	return b
}

func TestTwoRoundsAreKept(t *testing.T) {
	c := &Codec{Levels: 3, Theta: func(int) float64 { return 1 }, Verify: true}
	if _, ok := c.AppendRepair(nil, 0, 0, nil); ok {
		t.Error("a repair before anything was sent")
	}
	for k := range 3 {
		mustEncode(t, c, k, []float32{float32(k), 5})
	}
	for k, want := range []bool{false, true, true, false} {
		if _, ok := c.AppendRepair(nil, k, 0, nil); ok != want {
			t.Errorf("round %d: kept %v, want %v", k, ok, want)
		}
	}
}

func FuzzRepair(f *testing.F) {
	c, x, mine, in, repair := wronged(f, 50)
	f.Add(repair)
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 300))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := slices.Clone(in)
		in[0].Repair = b
		acc := slices.Clone(x)
		_, err := c.Mix(acc, 4, x, mine, in)
		if err == nil && !bytes.Equal(b, repair) {
			t.Skip("another way to write the same quotients")
		}
		if err != nil && !slices.Equal(acc, x) {
			t.Error("the model was changed by what was refused")
		}
	})
}
