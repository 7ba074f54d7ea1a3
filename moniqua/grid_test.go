package moniqua

import (
	"math"
	"strings"
	"testing"
)

func TestGridFormulas(t *testing.T) {
	tests := []struct {
		grid                 Grid
		delta, modulus, step float64
	}{
		{Grid{2, 256, Nearest}, 1.0 / 512, 4.0 * 256 / 255, 4.0 / 255},
		{Grid{1, 2, Nearest}, 0.25, 4, 2},
		{Grid{0.5, 2, Dither}, 0.25, 2, 1},
		{Grid{1, 3, Dither}, 1.0 / 6, 3, 1},
		{Grid{1, 4, Stochastic}, 0.25, 4, 1},
		{Grid{1, 3, Shared}, 1.0 / 3, 6, 2},
		{Grid{1, 65536, Shared}, 1.0 / 65536, 2.0 * 65536 / 65534, 2.0 / 65534},
	}
	for _, test := range tests {
		g := test.grid
		if g.Delta() != test.delta || g.Modulus() != test.modulus || g.Step() != test.step {
			t.Errorf("%+v: δ %v, B %v, D %v, want %v, %v, %v",
				g, g.Delta(), g.Modulus(), g.Step(), test.delta, test.modulus, test.step)
		}
		// Lemma 2 as printed, and D as the N-th part of B.
		if b := 2 * g.Theta / (1 - 2*g.Delta()); math.Abs(b-g.Modulus()) > 1e-15*b {
			t.Errorf("%+v: B %v, but 2θ/(1−2δ) = %v", g, g.Modulus(), b)
		}
		if d := g.Modulus() / float64(g.Levels); math.Abs(d-g.Step()) > 1e-15*d {
			t.Errorf("%+v: D %v, but B/N = %v", g, g.Step(), d)
		}
	}
}

func TestNewRefusesBadSettings(t *testing.T) {
	one := func(int) float64 { return 1 }
	theta := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	tests := []struct {
		name     string
		levels   int
		rounding Rounding
		theta    func(int) float64
		want     string
	}{
		{"no levels", 0, Dither, one, "0 levels"},
		{"one level", 1, Nearest, one, "must be 2 to 65536"},
		{"too many levels", 65537, Dither, one, "must be 2 to 65536"},
		{"one bit, stochastic", 2, Stochastic, one, "makes the modulus infinite"},
		{"one bit, shared", 2, Shared, one, "use nearest or dither"},
		{"unknown rounding", 4, Rounding(4), one, "unknown mode 4"},
		{"no theta", 4, Dither, nil, "no theta"},
		{"theta 0", 4, Dither, theta(0), "theta 0: must be finite"},
		{"theta negative", 4, Dither, theta(-1), "theta -1: must be finite"},
		{"theta NaN", 4, Dither, theta(math.NaN()), "theta NaN"},
		{"theta infinite", 4, Dither, theta(math.Inf(1)), "theta +Inf"},
		{"theta beyond float32", 4, Dither, theta(1e300), "beyond the range of float32"},
		{"theta so large that B overflows", 4, Dither, theta(math.MaxFloat64), "beyond the range of float32"},
		{"theta so small that D underflows", 65536, Dither, theta(math.SmallestNonzeroFloat64), "underflows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(test.levels, test.rounding, test.theta, 0, 0)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%+v, error %v, want %q", c, err, test.want)
			}
		})
	}
}

func TestBadThetaOfALaterRoundIsReported(t *testing.T) {
	theta := func(k int) float64 { return 1 - float64(k) }
	c, err := New(4, Dither, theta, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Encode(nil, 1, []float32{0}); err == nil ||
		!strings.Contains(err.Error(), "theta 0: must be finite and greater than 0 (round 1)") {
		t.Errorf("Encode: error %v", err)
	}
	if _, err := c.Mix(nil, 1, nil, nil, nil); err == nil {
		t.Error("Mix: no error")
	}
}

func TestRoundingNames(t *testing.T) {
	for _, name := range []string{"dither", "nearest", "stochastic", "shared"} {
		r, err := ParseRounding(name)
		if err != nil || r.String() != name {
			t.Errorf("ParseRounding(%q) = %v, %v", name, r, err)
		}
	}
	if _, err := ParseRounding("Nearest"); err == nil ||
		!strings.Contains(err.Error(), "dither, nearest, stochastic, shared") {
		t.Errorf("unknown name: error %v", err)
	}
	if got := Rounding(9).String(); got != "Rounding(9)" {
		t.Errorf("String() = %q", got)
	}
	var zero Rounding
	if zero != Dither {
		t.Error("the default is not dither")
	}
}
