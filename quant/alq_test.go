package quant

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/vec"
)

// adaptive returns a compressor that fits its table in rounds 0, 1000, 2000, ...
func adaptive(fit Fit, bits, bucket int, norm Norm, form Form) *Adaptive {
	a, err := NewAdaptive(AdaptiveOptions{Fit: fit, Bits: bits, Bucket: bucket, Norm: norm, Form: form}, 1)
	must(a, err)
	must(a, a.Refit([]int{0}, 1000))
	return a
}

// fits returns a compressor for each fit and form.
func fits() map[string]*Adaptive {
	all := map[string]*Adaptive{}
	for fit := ALQ; fit <= AMQN; fit++ {
		if fit < AMQ {
			all[fit.String()+" zero"] = adaptive(fit, 3, 7, LInf, Zero)
		}
		all[fit.String()+" sym"] = adaptive(fit, 4, 1000, L2, Symmetric)
		a, err := NewAdaptive(AdaptiveOptions{Fit: fit, Levels: 6, Bucket: 9, Form: Symmetric}, 1)
		must(a, err)
		must(a, a.Refit([]int{0}, 1000))
		all[fit.String()+" of 6 levels"] = a
	}
	return all
}

// gaussian returns the gradient of a network whose layers differ in scale: d
// normal numbers in layers of 3·8192, each with a deviation of its own.
func gaussian(d int) []float32 {
	key, z := rng.At(5, 0), make([]float32, d)
	for i := range z {
		layer := float64(i / (3 * 8192))
		u, v := 1-float64(key.Uniform(uint32(2*i))), float64(key.Uniform(uint32(2*i+1)))
		z[i] = float32(math.Exp(-layer) * math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
	}
	return z
}

// The claim of the paper: at 3 bits and with buckets of 8192, adaptive levels have
// less variance than QSGD with the largest magnitude as norm, NUQSGD and TernGrad.
func TestAdaptiveLevelsHaveLessVariance(t *testing.T) {
	const bits, bucket = 3, 8192
	z := gaussian(10 * bucket)
	variance := func(c interface{ Variance(z []float32) float64 }, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c.Variance(z) / vec.Dot(z, z)
	}
	qsgd := variance(NewQSGD(bits, bucket, LInf, 1))
	nuqsgd := variance(NewNUQSGD(bits, bucket, LInf, Zero, 1))
	terngrad := variance(NewTernGrad(bucket, 1))
	for fit := ALQ; fit <= AMQN; fit++ {
		form := Zero
		if fit >= AMQ {
			form = Symmetric
		}
		a := adaptive(fit, bits, bucket, LInf, form)
		before := variance(a, nil)
		if _, err := a.Compress(nil, 0, z); err != nil {
			t.Fatal(err)
		}
		got := variance(a, nil)
		t.Logf("%v: %.4f after %.4f; qsgd %.4f, nuqsgd %.4f, terngrad %.4f", fit, got, before, qsgd, nuqsgd, terngrad)
		if got >= before {
			t.Errorf("%v: fitted: %v, before: %v", fit, got, before)
		}
		if got >= qsgd || got >= nuqsgd || got >= terngrad {
			t.Errorf("%v: %v, qsgd: %v, nuqsgd: %v, terngrad: %v", fit, got, qsgd, nuqsgd, terngrad)
		}
	}
}

// A receiver without history decodes any payload as the sender does, before and after fits, and in any
// order.
func TestAdaptiveTablesTravel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		z := rapid.SliceOfN(rapid.Float32Range(-5, 5), 1, 40).Draw(rt, "z")
		for name, sender := range fits() {
			if err := sender.Refit([]int{1, 2}, 0); err != nil {
				rt.Fatal(err)
			}
			var sent [][]byte
			var want [][]float32
			for k := range 3 {
				payload, err := sender.Compress(nil, k, z)
				if err != nil {
					rt.Fatal(err)
				}
				sent, want = append(sent, payload), append(want, decoded(t, sender, k, len(z), payload))
				z[k%len(z)] *= 0.1
			}
			for k := 2; k >= 0; k-- {
				if got := decoded(t, fits()[name], k, len(z), sent[k]); !slices.Equal(got, want[k]) {
					rt.Fatalf("%s: round %d: %v at the receiver, %v at the sender", name, k, got, want[k])
				}
				if again := decoded(t, sender, k, len(z), sent[k]); !slices.Equal(again, want[k]) {
					rt.Fatalf("%s: round %d: %v at the sender, later %v", name, k, want[k], again)
				}
			}
		}
	})
}

// After a fit to any vector, decoded values are finite, and zeros stay zeros.
func TestAdaptiveLevelsOfAwkwardVectors(t *testing.T) {
	for what, z := range awkward() {
		for name, c := range fits() {
			payload, err := c.Compress(nil, 0, z)
			if err != nil {
				t.Errorf("%s of %s: %v", name, what, err)
				continue
			}
			for i, v := range decoded(t, fits()[name], 0, len(z), payload) {
				if !finite(v) || what == "zeros" && v != 0 {
					t.Fatalf("%s of %s: coordinate %d became %v", name, what, i, v)
				}
			}
			if err := c.Table().Check(); err != nil {
				t.Errorf("%s of %s: %v", name, what, err)
			}
		}
	}
}

func TestAdaptivePayloadEndsWithItsTable(t *testing.T) {
	for name, test := range map[string]struct {
		c    *Adaptive
		free []float32
		size int
	}{
		"alq":     {adaptive(ALQ, 3, 0, LInf, Zero), []float32{1. / 3, 2. / 3}, 8 + 4 + 3},
		"alq sym": {adaptive(ALQ, 2, 0, LInf, Symmetric), []float32{1. / 3}, 4 + 4 + 2},
		"amq":     {adaptive(AMQ, 3, 0, LInf, Symmetric), []float32{0.125, 0.25, 0.5}, 12 + 4 + 3},
		"2 bits":  {adaptive(ALQ, 2, 0, LInf, Zero), nil, 4 + 2},
	} {
		must(test.c, test.c.Refit(nil, 0))
		payload, err := test.c.Compress(nil, 7, make([]float32, 8))
		if err != nil {
			t.Fatal(err)
		}
		var free []float32
		for i := range test.free {
			free = append(free, float32At(payload[len(payload)-4*len(test.free):], i))
		}
		if !slices.Equal(free, test.free) || len(payload) != test.size {
			t.Errorf("%s: %v in %d bytes, want %v in %d", name, free, len(payload), test.free, test.size)
		}
	}
}

func TestRefitSchedule(t *testing.T) {
	c := adaptive(ALQ, 3, 0, LInf, Zero)
	for _, test := range []struct {
		at    []int
		every int
		want  []int // rounds with a fit, of rounds 0 to 30
	}{
		{nil, 0, nil},
		{[]int{0}, 0, []int{0}},
		{nil, 10, []int{10, 20, 30}},
		{[]int{12, 3}, 10, []int{3, 12, 20, 30}},
		{[]int{30, 3}, 5, []int{3, 30}},
	} {
		if err := c.Refit(test.at, test.every); err != nil {
			t.Fatal(err)
		}
		c.latest = -1
		var got []int
		for k := range 31 {
			if c.due(k) {
				c.latest = k
				got = append(got, k)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v and every %d: %v, want %v", test.at, test.every, got, test.want)
		}
	}
}

// A compressor used in some rounds only, as with local steps, fits in its first round after one of the
// schedule, and once for several of them.
func TestFitsThatWereMissedAreMadeUpFor(t *testing.T) {
	c := adaptive(ALQ, 3, 4, L2, Zero)
	if err := c.Refit([]int{4, 5}, 10); err != nil {
		t.Fatal(err)
	}
	z := []float32{0.1, 0.2, -0.05, 1, 0.3, 0.1, 0.02}
	var fitted []int
	for k := 3; k < 40; k += 4 {
		z[0] *= -1.1
		before := c.Table()
		if _, err := c.Compress(nil, k, z); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Table().Levels, before.Levels) {
			fitted = append(fitted, k)
		}
	}
	if want := []int{7, 11, 23, 31}; !slices.Equal(fitted, want) {
		t.Errorf("fitted in rounds %v, want %v", fitted, want)
	}
}

// The table changes only in the rounds of the schedule, and not in a round that fails.
func TestTablesChangeOnSchedule(t *testing.T) {
	c := adaptive(ALQ, 3, 4, L2, Zero)
	if err := c.Refit([]int{2, 5}, 0); err != nil {
		t.Fatal(err)
	}
	z, table := []float32{0.1, 0.2, -0.05, 1, 0.3, 0.1, 0.02}, c.Table()
	for k := range 7 {
		if k == 5 {
			huge := []float32{1, 2, 3, 4, 3e38, 3e38, 3e38} // its length exceeds the range of float32
			if got, err := c.Compress([]byte{9}, k, huge); err == nil || len(got) != 1 {
				t.Errorf("a norm of Inf: % x, %v", got, err)
			}
			z[0] = 0.7
			if !slices.Equal(c.Table().Levels, table.Levels) {
				t.Error("a failed round has changed the table")
			}
		}
		if _, err := c.Compress(nil, k, z); err != nil {
			t.Fatal(err)
		}
		if changed := !slices.Equal(c.Table().Levels, table.Levels); changed != (k == 2 || k == 5) {
			t.Errorf("round %d: changed: %v", k, changed)
		}
		table = c.Table()
	}
}

// A fit uses a few of many buckets, which depend only on the round.
func TestFitsLookAtAFewBuckets(t *testing.T) {
	z := gaussian(1000)
	for i := range z {
		z[i] = float32(math.Pow(math.Abs(float64(z[i])), 1+float64(i/10)/50)) // all buckets differ
	}
	table := func(round int) []float64 {
		c := adaptive(ALQN, 4, 10, LInf, Zero)
		if err := c.Refit([]int{round}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compress(nil, round, z); err != nil {
			t.Fatal(err)
		}
		if len(c.buckets) != fitBuckets {
			t.Errorf("round %d: looked at %d buckets, want %d", round, len(c.buckets), fitBuckets)
		}
		return c.Table().Levels
	}
	first := table(3)
	if !slices.Equal(first, table(3)) {
		t.Error("the same round fits another table")
	}
	if slices.Equal(first, table(4)) {
		t.Error("another round looks at the same buckets")
	}
}

// A fit sees clipped values: without its outlier, the levels of a bucket reach as far as the rest of
// it.
func TestFitsSeeClippedValues(t *testing.T) {
	z := gaussian(5000)
	z[4] = 1000
	table := func(clip float64) []float64 {
		c := adaptive(ALQ, 3, 0, LInf, Zero)
		if err := c.Clip(clip); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compress(nil, 0, z); err != nil {
			t.Fatal(err)
		}
		return c.Table().Levels
	}
	if plain, clipped := table(0), table(0.1); clipped[1] < 10*plain[1] {
		t.Errorf("levels %v, after clipping %v", plain, clipped)
	}
}

func TestAdaptiveLevelsRefuse(t *testing.T) {
	refused := func(o AdaptiveOptions) error { return second(NewAdaptive(o, 0)) }
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"1 bit":          {refused(AdaptiveOptions{Fit: ALQ, Bits: 1}), "alq: 1 bits: must be 2 to 8"},
		"9 bits":         {refused(AdaptiveOptions{Fit: AMQN, Bits: 9, Form: Symmetric}), "amqn: 9 bits"},
		"5 levels":       {refused(AdaptiveOptions{Fit: ALQ, Levels: 4}), "alq: 4 levels: must be an odd number from 3"},
		"sym 5 levels":   {refused(AdaptiveOptions{Fit: ALQ, Levels: 5, Form: Symmetric}), "must be an even number"},
		"amq with zero":  {refused(AdaptiveOptions{Fit: AMQ, Bits: 3, Form: Zero}), "the variant must be sym"},
		"a bucket":       {refused(AdaptiveOptions{Fit: ALQ, Bits: 3, Bucket: -1}), "bucket of -1"},
		"round -1":       {adaptive(ALQ, 3, 0, LInf, Zero).Refit([]int{-1}, 0), "a fit in round -1"},
		"every -1 round": {adaptive(ALQ, 3, 0, LInf, Zero).Refit(nil, -1), "a fit every -1 rounds"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, test.err, test.want)
		}
	}
	z := []float32{0.1, 0.2, -0.05, 1}
	c := adaptive(ALQ, 3, 0, LInf, Zero)
	payload, err := c.Compress(nil, 1, z)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range [][2]float64{
		{0.6, 0.5}, {-0.1, 0.5}, {0.5, 1.1}, {math.NaN(), 0.5}, {0.5, math.NaN()}, {0.5, math.Inf(1)},
	} {
		bad := bytes.Clone(payload)
		for i, level := range table {
			binary.LittleEndian.PutUint32(bad[len(bad)-8+4*i:], math.Float32bits(float32(level)))
		}
		acc := make([]float32, len(z))
		if c.Check(len(z), bad) == nil || c.AddTo(acc, 1, 1, bad) == nil || slices.Max(acc) != 0 {
			t.Errorf("a table with %v is accepted", table)
		}
	}
}

// FuzzAdaptive feeds tables that a neighbour might send, in payloads of the
// right length.
func FuzzAdaptive(f *testing.F) {
	f.Add([]byte{0, 0, 0, 63, 0, 0, 64, 63}, []byte{0, 0, 128, 63, 0xff})
	f.Add([]byte{0, 0, 192, 127}, []byte{})
	f.Fuzz(func(t *testing.T, table, buckets []byte) {
		const d = 9
		for name, c := range fits() {
			payload := make([]byte, c.Len(d))
			copy(payload, buckets)
			copy(payload[c.levels.Len(d):], table)
			acc := make([]float32, d)
			err := c.AddTo(acc, 0.5, 0, payload)
			if (err == nil) != (c.Check(d, payload) == nil) {
				t.Fatalf("%s: Check and AddTo disagree: %v", name, err)
			}
			for i, v := range acc {
				if !finite(v) || err != nil && v != 0 {
					t.Fatalf("%s: %v: coordinate %d became %v", name, err, i, v)
				}
			}
		}
	})
}
