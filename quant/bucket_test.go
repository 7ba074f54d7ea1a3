package quant

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// cutter has the further methods of bucketed compressors.
type cutter interface {
	Compressor
	CompressWith(dst []byte, z, u []float32) ([]byte, error)
	Variance(z []float32) float64
	Scale() error
	Clip(c float64) error
}

// cutters returns every compressor of buckets of 7, by kind.
func cutters() map[string]cutter {
	const bucket = 7
	as := func(c Compressor) cutter { return c.(cutter) }
	return map[string]cutter{
		"minmax":            as(must(NewMinMax(2, bucket, Nearest, 1))),
		"minmax stochastic": as(must(NewMinMax(2, bucket, Stochastic, 1))),
		"qsgd":              as(must(NewQSGD(3, bucket, L2, 1))),
		"terngrad":          as(must(NewTernGrad(bucket, 1))),
		"nuqsgd":            as(must(NewNUQSGD(3, bucket, L2, Zero, 1))),
		"nuqsgd sym":        as(must(NewNUQSGD(3, bucket, LInf, Symmetric, 1))),
		"levels":            as(must(NewLevels(Table{Zero, []float64{0, 0.1, 0.1, 1}}, bucket, L2, 1))),
		"orq":               as(must(NewORQ(5, bucket, 1))),
		"linear_s":          as(must(NewQuantiles(4, bucket, 1))),
		"bingrad_pb":        as(must(NewBinGradPB(bucket, 1))),
		"bingrad_b":         as(must(NewBinGradB(Mean, bucket))),
		"bingrad_b lloyd":   as(must(NewBinGradB(Lloyd, bucket))),
		"sign":              as(must(NewSign(bucket))),
	}
}

// vectors draws up to 40 coordinates, among them equal ones, zeros, and some that are small or large
// relative to the others.
func vectors(t *rapid.T) []float32 {
	value := rapid.OneOf(
		rapid.SampledFrom([]float32{0, 1, -1, 0.5, float32(math.Copysign(0, -1)), 1e-42, -1e-42, 300}),
		rapid.Float32Range(-3, 3))
	return rapid.SliceOfN(value, 1, 40).Draw(t, "z")
}

func uniforms(t *rapid.T, n int) []float32 {
	return rapid.SliceOfN(rapid.Map(rapid.Uint32Range(0, 1<<24-1), func(i uint32) float32 {
		return float32(i) / (1 << 24)
	}), n, n).Draw(t, "u")
}

// A payload is the payloads of the buckets, one after the other, for any length of the vector.
func TestBucketsStandForThemselves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		u := uniforms(rt, len(z))
		clip := rapid.SampledFrom([]float64{0, 1.5}).Draw(rt, "clip")
		for name, c := range cutters() {
			if err := c.Clip(clip); err != nil {
				rt.Fatal(err)
			}
			whole, err := c.CompressWith(nil, z, u)
			if err != nil {
				rt.Fatal(err)
			}
			var parts []byte
			for first := 0; first < len(z); first += 7 {
				end := min(first+7, len(z))
				if parts, err = c.CompressWith(parts, z[first:end], u[first:end]); err != nil {
					rt.Fatal(err)
				}
			}
			if !bytes.Equal(whole, parts) {
				rt.Fatalf("%s: % x in one, % x in parts", name, whole, parts)
			}
		}
	})
}

// Variance is the mean of the observed squared errors.
func TestVarianceIsTheExpectedError(t *testing.T) {
	const rounds = 4000
	z := []float32{0.3, -0.77, 0.1234, 2, -1.5, 0.0042, 0.9, 0, 0.2, -0.2, 0.65}
	for name, c := range cutters() {
		mean, squares := 0.0, 0.0
		for k := range rounds {
			payload, err := c.Compress(nil, k, z)
			if err != nil {
				t.Fatal(err)
			}
			off := 0.0
			for i, v := range decoded(t, c, k, len(z), payload) {
				off += (float64(v) - float64(z[i])) * (float64(v) - float64(z[i]))
			}
			mean += off / rounds
			squares += off * off / rounds
		}
		deviation := math.Sqrt(max(0, squares-mean*mean)/rounds) + 1e-6
		if got := c.Variance(z); math.Abs(got-mean) > 5*deviation {
			t.Errorf("%s: variance %v, seen %v ± %v", name, got, mean, deviation)
		}
	}
	c := cutters()["qsgd"]
	if v := c.Variance([]float32{1, float32(math.NaN())}); !math.IsNaN(v) {
		t.Errorf("variance of NaN: %v", v)
	}
	if v := c.Variance([]float32{3e38, 3e38}); !math.IsNaN(v) {
		t.Errorf("variance beyond the floats: %v", v)
	}
}

// Scaling divides by 1+q. With the q of Variance, no other factor leaves a smaller error.
func TestScalingDividesByOnePlusQ(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)[:1]
		z = append(z, rapid.SliceOfN(rapid.Float32Range(-3, 3), 0, 6).Draw(rt, "rest")...)
		u := uniforms(rt, len(z))
		for name, plain := range cutters() {
			c := cutters()[name]
			if !plain.Properties().Unbiased {
				continue
			}
			if err := c.Scale(); err != nil || !c.Properties().Contraction || c.Properties().Unbiased {
				rt.Fatalf("%s: %v, %+v", name, err, c.Properties())
			}
			length := 0.0
			for _, v := range z {
				length += float64(v) * float64(v)
			}
			if name == "qsgd" || length < 1e-30 {
				continue // its q is a bound; or denormals
			}
			factor := 1 / (1 + plain.Variance(z)/length)
			a, err := plain.CompressWith(nil, z, u)
			if err != nil {
				rt.Fatal(err)
			}
			b, err := c.CompressWith(nil, z, u)
			if err != nil {
				rt.Fatal(err)
			}
			got := decoded(t, c, 0, len(z), b)
			for i, v := range decoded(t, plain, 0, len(z), a) {
				if want := factor * float64(v); math.Abs(float64(got[i])-want) > 1e-6*math.Sqrt(length) {
					rt.Fatalf("%s: coordinate %d: %v, want %v·%v", name, i, got[i], factor, v)
				}
			}
		}
	})
}

// The conditional expectation of |C(z) − z|² never exceeds |z|² for a contraction. In closed form it
// is (1−f)²|z|² + f²·Variance for a factor f.
func TestContractionsContractInExpectation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		length := 0.0
		for _, v := range z {
			length += float64(v) * float64(v)
		}
		for name, c := range cutters() {
			if c.Properties().Contraction && c.Variance(z) > length*(1+1e-6) {
				rt.Fatalf("%s: %v of %v", name, c.Variance(z), length)
			}
		}
	})
}

// The robust compressors have values of ±h with h the header. Their mean is ±h for sign, and otherwise
// the clipped value limited to ±h. The error is |z|² − 2zᵀE C + m·h².
func TestRobustContractionsContractWithClipping(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := vectors(rt)
		z = z[:min(len(z), 7)]
		clip := rapid.Float64Range(0.1, 3).Draw(rt, "clip")
		for name, c := range cutters() {
			if err := c.Clip(clip); err != nil {
				rt.Fatal(err)
			}
			if !c.Properties().Contraction {
				continue
			}
			payload, err := c.Compress(nil, 0, z)
			if err != nil {
				rt.Fatal(err)
			}
			h, gain, length := float64(float32At(payload, 0)), 0.0, 0.0
			for i, v := range clipped(nil, z, clip) {
				mean := min(max(float64(v), -h), h)
				if name == "sign" {
					mean = math.Copysign(h, float64(v))
				}
				gain += 2*float64(z[i])*mean - h*h
				length += float64(z[i]) * float64(z[i])
			}
			if gain < -1e-6*length {
				rt.Fatalf("%s: an error of %v times the length", name, 1-gain/length)
			}
		}
	})
}

func TestClippingLimitsToStandardDeviations(t *testing.T) {
	z := []float32{1, -1, 1, -1, 6, 0, 0}
	// Mean 6/7, mean square 40/7: σ² = 40/7 − 36/49 = 244/49.
	limit := 1.5 * math.Sqrt(244.0/49)
	got := clipped(nil, z, 1.5)
	want := slices.Clone(z)
	want[4] = float32(limit)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, c := range cutters() {
		before := c.Properties()
		if err := c.Clip(1.5); err != nil {
			t.Fatal(err)
		}
		if p := c.Properties(); p.Unbiased || p.Deterministic != before.Deterministic {
			t.Errorf("%s: clips and says %+v", name, p)
		}
		clippedPayload, err := c.CompressWith(nil, z, make([]float32, len(z)))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := cutters()[name].CompressWith(nil, want, make([]float32, len(z)))
		if err != nil || !bytes.Equal(payload, clippedPayload) {
			t.Errorf("%s: % x of the clipped vector, % x by clipping (%v)", name, payload, clippedPayload, err)
		}
	}
	for _, c := range []float64{-1, math.NaN(), math.Inf(1)} {
		if err := cutters()["orq"].Clip(c); err == nil {
			t.Errorf("clips at %v", c)
		}
	}
}

func TestOnlyTheUnbiasedAreScaled(t *testing.T) {
	for name, c := range cutters() {
		scalable := c.Properties().Scalable
		if scalable != c.Properties().Unbiased {
			t.Errorf("%s: %+v", name, c.Properties())
		}
		if err := c.Scale(); (err == nil) != scalable {
			t.Errorf("%s: scaled: %v", name, err)
		}
	}
}

func TestListedUniformsMustBeAsMany(t *testing.T) {
	for name, c := range cutters() {
		if got, err := c.CompressWith([]byte{9}, []float32{1, 2}, []float32{0.5}); err == nil || len(got) != 1 {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
}

// FuzzBuckets gives each compressor of buckets a payload of the right length.
func FuzzBuckets(f *testing.F) {
	names := slices.Sorted(maps.Keys(cutters()))
	for i := range names {
		f.Add(uint8(i), uint8(9), []byte{0, 0, 128, 63, 0, 0, 0, 64, 27})
		f.Add(uint8(i), uint8(20), []byte{0, 0, 192, 127, 1})
		f.Add(uint8(i), uint8(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, which, dim uint8, pattern []byte) {
		name, d := names[int(which)%len(names)], int(dim)
		c := cutters()[name]
		payload := make([]byte, c.Len(d))
		for i := range payload {
			if len(pattern) > 0 {
				payload[i] = pattern[i%len(pattern)]
			}
		}
		acc := make([]float32, d)
		err := c.AddTo(acc, 0.5, 1, payload)
		if (err != nil) != (c.Check(d, payload) != nil) {
			t.Fatalf("%s: Check and AddTo disagree: %v", name, err)
		}
		for i, v := range acc {
			if !finite(v) || err != nil && v != 0 {
				t.Fatalf("%s: coordinate %d became %v, error %v", name, i, v, err)
			}
		}
		if d > 0 && c.Check(d, payload[1:]) == nil {
			t.Fatalf("%s: %d bytes for %d coordinates are accepted", name, len(payload)-1, d)
		}
	})
}
