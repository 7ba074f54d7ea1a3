package levels

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

func mix(t testing.TB, components ...Component) *Mixture {
	t.Helper()
	m, err := NewMixture(components...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// several returns a mixture like that of the layers of a network.
func several(t testing.TB) *Mixture {
	return mix(t, Component{0.01, 0.02, 4}, Component{0.05, 0.09, 1}, Component{0.02, 0.05, 9})
}

// integral computes an integral by Simpson's rule.
func integral(a, b float64, f func(float64) float64) float64 {
	const n = 4000
	h, sum := (b-a)/n, f(a)+f(b)
	for i := 1; i < n; i++ {
		sum += float64(2+2*(i%2)) * f(a+float64(i)*h)
	}
	return sum * h / 3
}

func close(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestMixtureIsTheIntegralOfItsDensity(t *testing.T) {
	m := several(t)
	for _, cell := range [][2]float64{{0, 0.01}, {0, 1}, {0.03, 0.2}, {0.4, 0.5}, {0.9, 1}} {
		a, b := cell[0], cell[1]
		from, to := m.point(a), m.point(b)
		got := m.between(from, to)
		moment := func(k float64) float64 {
			return integral(a, b, func(r float64) float64 { return math.Pow(r-a, k) * m.Density(r) })
		}
		close(t, fmt.Sprintf("mass in %v", cell), got.mass, moment(0), 1e-9)
		close(t, fmt.Sprintf("first moment in %v", cell), got.first, moment(1), 1e-9)
		close(t, fmt.Sprintf("second moment in %v", cell), got.second, moment(2), 1e-7)
		close(t, fmt.Sprintf("M in %v", cell), m.Moment(a, b), moment(1)+a*moment(0), 1e-9)
	}
	close(t, "F(1)", m.F(1), 1, 1e-15)
	if m.F(0) != 0 || m.F(-3) != 0 {
		t.Errorf("F(0) = %v, F(-3) = %v", m.F(0), m.F(-3))
	}
}

// Mixtures are precise in the far tail, where 1 − F is below the precision of F.
func TestMixtureIsPreciseFarFromItsMean(t *testing.T) {
	m := mix(t, Component{0.02, 0.03, 1})
	a, b := m.point(0.9), m.point(1)
	close(t, "mass", m.between(a, b).mass, integral(0.9, 1, m.Density), 1e-8)
	outside := mix(t, Component{-0.3, 0.03, 1}) // ten deviations below 0
	close(t, "mass", outside.F(0.001), integral(0, 0.001, outside.Density), 1e-9)
	close(t, "all of it", outside.F(1), 1, 1e-15)
}

func TestQuantiles(t *testing.T) {
	m := several(t)
	for _, q := range []float64{1e-6, 0.1, 0.5, 0.9, 1 - 1e-9} {
		close(t, fmt.Sprint("F of the quantile ", q), m.F(m.Quantile(q)), q, 1e-9)
	}
	if x := mix(t, Component{0.25, 0, 1}).Quantile(0.3); math.Abs(x-0.25) > 1e-12 {
		t.Errorf("a quantile of an atom at 0.25 is %v", x)
	}
}

// forms are the tables with as many levels.
var forms = map[string]Form{"with zero": WithZero, "symmetric": Symmetric}

// No table near a fitted one is better.
func TestALQIsALocalMinimum(t *testing.T) {
	m := several(t)
	for name, form := range forms {
		for _, h := range []int{3, 4, 8} {
			table := ALQ(form, h, m)
			CoordinateDescent(form, table, m, 1000) // many more than the ten sweeps
			least := Variance(form, table, m)
			first := 1 - int(form) // 0 stays
			for j := first; j < h-1; j++ {
				for _, by := range []float64{-1e-3, 1e-3} {
					moved := slices.Clone(table)
					moved[j] *= 1 + by
					if got := Variance(form, moved, m); got < least {
						t.Errorf("%s, %d levels: level %d times %v: %v is less than %v", name, h, j, 1+by, got, least)
					}
				}
			}
		}
	}
}

func TestFitsImproveOnEveryStart(t *testing.T) {
	m := several(t)
	for name, form := range forms {
		for _, h := range []int{3, 4, 8, 16} {
			alq := Variance(form, ALQ(form, h, m), m)
			alqg := Variance(form, ALQG(form, h, m), m)
			for _, start := range [][]float64{Uniform(form, h), Exponential(form, h, 0.5), Quantiles(form, h, m)} {
				if v := Variance(form, start, m); v < alq || v < alqg {
					t.Errorf("%s, %d levels: %v from %v; ALQ has %v, ALQG %v", name, h, v, start, alq, alqg)
				}
			}
		}
	}
	for _, h := range []int{2, 4, 8} {
		amq := Variance(Symmetric, AMQ(h, m, 0.5), m)
		for p := 0.02; p < 0.99; p += 0.01 {
			if v := Variance(Symmetric, Exponential(Symmetric, h, p), m); v < amq*(1-1e-3) {
				t.Errorf("%d levels: p = %v has %v, AMQ %v", h, p, v, amq)
			}
		}
	}
}

// The printed derivatives agree with differences of the objective.
func TestGradientsAreThoseOfTheVariance(t *testing.T) {
	m := several(t)
	for _, p := range []float64{0.2, 0.5, 0.8} {
		const by = 1e-5
		variance := func(p float64) float64 { return Variance(Symmetric, Exponential(Symmetric, 4, p), m) }
		close(t, fmt.Sprint("g at ", p), HalfGradient(3, p, m), (variance(p+by)-variance(p-by))/(2*by), 1e-4)
	}
	for name, form := range forms {
		table := Uniform(form, 4)
		const rate, by = 1e-3, 1e-5
		for j := 1 - int(form); j < 3; j++ {
			moved := slices.Clone(table)
			moved[j] += by
			above := Variance(form, moved, m)
			moved[j] -= 2 * by
			slope := (above - Variance(form, moved, m)) / (2 * by)
			stepped := slices.Clone(table)
			GradientDescent(form, stepped, m, 1, rate)
			copy(stepped[:j], table[:j]) // the lower levels have moved first
			if j == 1-int(form) {
				close(t, fmt.Sprintf("%s: step of level %d", name, j), (table[j]-stepped[j])/rate, slope, 1e-3)
			}
			if slope*(table[j]-stepped[j]) < 0 {
				t.Errorf("%s: level %d moves uphill", name, j)
			}
		}
	}
}

func TestProbabilitiesAreThoseOfRounding(t *testing.T) {
	m := several(t)
	for name, form := range forms {
		table := ALQ(form, 4, m)
		p, sum, mean := Probabilities(form, table, m), 0.0, 0.0
		for j := range p {
			sum += p[j]
			mean += p[j] * table[j]
		}
		close(t, name+": sum", sum, 1, 1e-12)
		if form == WithZero { // then |C(r)| has the mean of r
			close(t, name+": mean", mean, m.Moment(0, 1), 1e-12)
		}
		if e := Entropy(p); e <= 0 || e > 2 {
			t.Errorf("%s: %v bits for 4 levels", name, e)
		}
	}
	if e := Entropy([]float64{0.5, 0.25, 0, 0.25}); e != 1.5 {
		t.Errorf("entropy %v, want 1.5", e)
	}
}

// Every fit returns a finite ascending table, for any observed buckets.
func TestTablesAscendOnAnyInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 0.5, 1e-300, 1e-12, 1 - 1e-12}), rapid.Float64Range(0, 1))
		bucket := rapid.Custom(func(rt *rapid.T) Bucket {
			norm := rapid.OneOf(rapid.SampledFrom([]float64{0, 1e-45, 3e38}), rapid.Float64Range(0, 10)).Draw(rt, "norm")
			return Bucket{value.Draw(rt, "mu"), value.Draw(rt, "sigma") / 2, norm}
		})
		buckets := rapid.SliceOfN(bucket, 0, 4).Draw(rt, "buckets")
		h := rapid.SampledFrom([]int{2, 3, 4, 8}).Draw(rt, "h")
		for _, m := range []*Mixture{Weighted(buckets), Averaged(buckets)} {
			tables := map[string][]float64{"AMQ": AMQ(h, m, 0.5)}
			for name, form := range forms {
				tables["ALQ "+name], tables["ALQG "+name] = ALQ(form, h, m), ALQG(form, h, m)
			}
			for name, table := range tables {
				if len(table) != h || !ascending(WithZero, table) || table[0] < 0 || table[h-1] != 1 {
					rt.Fatalf("%s of %v: %v", name, buckets, table)
				}
			}
		}
	})
}

func TestObserve(t *testing.T) {
	b := Observe([]float32{3, -1, 0, 0}, 4)
	if want := (Bucket{Mu: 0.25, Sigma: math.Sqrt(6) / 2 / 4, Norm: 4}); b != want {
		t.Errorf("%v, want %v", b, want)
	}
	if zero := Observe(make([]float32, 5), 0); zero != (Bucket{}) {
		t.Errorf("zeros: %v", zero)
	}
}

// A bucket of twice the norm counts four times in Weighted, and once in Averaged.
func TestBucketsAreWeighed(t *testing.T) {
	buckets := []Bucket{{0.1, 0.1, 1}, {0.3, 0.2, 2}, {0, 0, 0}}
	x := 0.2
	first, second := mix(t, Component{0.1, 0.1, 1}).F(x), mix(t, Component{0.3, 0.2, 1}).F(x)
	close(t, "weighted", Weighted(buckets).F(x), (first+4*second)/5, 1e-12)
	close(t, "averaged", Averaged(buckets).F(x), mix(t, Component{0.2, 0.15, 1}).F(x), 1e-12)
}

func TestMixturesThatAreNoneAreRefused(t *testing.T) {
	for _, bad := range [][]Component{
		nil, {{0.1, 0.1, 0}}, {{math.NaN(), 0.1, 1}}, {{0.1, -0.1, 1}}, {{0.1, math.Inf(1), 1}}, {{0.1, 0.1, -1}},
		{{0.1, 0.1, 1}, {0.1, 0.1, math.NaN()}},
	} {
		if m, err := NewMixture(bad...); err == nil {
			t.Errorf("%v: accepted: %v", bad, m)
		}
	}
}

// BenchmarkALQ fits 3 and 8 bits to 20 buckets of 8192 coordinates, including their statistics.
func BenchmarkALQ(b *testing.B) {
	const bucket = 8192
	v := make([]float32, 20*bucket)
	for i := range v {
		v[i] = float32(math.Sin(float64(i)) * math.Sin(float64(i)*0.37) / float64(1+i/bucket))
	}
	for _, bits := range []int{3, 8} {
		b.Run(fmt.Sprintf("%d bits", bits), func(b *testing.B) {
			for b.Loop() {
				var buckets []Bucket
				for part := range slices.Chunk(v, bucket) {
					buckets = append(buckets, Observe(part, float64(slices.Max(part))))
				}
				ALQ(WithZero, 1<<(bits-1), Weighted(buckets))
			}
		})
	}
}
