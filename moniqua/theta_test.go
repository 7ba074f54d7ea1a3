package moniqua

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func constant(alpha float64) func(int) float64 { return func(int) float64 { return alpha } }

func TestMemory(t *testing.T) {
	for _, test := range []struct {
		rho  float64
		want int
	}{{0, 7}, {0.5, 14}, {0.8047378541243649, 36}, {0.999, 6908}} {
		if got := Memory(test.rho); got != test.want {
			t.Errorf("Memory(%v) = %d, want %d", test.rho, got, test.want)
		}
	}
}

func TestLargestStepOfTheMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphas := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 60).Draw(t, "alphas")
		memory := rapid.IntRange(0, 70).Draw(t, "memory")
		u := Updates{Step: func(k int) float64 { return alphas[k] },
			Rounds: rapid.IntRange(-1, len(alphas)).Draw(t, "rounds"), Bound: 1}
		largest := largestStep(u, memory)
		for k := range alphas {
			want := 0.0
			for _, alpha := range alphas[max(k-memory, 0) : k+1] {
				want = max(want, alpha)
			}
			if got := largest(k); got != want {
				t.Fatalf("round %d: %v, want %v", k, got, want)
			}
		}
	})
}

// The memory of a long schedule does not grow with its rounds.
func TestLargestStepOfALongRunIsAFewStretches(t *testing.T) {
	const rounds, warmup = 100_000, 500
	for name, step := range map[string]func(k int) float64{
		"constant": constant(0.1),
		"steps":    func(k int) float64 { return math.Pow(0.1, float64(k/(rounds/4))) },
		"cosine after a warm-up": func(k int) float64 {
			if k < warmup {
				return float64(k+1) / warmup
			}
			return 0.5 + 0.5*math.Cos(math.Pi*float64(k-warmup)/rounds)
		},
	} {
		if got := len(stretches(Updates{Step: step, Rounds: rounds}, 100)); got > 12 {
			t.Errorf("%s: %d stretches", name, got)
		}
	}
}

func TestRulesFollowFallingAndGrowingSteps(t *testing.T) {
	drop := Updates{Bound: 2, Rounds: 100, Step: func(k int) float64 {
		switch {
		case k < 5:
			return 0.5 // warm-up
		case k < 20:
			return 1
		}
		return 0.1
	}}
	// ρ = 0.5 remembers 14 rounds. S1·2δ/(1−2δ) = 2/15.
	certified, err := Certified{S: 3, S1: 2, Rho: 0.5, Levels: 16}.Rule(drop)
	if err != nil {
		t.Fatal(err)
	}
	theorem, err := Theorem{Workers: 8, Rho: 0.5}.Rule(drop)
	if err != nil {
		t.Fatal(err)
	}
	const share = 2.0 / 15 // of θ that is due to grid errors
	steps := map[int]float64{0: 0.5, 4: 0.5, 5: 1, 19: 1, 33: 1, 34: 0.1, 48: 0.1, 49: 0.1, 99: 0.1, 200: 0.1}
	for k, alpha := range steps {
		if want := 2 * alpha * 2 * math.Log(128) / 0.5; math.Abs(theorem(k)-want) > 1e-12*want {
			t.Errorf("theorem: θ_%d = %v, want %v", k, theorem(k), want)
		}
		if k >= 34 { // the grids of the 14 rounds before are those of α = 1, later those of a step with a share of it
			alpha += 0.9 * math.Pow(share, float64((k-34)/14+1))
		}
		if want := alpha * 2 * 3 / (1 - share); math.Abs(certified(k)-want) > 1e-12*want {
			t.Errorf("certified: θ_%d = %v, want %v", k, certified(k), want)
		}
	}
}

// A θ in proportion to a cosine of very many rounds would fall until an index leaves 2³¹.
func TestRulesDoNotFollowStepsToNothing(t *testing.T) {
	long := Updates{Bound: 1, Rounds: 20000, Step: func(k int) float64 {
		return 0.05 * (1 + math.Cos(math.Pi*float64(k)/20000))
	}}
	theorem, err := Theorem{Workers: 8, Rho: 0.8}.Rule(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{19999, 20000} {
		if first, last := theorem(0), theorem(k); last != first/4096 {
			t.Errorf("round %d: theta %v, want a 4096th of %v", k, last, first)
		}
	}
	if first, half := theorem(0), theorem(10000); half < 0.5*first || half > 0.51*first {
		t.Errorf("round 10000: theta %v, want half of %v", half, first)
	}
}

func TestCertificatesThatDoNotExist(t *testing.T) {
	ring := Certified{S: 6, S1: 4.37, Rho: 0.8}
	tests := []struct {
		levels   int
		rounding Rounding
		want     string // "" if there is a certificate
	}{
		{2, Dither, "use at least 6 levels (3 bits), or the rule"},
		{4, Nearest, "grid errors return 1.46-fold"},
		{5, Nearest, "a smaller slack γ, or the rule adaptive"},
		{6, Nearest, ""},
		{8, Stochastic, "at least 11 levels"},
		{10, Shared, "at least 11 levels"},
		{11, Shared, ""},
		{2, Shared, "makes the modulus infinite"},
	}
	for _, test := range tests {
		c := ring
		c.Levels, c.Rounding = test.levels, test.rounding
		_, err := c.Rule(Updates{Step: constant(0.1), Bound: 1})
		if test.want == "" && err != nil {
			t.Errorf("%d levels, %v: %v", test.levels, test.rounding, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d levels, %v: error %v, want %q", test.levels, test.rounding, err, test.want)
		}
	}
}

// The star of 4 has S1 = 3, and 2 bits amplify by 1/3: there is just no certificate, even if the sum was cut off.
func TestCertificateOnTheEdgeIsNone(t *testing.T) {
	if theta, err := (Certified{S: 6, S1: 3 - 1e-14, Rho: 0.75, Levels: 4}).Theta(0.1, 1); err == nil {
		t.Errorf("θ = %v", theta)
	}
}

func TestFewestLevelsHaveACertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Certified{S: 1, S1: rapid.Float64Range(2, 100).Draw(t, "S1"),
			Rounding: Rounding(rapid.IntRange(0, 3).Draw(t, "rounding"))}
		c.Levels = c.fewestLevels()
		if err := c.Check(); err != nil && c.S1*c.amplification() < 1-1e-6 {
			t.Fatal(err)
		}
		c.Levels--
		if err := c.Check(); err == nil {
			t.Fatalf("%d levels would do", c.Levels)
		}
	})
}

func TestLoneWorkerHasATheta(t *testing.T) {
	rule, err := Certified{Levels: 256}.Rule(Updates{Step: constant(0.1), Bound: 1, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if theta := rule(0); !(theta > 0) {
		t.Errorf("θ = %v", theta)
	}
}

func TestRulesRefuseBadRuns(t *testing.T) {
	good := Updates{Step: constant(1), Bound: 1}
	tests := []struct {
		name    string
		theorem Theorem
		updates Updates
		want    string
	}{
		{"no workers", Theorem{Workers: 0, Rho: 0.5}, good, "0 workers"},
		{"rho 1", Theorem{Workers: 4, Rho: 1}, good, "rho 1"},
		{"rho NaN", Theorem{Workers: 4, Rho: math.NaN()}, good, "rho NaN"},
		{"eta too large", Theorem{Workers: 4, Rho: 0.9, Eta: 1.2}, good, "must be below 1"},
		{"steps that grow", Theorem{Workers: 4, Rho: 0.9, C: 0.5}, good, "C 0.5"},
		{"no steps", Theorem{Workers: 4, Rho: 0.5}, Updates{Bound: 1}, "no step size"},
		{"no bound", Theorem{Workers: 4, Rho: 0.5}, Updates{Step: constant(1)}, "bound 0"},
		{"bound NaN", Theorem{Workers: 4, Rho: 0.5}, Updates{Step: constant(1), Bound: math.NaN()}, "bound NaN"},
		{"bound infinite", Theorem{Workers: 4, Rho: 0.5}, Updates{Step: constant(1), Bound: math.Inf(1)}, "bound +Inf"},
	}
	for _, test := range tests {
		if _, err := test.theorem.Rule(test.updates); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := (Certified{S: math.Inf(1), S1: 2, Rho: 0.5, Levels: 16}).Rule(good); err == nil {
		t.Error("certified: infinite S accepted")
	}
	if _, err := (Certified{S: 1, S1: 2, Rho: 0.5, Levels: 16}).Rule(Updates{}); err == nil {
		t.Error("certified: no steps accepted")
	}
	for _, theta := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Fixed(theta); err == nil {
			t.Errorf("Fixed(%v) succeeded", theta)
		}
	}
	if rule, err := Fixed(2); err != nil || rule(7) != 2 {
		t.Errorf("Fixed(2): %v", err)
	}
}
