package quant

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
)

// tiered is a compressor that can be limited to a tier.
type tiered interface {
	Compressor
	useLanes(kernel.Tier)
}

func laned[C tiered](c C, err error) tiered {
	if err != nil {
		panic(err)
	}
	return c
}

// drawTiered draws one of the compressors that use lanes.
func drawTiered(t *rapid.T) tiered {
	bucket := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 200, 1000, 1024, 1500}).Draw(t, "bucket")
	bits := rapid.IntRange(2, 8).Draw(t, "bits")
	norm := Norm(rapid.IntRange(0, 1).Draw(t, "norm"))
	form := Form(rapid.IntRange(0, 1).Draw(t, "form"))
	seed := rapid.Uint64().Draw(t, "seed")
	names := []string{
		"qsgd", "qsgd of levels", "nuqsgd of levels",
		"minmax", "sign", "nuqsgd", "levels", "terngrad", "orq", "linear_s", "bingrad_pb", "bingrad_b",
	}
	switch rapid.SampledFrom(names).Draw(t, "name") {
	case "qsgd":
		return laned(NewQSGD(bits, bucket, norm, seed))
	case "qsgd of levels":
		return laned(NewQSGDLevels(1+2*rapid.IntRange(1, 20).Draw(t, "parts"), bucket, norm, seed))
	case "nuqsgd of levels":
		n := rapid.IntRange(1, 20).Draw(t, "magnitudes")
		return laned(NewNUQSGDLevels(2*n+1+int(form), bucket, norm, form, seed))
	case "minmax":
		return laned(NewMinMax(bits-rapid.IntRange(0, 1).Draw(t, "less"), bucket, Mode(norm), seed))
	case "sign":
		return laned(NewSign(bucket))
	case "nuqsgd":
		return laned(NewNUQSGD(bits, bucket, norm, form, seed))
	case "terngrad":
		return laned(NewTernGrad(bucket, seed))
	case "orq":
		return laned(NewORQ(rapid.IntRange(3, 40).Draw(t, "s"), bucket, seed))
	case "linear_s":
		return laned(NewQuantiles(rapid.IntRange(2, 40).Draw(t, "s"), bucket, seed))
	case "bingrad_pb":
		return laned(NewBinGradPB(bucket, seed))
	case "bingrad_b":
		return laned(NewBinGradB(Threshold(norm), bucket))
	}
	table := drawTable(t, rapid.IntRange(2, 128).Draw(t, "magnitudes"), form)
	return laned(NewLevels(table, bucket, norm, seed))
}

// drawTable draws any table, including repeated levels and narrow cells.
func drawTable(t *rapid.T, h int, form Form) Table {
	free := rapid.SliceOfN(rapid.Float64Range(0, 1), h, h).Draw(t, "levels")
	if rapid.Bool().Draw(t, "narrow") {
		for i := range free[1:] {
			free[i+1] = math.Nextafter(free[i], 1)
		}
	}
	slices.Sort(free)
	free[len(free)-1] = 1
	if form == Zero {
		free[0] = 0
	}
	return tableOf(form, free)
}

// drawVector draws a vector of one of many kinds, among them zeros, constants, values at the borders
// of cells, and the limits of float32.
func drawVector(t *rapid.T) []float32 {
	n, key := rapid.IntRange(1, 2500).Draw(t, "n"), rng.At(rapid.Uint64().Draw(t, "z"), 0)
	scale := math.Exp2(rapid.Float64Range(-140, 100).Draw(t, "log2 scale"))
	shape := rapid.SampledFrom([]string{"zero", "constant", "any", "grid", "sparse"}).Draw(t, "shape")
	offset := rapid.SampledFrom([]float64{0, 1, -1000}).Draw(t, "offset")
	z := make([]float32, n)
	for i := range z {
		v := 2*float64(key.Uniform(uint32(i))) - 1
		switch shape {
		case "zero":
			v = math.Copysign(0, v)
		case "constant":
			v = 1
		case "grid":
			v = math.Round(v*128)/128 + offset
		case "sparse":
			v = math.Floor(v*v*v*1.01) * v
		default:
			v = v*v*v + offset
		}
		z[i] = float32(v * scale)
	}
	return z
}

func TestTiersGiveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, z := drawTiered(t), drawVector(t)
		w := rapid.Float32Range(-2, 2).Draw(t, "w")
		var payload []byte
		var sums []float32
		for _, tier := range kernel.Available() {
			c.useLanes(tier)
			got, err := c.Compress([]byte{7}, 3, z)
			if err != nil {
				t.Fatal(err)
			}
			acc := slices.Clone(z)
			if err := c.AddTo(acc, w, 3, got[1:]); err != nil {
				t.Fatalf("%v: %v", tier, err)
			}
			if tier == kernel.Off {
				payload, sums = got, acc
				continue
			}
			if !bytes.Equal(got, payload) {
				t.Fatalf("%v: another payload", tier)
			}
			if !slices.EqualFunc(acc, sums, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				t.Fatalf("%v: other sums", tier)
			}
		}
	})
}

func TestLanesAllocateNothing(t *testing.T) {
	z := noise(5000)
	acc := make([]float32, len(z))
	for _, tier := range kernel.Available() {
		for name, c := range map[string]tiered{
			"qsgd": laned(NewQSGD(4, 1000, LInf, 1)), "minmax": laned(NewMinMax(8, 1000, Stochastic, 1)),
			"sign": laned(NewSign(1000)), "nuqsgd": laned(NewNUQSGD(4, 1000, L2, Zero, 1)),
			"nuqsgd/8": laned(NewNUQSGD(8, 1000, L2, Zero, 1)), "nuqsgd/8/sym": laned(NewNUQSGD(8, 1000, L2, Symmetric, 1)),
			"terngrad": laned(NewTernGrad(1000, 1)), "orq": laned(NewORQ(9, 1000, 1)),
			"bingrad_pb": laned(NewBinGradPB(1000, 1)),
		} {
			c.useLanes(tier)
			payload, k := []byte(nil), 0
			if n := testing.AllocsPerRun(20, func() {
				payload, _ = c.Compress(payload[:0], k, z)
				_ = c.AddTo(acc, 0.5, k, payload)
				k++
			}); n > 0 {
				t.Errorf("%v, %s: %v allocations", tier, name, n)
			}
		}
	}
}
