package quant

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func must[C Compressor](c C, err error) Compressor {
	if err != nil {
		panic(err)
	}
	return c
}

// scaled makes a compressor a contraction.
func scaled[C interface {
	Compressor
	Scaler
}](c C, err error) Compressor {
	must(c, err)
	return must(c, c.Scale())
}

// clipping makes a compressor clip at c standard deviations.
func clipping(c float64, made Compressor) Compressor {
	return must(made, made.(Clipper).Clip(c))
}

// zoo returns every compressor for vectors of d ≥ 1 coordinates.
func zoo(d int) map[string]Compressor {
	k := 1 + (d-1)/3
	return map[string]Compressor{
		"full":                   Full{},
		"linear nearest":         must(NewLinear(0.25, Nearest, 1)),
		"linear stochastic":      must(NewLinear(0.01, Stochastic, 1)),
		"minmax 1 bit":           must(NewMinMax(1, 0, Nearest, 1)),
		"minmax 3 bits in fives": must(NewMinMax(3, 5, Nearest, 1)),
		"minmax 8 bits":          must(NewMinMax(8, 0, Stochastic, 1)),
		"minmax 16 bits":         must(NewMinMax(16, 1000, Nearest, 1)),
		"qsgd 2 bits in fives":   must(NewQSGD(2, 5, LInf, 1)),
		"qsgd 4 bits":            must(NewQSGD(4, 0, L2, 1)),
		"qsgd 8 bits":            must(NewQSGD(8, 1000, LInf, 1)),
		"qsgd of 3 levels":       must(NewQSGDLevels(3, 0, LInf, 1)),
		"qsgd of 9 in sevens":    must(NewQSGDLevels(9, 7, L2, 1)),
		"qsgd of 255 levels":     must(NewQSGDLevels(255, 0, LInf, 1)),
		"nuqsgd of 5 levels":     must(NewNUQSGDLevels(5, 9, L2, Zero, 1)),
		"nuqsgd of 6 levels":     must(NewNUQSGDLevels(6, 0, LInf, Symmetric, 1)),
		"qsgd of 5 scaled":       scaled(NewQSGDLevels(5, 0, L2, 1)),
		"qsgd scaled":            scaled(NewQSGD(2, 0, L2, 1)),
		"qsgd scaled in nines":   scaled(NewQSGD(3, 9, LInf, 1)),
		"nuqsgd":                 must(NewNUQSGD(3, 0, L2, Zero, 1)),
		"nuqsgd 2 bits in fives": must(NewNUQSGD(2, 5, LInf, Zero, 1)),
		"nuqsgd 8 bits":          must(NewNUQSGD(8, 1000, L2, Zero, 1)),
		"nuqsgd sym":             must(NewNUQSGD(4, 0, LInf, Symmetric, 1)),
		"nuqsgd sym 8 bits":      must(NewNUQSGD(8, 9, L2, Symmetric, 1)),
		"levels of one bit":      must(NewLevels(Table{Symmetric, []float64{-1, 1}}, 0, LInf, 1)),
		"levels scaled":          scaled(NewLevels(Table{Zero, []float64{0, 0.1, 0.3, 1}}, 7, L2, 1)),
		"nuqsgd sym scaled":      scaled(NewNUQSGD(3, 11, L2, Symmetric, 1)),
		"alq":                    adaptive(ALQ, 3, 0, LInf, Zero),
		"alq 2 bits in fives":    adaptive(ALQ, 2, 5, LInf, Zero),
		"alq sym":                adaptive(ALQ, 4, 9, L2, Symmetric),
		"alqn clipped":           clipping(2.5, adaptive(ALQN, 3, 100, LInf, Zero)),
		"alqgn 8 bits":           adaptive(ALQGN, 8, 1000, LInf, Zero),
		"amq":                    adaptive(AMQ, 3, 7, L2, Symmetric),
		"amqn scaled":            scaled(adaptive(AMQN, 4, 0, LInf, Symmetric), nil),
		"minmax scaled":          scaled(NewMinMax(2, 6, Stochastic, 1)),
		"terngrad":               must(NewTernGrad(0, 1)),
		"terngrad in sevens":     must(NewTernGrad(7, 1)),
		"terngrad clipped":       clipping(2.5, must(NewTernGrad(100, 1))),
		"terngrad scaled":        scaled(NewTernGrad(50, 1)),
		"orq of 3":               must(NewORQ(3, 0, 1)),
		"orq of 5 in elevens":    must(NewORQ(5, 11, 1)),
		"orq of 9":               must(NewORQ(9, 1000, 1)),
		"orq of 129":             must(NewORQ(129, 0, 1)),
		"orq of 6 in sevens":     must(NewORQ(6, 7, 1)),
		"orq of 256":             must(NewORQ(256, 0, 1)),
		"orq scaled":             scaled(NewORQ(3, 10, 1)),
		"linear_s of 2":          must(NewQuantiles(2, 0, 1)),
		"linear_s of 5 in nines": must(NewQuantiles(5, 9, 1)),
		"linear_s of 256":        must(NewQuantiles(256, 1000, 1)),
		"linear_s scaled":        scaled(NewQuantiles(4, 7, 1)),
		"bingrad_pb":             must(NewBinGradPB(0, 1)),
		"bingrad_pb in nines":    must(NewBinGradPB(9, 1)),
		"bingrad_b":              must(NewBinGradB(Mean, 0)),
		"bingrad_b in nines":     must(NewBinGradB(Mean, 9)),
		"bingrad_b by lloyd":     must(NewBinGradB(Lloyd, 700)),
		"sign":                   must(NewSign(0)),
		"sign in sevens":         must(NewSign(7)),
		"topk":                   must(NewTopK(k)),
		"topk of all":            must(NewTopK(d)),
		"randomk":                must(NewRandomK(k, AsIs, 1)),
		"randomk amplified":      must(NewRandomK(k, Amplified, 1)),
	}
}

// decoded returns C(z) from a payload.
func decoded(t *testing.T, c Compressor, k, d int, payload []byte) []float32 {
	t.Helper()
	out := make([]float32, d)
	if err := c.AddTo(out, 1, k, payload); err != nil {
		t.Fatal(err)
	}
	return out
}

// awkward returns vectors that break careless quantizers.
func awkward() map[string][]float32 {
	outlier := make([]float32, 2100)
	for i := range outlier {
		outlier[i] = float32(math.Sin(float64(i))) / 100
	}
	outlier[77] = -1e6
	return map[string][]float32{
		"one":              {0.3},
		"one zero":         {0},
		"zeros":            make([]float32, 33),
		"negative zero":    {float32(math.Copysign(0, -1)), 0, 1},
		"constant":         slices.Repeat([]float32{-0.7}, 19),
		"two values":       {1, 2, 1, 2, 1},
		"one outlier":      outlier,
		"denormal":         {1e-45, -1e-45, 3e-42, 0, 1e-40},
		"denormal between": {1, 1 + 1.0/(1<<23), 1},
		"half steps":       {0.125, -0.125, 0.375, -0.375, 0.625},
	}
}

func TestCompressorsAreExactAtBothEnds(t *testing.T) {
	for what, z := range awkward() {
		for name, c := range zoo(len(z)) {
			if _, linear := c.(*Linear); linear && what == "one outlier" {
				continue // exceeds the int32 of its indices
			}
			payload, err := c.Compress([]byte("header"), 3, z)
			if err != nil {
				t.Errorf("%s of %s: %v", name, what, err)
				continue
			}
			if !bytes.HasPrefix(payload, []byte("header")) || len(payload) != 6+c.Len(len(z)) {
				t.Errorf("%s of %s: %d bytes, Len says %d", name, what, len(payload)-6, c.Len(len(z)))
			}
			sender := decoded(t, c, 3, len(z), payload[6:])
			receiver := decoded(t, zoo(len(z))[name], 3, len(z), bytes.Clone(payload[6:]))
			for i, v := range sender {
				if math.Float32bits(v) != math.Float32bits(receiver[i]) || !finite(v) {
					t.Fatalf("%s of %s: coordinate %d: %v at the sender, %v at the receiver", name, what, i, v, receiver[i])
				}
				if what == "zeros" && v != 0 {
					t.Fatalf("%s: zeros became %v", name, v)
				}
				if what == "constant" && strings.HasPrefix(name, "minmax") && v != z[i] {
					t.Fatalf("%s: a constant %v became %v", name, z[i], v)
				}
			}
		}
	}
}

func TestCompressorsOfNothing(t *testing.T) {
	for name, c := range zoo(1) {
		payload, err := c.Compress(nil, 0, nil)
		switch c.(type) {
		case *TopK, *RandomK:
			if err == nil {
				t.Errorf("%s: kept coordinates of none", name)
			}
		default:
			if err != nil || len(payload) != 0 || c.AddTo(nil, 1, 0, payload) != nil {
				t.Errorf("%s: % x, %v", name, payload, err)
			}
		}
	}
}

// The properties of a compressor hold for random vectors.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := rapid.SliceOfN(rapid.Float32Range(-5, 5), 1, 40).Draw(rt, "z")
		k := rapid.IntRange(0, 1000).Draw(rt, "k")
		for name, c := range zoo(len(z)) {
			payload, err := c.Compress(nil, k, z)
			if err != nil {
				rt.Fatal(err)
			}
			if off, length := squaredError(t, c, k, z); c.Properties().Contraction && off > length*(1+1e-6) {
				rt.Errorf("%s: no contraction: %v of %v", name, off, length)
			}
			again, err := c.Compress(nil, k+1, z)
			if err != nil {
				rt.Fatal(err)
			}
			if c.Properties().Deterministic && !bytes.Equal(payload, again) {
				rt.Errorf("%s: not deterministic", name)
			}
		}
	})
}

// squaredError returns |C(z) − z|², the mean of 32 rounds from k on, and |z|².
func squaredError(t *testing.T, c Compressor, k int, z []float32) (off, length float64) {
	t.Helper()
	const rounds = 32
	for _, v := range z {
		length += float64(v) * float64(v)
	}
	for round := range rounds {
		payload, err := c.Compress(nil, k+round, z)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range decoded(t, c, k+round, len(z), payload) {
			off += (float64(z[i]) - float64(v)) * (float64(z[i]) - float64(v)) / rounds
		}
	}
	return off, length
}

// The mean of n draws of a coordinate is within five standard deviations.
func TestUnbiasedCompressorsAreUnbiased(t *testing.T) {
	const rounds = 4000
	z := []float32{0.3, -0.77, 0.1234, 2, -1.5, 0.0042, 0.9}
	for name, c := range zoo(len(z)) {
		if !c.Properties().Unbiased {
			continue
		}
		sum, squares := make([]float64, len(z)), make([]float64, len(z))
		for k := range rounds {
			payload, err := c.Compress(nil, k, z)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range decoded(t, c, k, len(z), payload) {
				sum[i] += float64(v)
				squares[i] += (float64(v) - float64(z[i])) * (float64(v) - float64(z[i]))
			}
		}
		for i, v := range z {
			deviation := math.Sqrt(squares[i]/rounds/rounds) + 1e-7
			if math.Abs(sum[i]/rounds-float64(v)) > 5*deviation {
				t.Errorf("%s: coordinate %d: mean %v, want %v ± %v", name, i, sum[i]/rounds, v, deviation)
			}
		}
	}
}

func TestCompressByHand(t *testing.T) {
	tests := []struct {
		name string
		c    Compressor
		z    []float32
		want []float32
		size int
	}{
		{"half steps go up", must(NewLinear(1, Nearest, 0)), []float32{0.5, -0.5, -1.5, 2.4}, []float32{1, 0, -1, 2}, 16},
		{"minmax of two bits", must(NewMinMax(2, 0, Nearest, 0)), []float32{0, 3, 1.5, 1.4}, []float32{0, 3, 2, 1}, 9},
		{"minmax with a short last bucket", must(NewMinMax(1, 2, Nearest, 0)), []float32{0, 4, 7}, []float32{0, 4, 7}, 18},
		{"qsgd on its grid", must(NewQSGD(3, 0, LInf, 0)), []float32{-3, 0, 2, -1}, []float32{-3, 0, 2, -1}, 6},
		{"qsgd by the length", must(NewQSGD(2, 1, L2, 0)), []float32{-3, 0.5}, []float32{-3, 0.5}, 10},
		{"qsgd scaled by 1/(1+1/9)", scaled(NewQSGD(3, 1, L2, 0)), []float32{10, -20}, []float32{9, -18}, 10},
		{"the sign of zero is +", must(NewSign(0)), []float32{-3, 0, 1.5, -1.5}, []float32{-1.5, 1.5, 1.5, -1.5}, 5},
		{"ties go to the lowest index", must(NewTopK(3)), []float32{1, -2, 2, 3, 2}, []float32{0, -2, 2, 3, 0}, 24},
		{"zeros may be largest", must(NewTopK(2)), []float32{0, 0, 0}, []float32{0, 0, 0}, 16},
	}
	for _, test := range tests {
		payload, err := test.c.Compress(nil, 0, test.z)
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded(t, test.c, 0, len(test.z), payload); !slices.Equal(got, test.want) || len(payload) != test.size {
			t.Errorf("%s: %v in %d bytes, want %v in %d", test.name, got, len(payload), test.want, test.size)
		}
	}
}

// TopK agrees with sorting.
func TestTopKIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom([]float32{0, 1, -1, 2, 1e-40, -1e-40, 3e38}), rapid.Float32Range(-1e30, 1e30))
		z := rapid.SliceOfN(value, 1, 60).Draw(rt, "z")
		k := rapid.IntRange(1, len(z)).Draw(rt, "k")
		order := make([]int, len(z))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(magnitude(z[b]), magnitude(z[a])) })
		want := make([]float32, len(z))
		for _, i := range order[:k] {
			want[i] = z[i]
		}
		c := must(NewTopK(k))
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			rt.Fatal(err)
		}
		if got := decoded(t, c, 0, len(z), payload); !slices.Equal(got, want) {
			rt.Fatalf("top %d of %v: %v, want %v", k, z, got, want)
		}
	})
}

func TestCompressorsRefuse(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, bad := range []float32{nan, inf, -inf} {
		z := []float32{1, bad, 2}
		for name, c := range zoo(3) {
			if got, err := c.Compress([]byte{9}, 0, z); err == nil || !slices.Equal(got, []byte{9}) {
				t.Errorf("%s of %v: % x, %v", name, bad, got, err)
			}
		}
	}
	got, err := must(NewLinear(1e-6, Nearest, 0)).Compress([]byte{9}, 0, []float32{0, 3000})
	if err == nil || len(got) != 1 {
		t.Errorf("an index beyond int32: % x, %v", got, err)
	}
	if _, err := must(NewRandomK(1, Amplified, 0)).Compress(nil, 0, []float32{3e38, 3e38, 3e38}); err == nil {
		t.Error("an amplified value of Inf was sent")
	}
	if got, err := must(NewQSGD(4, 0, L2, 0)).Compress([]byte{9}, 0, []float32{3e38, 3e38}); err == nil || len(got) != 1 {
		t.Errorf("a norm of Inf: % x, %v", got, err)
	}
	for what, err := range map[string]error{
		"step 0":     second(NewLinear(0, Nearest, 0)),
		"step NaN":   second(NewLinear(math.NaN(), Nearest, 0)),
		"0 bits":     second(NewMinMax(0, 0, Nearest, 0)),
		"17 bits":    second(NewMinMax(17, 0, Nearest, 0)),
		"a bucket":   second(NewMinMax(2, -1, Nearest, 0)),
		"a bucket 2": second(NewSign(-1)),
		"1 bit":      second(NewQSGD(1, 0, LInf, 0)),
		"9 bits":     second(NewQSGD(9, 0, LInf, 0)),
		"1 level":    second(NewQSGDLevels(1, 0, LInf, 0)),
		"4 levels":   second(NewQSGDLevels(4, 0, LInf, 0)),
		"257 levels": second(NewQSGDLevels(257, 0, LInf, 0)),
		"3 sym":      second(NewNUQSGDLevels(3, 0, LInf, Symmetric, 0)),
		"a bucket 3": second(NewQSGD(4, -1, LInf, 0)),
		"a norm":     second(ParseNorm("l1")),
		"top 0":      second(NewTopK(0)),
		"random 0":   second(NewRandomK(0, AsIs, 0)),
		"a mode":     second(ParseMode("dither")),
	} {
		if err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// FuzzAddTo feeds bytes that a neighbour might send.
func FuzzAddTo(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 128, 63, 1}, uint16(3))
	f.Add([]byte{0, 0, 192, 127, 5}, uint16(3))
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0}, 4), uint16(4))
	f.Add([]byte{0, 0, 128, 63, 0x98}, uint16(1))
	f.Fuzz(func(t *testing.T, payload []byte, dim uint16) {
		d := 1 + int(dim)%300
		for name, c := range zoo(d) {
			acc := make([]float32, d)
			acc[0] = 5
			before := slices.Clone(acc)
			err := c.AddTo(acc, 0.5, 1, payload)
			if (err != nil) != (c.Check(d, payload) != nil) {
				t.Fatalf("%s: Check and AddTo disagree: %v", name, err)
			}
			if err != nil && !slices.Equal(acc, before) {
				t.Fatalf("%s: refused, but added", name)
			}
			for i, v := range acc {
				if !finite(v) {
					t.Fatalf("%s: coordinate %d became %v", name, i, v)
				}
			}
		}
	})
}

func TestDamagedPayloadsAreRefused(t *testing.T) {
	z := []float32{0.5, -1, 2, 0.25, 3, -4, 1, 1, 2}
	for name, c := range zoo(len(z)) {
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		for _, damaged := range [][]byte{nil, payload[1:], append(bytes.Clone(payload), 0)} {
			if c.Check(len(z), damaged) == nil {
				t.Errorf("%s: %d bytes instead of %d are accepted", name, len(damaged), len(payload))
			}
		}
	}
	reversed := []byte{2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}
	if must(NewTopK(2)).Check(9, reversed) == nil {
		t.Error("decreasing indices are accepted")
	}
}

func TestCompressorsAllocateNothing(t *testing.T) {
	const d = 5000
	z := make([]float32, d)
	for i := range z {
		z[i] = float32(math.Sin(float64(i)))
	}
	for name, c := range zoo(d) {
		acc, round := make([]float32, d), 0
		payload, err := c.Compress(nil, 0, z)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(20, func() {
			round++
			payload, _ = c.Compress(payload[:0], round, z)
			if err := c.AddTo(acc, 0.5, round, payload); err != nil {
				t.Error(err)
			}
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
