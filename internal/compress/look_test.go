package compress

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/configs"
)

// settings returns the settings of a compressor from a run file that only names it, with a change.
func settings(name string, change func(c *configs.Compressor)) configs.Compressor {
	c := configs.Default().Algorithm.Compressor
	c.Name = name
	if change != nil {
		change(&c)
	}
	return c
}

func TestLookAtSaysWhatACompressorDoes(t *testing.T) {
	z := []float32{3, -3, 1, -1, 0, 3, 3, -3}
	look, err := LookAt(settings("minmax", func(c *configs.Compressor) { c.Bits, c.Bucket = 2, 6 }), z)
	if err != nil {
		t.Fatal(err)
	}
	if look.Bytes != 8+2+8+1 || look.Bits != 8*19./8 || look.Parameters != 8 || look.Bucket != 6 || !look.Deterministic ||
		look.Unbiased {
		t.Errorf("%+v", look)
	}
	// Levels −3, −1, 1, 3; the 0 goes up.
	if want := []Level{{-3, 1. / 6}, {-1, 1. / 6}, {1, 2. / 6}, {3, 2. / 6}}; !slices.Equal(look.Levels, want) {
		t.Errorf("levels %v, want %v", look.Levels, want)
	}
	if want := 1. / 47; math.Abs(look.Error-want) > 1e-12 || look.Expected == nil ||
		math.Abs(*look.Expected-want) > 1e-12 {
		t.Errorf("error %v, expected %v, want %v", look.Error, look.Expected, want)
	}
	// Symbols 3, 0, 2, 1, 2, 3, 3 | 3, 0 in both buckets: 4, 2, 2 of 8 and one 1.
	if look.Ideal == nil || *look.Ideal <= 16 || *look.Ideal > look.Bits {
		t.Errorf("ideal bits %v of %v", look.Ideal, look.Bits)
	}
}

// Random compressors have the error that they expect, and adaptive levels have adapted.
func TestLookAtRandomCompressors(t *testing.T) {
	z := Normal(40000)
	errors := map[string]float64{}
	for _, name := range []string{"qsgd", "nuqsgd", "terngrad", "alq", "amqn", "orq", "linear_s", "bingrad_pb"} {
		look, err := LookAt(settings(name, nil), z)
		if err != nil {
			t.Fatal(err)
		}
		if look.Expected == nil || math.Abs(look.Error / *look.Expected - 1) > 0.1 {
			t.Errorf("%s: error %v, expected %v", name, look.Error, look.Expected)
		}
		errors[name] = look.Error
	}
	if errors["alq"] >= errors["qsgd"] {
		t.Errorf("fitted levels: %v, uniform ones: %v", errors["alq"], errors["qsgd"])
	}
}

func TestLookAtOddCases(t *testing.T) {
	zeros, err := LookAt(settings("alq", nil), make([]float32, 5))
	if err != nil || zeros.Error != 0 || len(zeros.Levels) != 1 || zeros.Levels[0] != (Level{0, 1}) {
		t.Errorf("zeros: %+v, %v", zeros, err)
	}
	scaled, err := LookAt(settings("qsgd", func(c *configs.Compressor) { c.Scaled = true }), Normal(100))
	if err != nil || scaled.Expected != nil || !scaled.Contraction {
		t.Errorf("scaled: %+v, %v", scaled, err)
	}
	many, err := LookAt(settings("full", nil), Normal(1000))
	if err != nil || len(many.Levels) != 0 || many.Ideal != nil {
		t.Errorf("full: %+v, %v", many, err)
	}
	if _, err := LookAt(settings("topk", func(c *configs.Compressor) { c.K = 9 }), Normal(8)); err == nil {
		t.Error("9 of 8 coordinates were kept")
	}
}

func TestNormalNumbersAreNormal(t *testing.T) {
	z := Normal(100000)
	mean, squares, inside := 0.0, 0.0, 0.0
	for _, v := range z {
		mean += float64(v) / float64(len(z))
		squares += float64(v) * float64(v) / float64(len(z))
		if math.Abs(float64(v)) < 1 {
			inside += 1 / float64(len(z))
		}
	}
	if math.Abs(mean) > 0.015 || math.Abs(squares-1) > 0.02 || math.Abs(inside-0.6827) > 0.008 {
		t.Errorf("mean %v, variance %v, %v within one deviation", mean, squares, inside)
	}
	if !slices.Equal(z, Normal(len(z))) {
		t.Error("other numbers the second time")
	}
}
