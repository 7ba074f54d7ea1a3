package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// A story is a long run of several algorithms with bounds for their results.
type story struct {
	Name     string
	Problem  problem
	Topology topologySpec
	X0       [][]float64
	StepSize perRound `json:"step_size"`
	Steps    int
	Optimum  []float64
	Expect   []map[string]json.RawMessage
	Cases    []struct { // of d2_admissible
		Topology topologySpec
		LambdaN  float64 `json:"lambda_n"`
		Allowed  bool
	}
}

func TestConformanceBehaviour(t *testing.T) {
	var file struct{ Cases []json.RawMessage }
	Load(t, "behaviour.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("no stories")
	}
	for _, text := range file.Cases {
		var s story
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		t.Run(s.Name, func(t *testing.T) {
			if len(s.Expect) == 0 && len(s.Cases) == 0 {
				t.Fatal("a story that expects nothing")
			}
			for i := range s.Cases {
				s.checkAdmissible(t, i)
			}
			for i, expect := range s.Expect {
				t.Run(fmt.Sprint(i), func(t *testing.T) { s.check(t, expect) })
			}
		})
	}
}

func (s *story) checkAdmissible(t *testing.T, i int) {
	t.Helper()
	c := s.Cases[i]
	g := c.Topology.graph(t)
	spectrum, err := g.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	near(t, fmt.Sprintf("%v: lambda_n", g.Spec()), spectrum.LambdaN, c.LambdaN, 1e-9)
	if got := spectrum.D2Admissible(); got != c.Allowed {
		t.Errorf("%v: admissible for D²: %v, want %v", g.Spec(), got, c.Allowed)
	}
}

// check runs one algorithm of the story and checks its bounds.
func (s *story) check(t *testing.T, expect map[string]json.RawMessage) {
	file := runFile{Name: s.Name, Problem: s.Problem, Topology: s.Topology, X0: s.X0, StepSize: s.StepSize, Steps: s.Steps}
	decode(t, expect["algorithm"], &file.Algorithm)
	if slack, ok := expect["slack"]; ok {
		decode(t, slack, &file.Topology.Slack)
	}
	if _, ok := file.Algorithm.row(); !ok {
		t.Fatalf("unknown algorithm %q", file.Algorithm.Name)
	}
	e := ending{story: s, run: newRun(t, file), expect: expect}
	e.drive(t)
	bounds := 0
	for _, key := range slices.Sorted(maps.Keys(expect)) {
		bounds += e.checkBound(t, key)
	}
	if bounds == 0 {
		t.Error("no bound is known")
	}
}

func decode(t *testing.T, text json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// An ending is a finished run of a story.
type ending struct {
	*story
	run    *run
	expect map[string]json.RawMessage
	failed bool // with numbers that are not finite, which the story may expect
}

// drive runs to the end. It fails the test if the models diverge and the story expects finite ones, or the reverse.
func (e *ending) drive(t *testing.T) {
	t.Helper()
	finite := true
	if text, ok := e.expect["finite"]; ok {
		decode(t, text, &finite)
	}
	err := e.run.advance()
	if err != nil && (finite || !exploded(err)) {
		t.Fatal(err)
	}
	e.failed = err != nil
}

// exploded reports whether an error says that models are not finite.
func exploded(err error) bool {
	return slices.ContainsFunc([]string{"Inf", "not finite", "2³¹"},
		func(sign string) bool { return strings.Contains(err.Error(), sign) })
}

// checkBound checks the bound of a key. It returns the number of bounds checked: 1, or 0 if the key names none.
func (e ending) checkBound(t *testing.T, key string) int {
	t.Helper()
	for suffix, holds := range map[string]func(got, bound float64) bool{
		"_at_most":               func(got, bound float64) bool { return got <= bound },
		"at_least":               func(got, bound float64) bool { return got >= bound },
		"_exactly":               func(got, bound float64) bool { return got == bound },
		"at_least_or_not_finite": func(got, bound float64) bool { return !(got < bound) },
	} {
		quantity, ok := strings.CutSuffix(key, suffix)
		if !ok {
			continue
		}
		var bound float64
		decode(t, e.expect[key], &bound)
		if got := e.measure(t, strings.TrimSuffix(quantity, "_")); !holds(got, bound) {
			t.Errorf("%s is %v, want %s %v", quantity, got, strings.Trim(suffix, "_"), bound)
		}
		return 1
	}
	return 0
}

// measure returns the quantity of a bound.
func (e ending) measure(t *testing.T, quantity string) float64 {
	t.Helper()
	r := e.run
	if e.failed {
		return math.NaN()
	}
	last := r.models[r.Steps]
	switch quantity {
	case "max_error":
		return farthest(last, func(int) []float64 { return e.Optimum })
	case "mean_error":
		return farthest([][]float32{narrowed(r.mean(r.Steps))}, func(int) []float64 { return e.Optimum })
	case "consensus_linf":
		mean := r.mean(r.Steps)
		return farthest(last, func(int) []float64 { return mean })
	case "distance_to_local_minima":
		var minima [][]float64
		decode(t, e.expect["local_minima"], &minima)
		return farthest(last, func(i int) []float64 { return minima[i] })
	case "decode_errors":
		return float64(len(r.decodeErrors(t)))
	case "final_max_squared_gradient_norm":
		most := 0.0
		for _, x := range last {
			most = max(most, e.steepness(x))
		}
		return most
	case "": // what mean_squared_gradient_norm_over describes
		return e.meanSteepness(t)
	}
	t.Fatalf("unknown quantity %q", quantity)
	return 0
}

// farthest returns the largest distance of a coordinate of any worker's model to its target, or NaN if any distance is
// NaN.
func farthest(models [][]float32, target func(i int) []float64) float64 {
	most := 0.0
	for i, x := range models {
		for c, v := range x {
			most = max(most, math.Abs(float64(v)-target(i)[c]))
		}
	}
	return most
}

// steepness returns |∇f(x)|², where f is the mean of all workers' objectives.
func (s *story) steepness(x []float32) float64 {
	sum := make([]float64, len(x))
	for i := range s.X0 {
		for c, g := range s.Problem.gradient(i, widened(x)) {
			sum[c] += g / float64(len(s.X0))
		}
	}
	return dot(sum, sum)
}

// meanSteepness averages |∇f(x_i)|² over the second half of the rounds, over the workers and over eight seeds.
func (e ending) meanSteepness(t *testing.T) float64 {
	t.Helper()
	const seeds = 8
	total, count := 0.0, 0
	for s := range seeds {
		file := e.run.runFile
		file.Algorithm.Seed = seed(100 + s)
		r := newRun(t, file)
		r.drive(t)
		for _, models := range r.models[r.Steps/2+1:] {
			for _, x := range models {
				total += e.steepness(x)
				count++
			}
		}
	}
	return total / float64(count)
}
