package moniqua

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawCodec draws any legal setting.
func drawCodec(t *rapid.T) *Codec {
	rounding := rapid.SampledFrom([]Rounding{Dither, Nearest, Stochastic, Shared}).Draw(t, "rounding")
	fewest := rounding.spread() + 1
	levels := rapid.OneOf(
		rapid.SampledFrom([]int{4, 8, 16, 256, 4096, 65536}),
		rapid.IntRange(fewest, 20),
		rapid.IntRange(fewest, 65536),
	).Draw(t, "levels")
	theta := math.Exp2(rapid.Float64Range(-12, 6).Draw(t, "log2 theta"))
	if rapid.Bool().Draw(t, "step is a power of two") {
		theta = math.Exp2(math.Round(math.Log2(theta))) * float64(levels-rounding.spread()) / 2
	}
	return mustCodec(t, levels, rounding, theta, rapid.Uint64().Draw(t, "seed"))
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func mustCodec(t fataler, levels int, rounding Rounding, theta float64, seed uint64) *Codec {
	t.Helper()
	c, err := New(levels, rounding, func(int) float64 { return theta }, seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawVector draws coordinates of all kinds, half of them at or next to a
// rounding or window boundary of the grid.
func drawVector(t *rapid.T, r *round, first, n int) []float32 {
	step := r.grid.Step()
	reach := min((1<<31-1<<12)*step, math.MaxFloat32)
	x := make([]float32, n)
	for i := range x {
		magnitude := math.Exp2(rapid.Float64Range(-4, 31).Draw(t, "log2 steps"))
		steps := rapid.Float64Range(-1, 1).Draw(t, "part") * magnitude
		if rapid.Bool().Draw(t, "boundary") {
			u := float64(r.encode.key.Uniform(uint32(first + i)))
			steps = math.Floor(steps) + rapid.SampledFrom([]float64{0, 0.5, -u, 0.5 - u}).Draw(t, "offset")
		}
		v := float32(min(max(steps*step, -reach), reach))
		for range rapid.IntRange(0, 2).Draw(t, "ulps") {
			v = math.Nextafter32(v, float32(steps))
		}
		x[i] = v
	}
	return x
}

func TestFixedPointGivesTheIntegersOfPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCodec(t)
		r, err := c.round(rapid.IntRange(0, 1<<20).Draw(t, "k"), 0)
		if err != nil {
			t.Fatal(err)
		}
		first := rapid.IntRange(0, 1<<20).Draw(t, "first")
		x := drawVector(t, &r, first, 20)
		got := make([]int64, len(x))
		for name, rounder := range map[string]*rounder{"indices": &r.encode, "windows": &r.windows} {
			if at := rounder.round(got, x, first); at >= 0 {
				t.Fatalf("%s: coordinate %d = %v refused", name, at, x[at])
			}
			for i, v := range x {
				want := r.plain.index(v, first+i)
				if rounder.window {
					want = r.plain.low(v, first+i)
				}
				if float64(got[i]) != want {
					t.Fatalf("%s: coordinate %d = %v: %d, want %v", name, first+i, v, got[i], want)
				}
			}
		}
	})
}

func TestBlocksRefuseNaN(t *testing.T) {
	for _, rounding := range []Rounding{Nearest, Dither} {
		r, err := mustCodec(t, 4, rounding, 1.5, 1).round(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1 << 33,
			-(1 << 34), math.MaxFloat32} {
			if at := r.encode.round(make([]int64, 4), []float32{0, 1, bad, 2}, 0); at != 2 {
				t.Errorf("%v: %v refused at %d, want 2", rounding, bad, at)
			}
		}
		edge := float32(1<<33 - 1<<10)
		if at := r.encode.round(make([]int64, 2), []float32{edge, -edge}, 0); at != -1 {
			t.Errorf("%v: refused ±%v", rounding, edge)
		}
	}
}

func TestResidues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(2, 65536).Draw(t, "levels")
		k := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(-1<<34, 1<<34),
			rapid.Int64Range(-100, 100),
			rapid.Map(rapid.Int64Range(-1<<18, 1<<18), func(m int64) int64 { return m * int64(levels) }),
		), 1, 50).Draw(t, "k")
		got := make([]uint16, len(k))
		d := newDivisor(levels)
		d.residues(got, k)
		for i, v := range k {
			n := int64(levels)
			if want := (v%n + n) % n; int64(got[i]) != want {
				t.Fatalf("%d mod %d = %d, want %d", v, n, got[i], want)
			}
		}
	})
}
