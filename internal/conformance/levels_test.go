package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/quant/levels"
)

// levelTests maps the names in the field "what" of levels.json to tests.
var levelTests = map[string]func(t *testing.T, text []byte){
	"mixture":         checkMixture,
	"alq":             checkALQ,
	"alqg":            checkALQG,
	"amq":             checkAMQ,
	"gradient_levels": checkGradientLevels,
}

func TestConformanceLevels(t *testing.T) {
	var file struct{ Cases []json.RawMessage }
	Load(t, "levels.json", &file)
	seen := map[string]bool{}
	for i, text := range file.Cases {
		var c struct{ What string }
		parse(t, text, &c)
		test := levelTests[c.What]
		if test == nil {
			t.Errorf("case %d: unknown computation %q", i, c.What)
			continue
		}
		seen[c.What] = true
		t.Run(fmt.Sprintf("%d: %s", i, c.What), func(t *testing.T) { test(t, text) })
	}
	if len(seen) != len(levelTests) {
		t.Errorf("cases of %v alone", seen)
	}
}

func parse(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
}

// mixtureSpec is the form of a mixture in the vectors.
type mixtureSpec struct{ Mu, Sigma, W []float64 }

func (s mixtureSpec) mixture(t *testing.T) *levels.Mixture {
	t.Helper()
	var components []levels.Component
	for i, mu := range s.Mu {
		components = append(components, levels.Component{Mu: mu, Sigma: s.Sigma[i], Weight: s.W[i]})
	}
	m, err := levels.NewMixture(components...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkMixture(t *testing.T, text []byte) {
	var c struct {
		Mixture mixtureSpec
		X, F, P []float64
		Moment  []float64 `json:"partial_moment_0_x"`
	}
	parse(t, text, &c)
	m := c.Mixture.mixture(t)
	for i, x := range c.X {
		relative(t, fmt.Sprintf("F(%v)", x), m.F(x), c.F[i])
		relative(t, fmt.Sprintf("p(%v)", x), m.Density(x), c.P[i])
		relative(t, fmt.Sprintf("M(0, %v)", x), m.Moment(0, x), c.Moment[i])
	}
}

// checkALQ covers both forms: the tables of the symmetric one are its positive half.
func checkALQ(t *testing.T, text []byte) {
	var c struct {
		Variant, Init  string
		Mixture        mixtureSpec
		Bits, Sweeps   int
		InitLevels     []float64 `json:"init_levels"`
		InitPositive   []float64 `json:"init_positive"`
		Levels         []float64
		PositiveLevels []float64 `json:"positive_levels"`
		Objective      *float64
		Probabilities  []float64 `json:"symbol_probabilities"`
		Entropy        float64   `json:"entropy_bits"`
		Huffman        float64   `json:"huffman_expected_bits"`
	}
	parse(t, text, &c)
	form, start, want := levels.WithZero, c.InitLevels, c.Levels
	if c.Variant == "sym" {
		form, start, want = levels.Symmetric, c.InitPositive, c.PositiveLevels
	}
	table, m := slices.Clone(start), c.Mixture.mixture(t)
	switch {
	case c.Init == "uniform" && form == levels.WithZero: // the specification leaves this start without a zero undefined
		nearAll(t, "start", levels.Uniform(form, 1<<(c.Bits-1)), start, 1e-15)
	case c.Init == "exponential":
		nearAll(t, "start", levels.Exponential(form, 1<<(c.Bits-1), 0.5), start, 1e-15)
	}
	levels.CoordinateDescent(form, table, m, c.Sweeps)
	nearAll(t, "levels", table, want, 1e-7)
	if c.Objective == nil {
		return
	}
	small(t, "objective", levels.Variance(form, table, m), *c.Objective)
	if c.Probabilities == nil {
		return
	}
	probabilities := levels.Probabilities(form, table, m)
	nearAll(t, "probabilities", probabilities, c.Probabilities, 1e-7)
	near(t, "entropy", levels.Entropy(probabilities), c.Entropy, 1e-7)
	near(t, "bits of a Huffman code", huffmanBits(probabilities), c.Huffman, 1e-7)
}

// huffmanBits is the mean length of a Huffman code: each merge of the two least likely nodes makes the code words below
// them one bit longer.
func huffmanBits(probabilities []float64) float64 {
	nodes, bits := slices.Sorted(slices.Values(probabilities)), 0.0
	for len(nodes) > 1 {
		merged := nodes[0] + nodes[1]
		bits += merged
		nodes = slices.Sorted(slices.Values(append(nodes[2:], merged)))
	}
	return bits
}

func checkALQG(t *testing.T, text []byte) {
	var c struct {
		Variant        string
		Mixture        mixtureSpec
		InitLevels     []float64 `json:"init_levels"`
		InitPositive   []float64 `json:"init_positive"`
		Sweeps         int
		LR             float64
		Levels         []float64
		PositiveLevels []float64 `json:"positive_levels"`
	}
	parse(t, text, &c)
	form, table, want := levels.WithZero, c.InitLevels, c.Levels
	if c.Variant == "sym" {
		form, table, want = levels.Symmetric, c.InitPositive, c.PositiveLevels
	}
	levels.GradientDescent(form, table, c.Mixture.mixture(t), c.Sweeps, c.LR)
	nearAll(t, "levels", table, want, 1e-7)
}

func checkAMQ(t *testing.T, text []byte) {
	var c struct {
		Mixture       mixtureSpec
		S, Iterations int
		P0, LR, P     float64
		HalfGradient  float64 `json:"half_gradient_at_p0"`
		HalfObjective float64 `json:"objective_half"`
		Trace         []float64
	}
	parse(t, text, &c)
	m := c.Mixture.mixture(t)
	small(t, "half gradient", levels.HalfGradient(c.S, c.P0, m), c.HalfGradient)
	near(t, "p", levels.ExponentDescent(c.S, c.P0, m, c.Iterations, c.LR), c.P, 1e-7)
	for i, want := range c.Trace {
		near(t, fmt.Sprintf("p after %d iterations", i), levels.ExponentDescent(c.S, c.P0, m, i, c.LR), want, 1e-7)
	}
	table := levels.Exponential(levels.Symmetric, c.S+1, c.P)
	small(t, "objective", levels.Variance(levels.Symmetric, table, m), c.HalfObjective)
}

// nearAll compares lists of numbers. The tolerance is absolute for numbers up to 1.
func nearAll(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		near(t, fmt.Sprintf("%s %d", what, i), got[i], want[i], tolerance)
	}
}

// small compares numbers far below 1 by their ratio.
func small(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
