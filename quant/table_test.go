package quant

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNUQSGDHalvesItsLevels(t *testing.T) {
	tests := []struct {
		bits int
		form Form
		want []float64
	}{
		{2, Zero, []float64{0, 1}},
		{4, Zero, []float64{0, 1. / 64, 1. / 32, 1. / 16, 0.125, 0.25, 0.5, 1}},
		{3, Symmetric, []float64{-1, -0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1}},
	}
	for _, test := range tests {
		table := halving(1<<(test.bits-1), test.form)
		if !slices.Equal(table.Levels, test.want) {
			t.Errorf("%d bits: %v, want %v", test.bits, table.Levels, test.want)
		}
		if n, err := table.symbols(), table.Check(); n != 1<<test.bits || err != nil {
			t.Errorf("%d bits: %d symbols, %v", test.bits, n, err)
		}
	}
}

// A number of levels that fills no whole bits is packed densely: the levels and then their negatives.
func TestAnyNumberOfLevelsIsPackedDensely(t *testing.T) {
	z := []float32{4, -4, 2, -2, 0, float32(math.Copysign(0, -1))}
	symbols := []uint16{2, 4, 1, 3, 0, 0}
	alq := func() Compressor {
		a, err := NewAdaptive(AdaptiveOptions{Fit: ALQ, Levels: 5, Norm: LInf}, 1)
		return must(a, err)
	}
	for name, test := range map[string]struct {
		c       Compressor
		symbols []uint16
	}{
		"qsgd of 5":   {must(NewQSGDLevels(5, 0, LInf, 1)), symbols},
		"nuqsgd of 5": {must(NewNUQSGDLevels(5, 0, LInf, Zero, 1)), symbols},
		"levels":      {must(NewLevels(Table{Zero, []float64{0, 0.5, 1}}, 0, LInf, 1)), symbols},
		"levels sym": {
			must(NewLevels(Table{Symmetric, []float64{-1, -0.5, 0, 0.5, 1}}, 0, LInf, 1)), []uint16{4, 0, 3, 1, 2, 2},
		},
		"alq of 5": {alq(), symbols},
	} {
		payload, err := test.c.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		packing, err := NewPacking(5)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint16, len(z))
		if err := packing.Unpack(got, payload[4:4+packing.Len(len(z))]); err != nil || !slices.Equal(got, test.symbols) {
			t.Errorf("%s: symbols %v, want %v (%v)", name, got, test.symbols, err)
		}
		back := decoded(t, test.c, 0, len(z), payload)
		if !slices.Equal(back, []float32{4, -4, 2, -2, 0, 0}) || test.c.Bits() != 3 {
			t.Errorf("%s: decoded %v in %d bits", name, back, test.c.Bits())
		}
	}
	// 32 bits make 2.32 of 5 levels, and 3.17 of 9: table 2 of Xu, Huo and Huang.
	for levels, ratio := range map[int]float64{5: 13.8, 9: 10.1} {
		c := must(NewQSGDLevels(levels, 0, LInf, 1))
		if got := 32e6 / 8 / float64(c.Len(1e6)); math.Abs(got-ratio) > 0.03*ratio {
			t.Errorf("%d levels: 1:%.2f, the paper has 1:%.1f", levels, got, ratio)
		}
	}
}

// By the largest magnitude, three levels are those of TernGrad, drawn alike.
func TestQSGDOfThreeLevelsIsTernGrad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z, key := vectors(rt), rapid.Uint64().Draw(rt, "key")
		qsgd, terngrad := must(NewQSGDLevels(3, 5, LInf, key)), must(NewTernGrad(5, key))
		a, err := qsgd.Compress(nil, 1, z)
		b, err2 := terngrad.Compress(nil, 1, z)
		if err != nil || err2 != nil {
			rt.Fatal(err, err2)
		}
		got, want := decoded(t, qsgd, 1, len(z), a), decoded(t, terngrad, 1, len(z), b)
		if !slices.Equal(got, want) || len(a) != len(b) {
			rt.Fatalf("%v in %d bytes of 3 levels, %v in %d by terngrad", got, len(a), want, len(b))
		}
	})
}

// On equally spaced levels Levels is QSGD, symbol by symbol.
func TestLevelsOnEqualPartsAreQSGD(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		u := uniforms(rt, len(z))
		norm := rapid.SampledFrom([]Norm{L2, LInf}).Draw(rt, "norm")
		parts := make([]float64, rapid.IntRange(2, 128).Draw(rt, "magnitudes"))
		for j := range parts {
			parts[j] = float64(j) / float64(len(parts)-1)
		}
		levels, err := NewLevels(Table{Zero, parts}, 5, norm, 1)
		if err != nil {
			rt.Fatal(err)
		}
		qsgd, err := NewQSGDLevels(2*len(parts)-1, 5, norm, 1)
		if err != nil {
			rt.Fatal(err)
		}
		a, err := levels.CompressWith(nil, z, u)
		if err != nil {
			rt.Fatal(err)
		}
		b, err := qsgd.CompressWith(nil, z, u)
		if err != nil {
			rt.Fatal(err)
		}
		want := decoded(t, qsgd, 0, len(z), b)
		for i, v := range decoded(t, levels, 0, len(z), a) {
			// At a level, rounding may find either cell: only the draw decides then.
			if math.Abs(float64(v)-float64(want[i])) > 1e-5*math.Abs(float64(want[i]))+1e-44 && u[i] != 0 {
				rt.Fatalf("%d magnitudes: coordinate %d: %v by levels, %v by qsgd", len(parts), i, v, want[i])
			}
		}
		if a, b := levels.Variance(z), qsgd.Variance(z); math.Abs(a-b) > 1e-9*(a+b)+1e-80 {
			rt.Fatalf("variance %v by levels, %v by qsgd", a, b)
		}
	})
}

func TestTablesMayBeReplaced(t *testing.T) {
	first, second := Table{Zero, []float64{0, 0.25, 0.5, 1}}, Table{Zero, []float64{0, 0.1, 0.2, 1}}
	changed, err := NewLevels(first, 0, LInf, 1)
	if err != nil {
		t.Fatal(err)
	}
	z := []float32{1, -0.25, 0.1, 0.7, 0.04}
	if n := testing.AllocsPerRun(10, func() {
		if err := changed.SetTable(second); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	fresh, err := NewLevels(second, 0, LInf, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, err := changed.Compress(nil, 3, z)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fresh.Compress(nil, 3, z)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("% x with the second table, % x after it has replaced the first (%v)", b, a, err)
	}
	if got, want := decoded(t, changed, 3, len(z), a), decoded(t, fresh, 3, len(z), b); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	second.Levels[1] = 0.15
	if got, want := decoded(t, changed, 3, len(z), a), decoded(t, fresh, 3, len(z), b); !slices.Equal(got, want) {
		t.Error("the caller's table is used, not a copy")
	}
	for _, other := range []Table{
		{Zero, []float64{0, 1}}, {Symmetric, []float64{-1, -0.5, 0.5, 1}}, {Zero, []float64{0, 0.6, 0.5, 1}},
	} {
		if changed.SetTable(other) == nil {
			t.Errorf("%v replaces %v", other, second)
		}
	}
}

func TestTablesAreChecked(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		table Table
		want  string
	}{
		{Table{Zero, nil}, "a table of 0 levels: must be 2 to 128"},
		{Table{Zero, make([]float64, 129)}, "a table of 129 levels"},
		{Table{Symmetric, make([]float64, 257)}, "must be 2 to 256"},
		{Table{Zero, []float64{0, 0.5}}, "a table from 0 to 0.5: must be from 0 to 1"},
		{Table{Symmetric, []float64{0, 1}}, "must be from -1 to 1"},
		{Table{Zero, []float64{0, 0.5, 0.4, 1}}, "level 0.5 before 0.4: must be ascending"},
		{Table{Zero, []float64{0, nan, 0.4, 1}}, "must be ascending"},
	} {
		if _, err := NewLevels(test.table, 0, L2, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.table, err, test.want)
		}
	}
}
