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
		table := halving(test.bits, test.form)
		if !slices.Equal(table.Levels, test.want) {
			t.Errorf("%d bits: %v, want %v", test.bits, table.Levels, test.want)
		}
		if b, err := table.Bits(); b != test.bits || err != nil {
			t.Errorf("%d bits: %d, %v", test.bits, b, err)
		}
	}
}

// On equally spaced levels Levels is QSGD, symbol by symbol.
func TestLevelsOnEqualPartsAreQSGD(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		u := uniforms(rt, len(z))
		bits := rapid.IntRange(2, 8).Draw(rt, "bits")
		norm := rapid.SampledFrom([]Norm{L2, LInf}).Draw(rt, "norm")
		parts := make([]float64, 1<<(bits-1))
		for j := range parts {
			parts[j] = float64(j) / float64(len(parts)-1)
		}
		levels, err := NewLevels(Table{Zero, parts}, 5, norm, 1)
		if err != nil {
			rt.Fatal(err)
		}
		qsgd, err := NewQSGD(bits, 5, norm, 1)
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
				rt.Fatalf("%d bits: coordinate %d: %v by levels, %v by qsgd", bits, i, v, want[i])
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
		{Table{Zero, nil}, "a table of 0 levels: must be a power of two, from 2 to 128"},
		{Table{Zero, []float64{0, 0.5, 1}}, "a table of 3 levels"},
		{Table{Symmetric, make([]float64, 512)}, "from 2 to 256"},
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
