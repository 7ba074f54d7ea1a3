package topology

import (
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

// staticKinds are those with one symmetric matrix.
var staticKinds = slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.Static() })

// Every row has one way to its graphs. Descriptions say that kinds with links come last.
func TestRowsAreWhole(t *testing.T) {
	links := false
	for _, f := range families() {
		ways := 0
		for _, given := range []bool{f.rule != nil, f.draw != nil, f.list != nil, f.links != nil} {
			if given {
				ways++
			}
		}
		if ways != 1 || f.kind == "" || f.endless && f.links == nil || f.picture != nil && f.links != nil {
			t.Errorf("%q: want a kind with rule, draw, list or links; endless with links; and a picture without", f.kind)
		}
		if links = links || f.links != nil; links && f.links == nil {
			t.Errorf("%s stands behind a kind with links", f.kind)
		}
	}
}

// anySpec draws a static graph of every kind, up to about 40 workers.
func anySpec(t *rapid.T) Spec {
	s := Spec{Kind: rapid.SampledFrom(staticKinds).Draw(t, "kind"), Slack: rapid.Float64Range(0.01, 1).Draw(t, "slack"),
		Seed: rapid.Uint64().Draw(t, "seed")}
	switch s.Kind {
	case Torus:
		s.Rows, s.Cols = rapid.IntRange(1, 6).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "cols")
	case Hypercube:
		s.N = 1 << rapid.IntRange(0, 5).Draw(t, "dimension")
	case EdgeList:
		s.N = rapid.IntRange(1, 24).Draw(t, "n")
		s.Edges = randomTree(t, s.N)
		for i := range s.N {
			for j := range i {
				e := [2]Rank{Rank(i), Rank(j)}
				if !slices.Contains(s.Edges, e) && rapid.IntRange(0, 9).Draw(t, "extra") == 0 {
					s.Edges = append(s.Edges, e)
				}
			}
		}
	default:
		s.N = rapid.IntRange(1, 40).Draw(t, "n")
	}
	return s
}

// randomTree joins each worker to an earlier one.
func randomTree(t *rapid.T, n int) [][2]Rank {
	var edges [][2]Rank
	for i := 1; i < n; i++ {
		edges = append(edges, [2]Rank{Rank(i), Rank(rapid.IntRange(0, i-1).Draw(t, "parent"))})
	}
	return edges
}

func TestEveryGraphMixesFairly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := anySpec(t)
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if parts := g.components(); len(parts) != 1 {
			t.Fatalf("%d components", len(parts))
		}
		w := g.W(0)
		for i := range g.N() {
			row, sum := g.Row(Rank(i), 0), 0.0
			for j := range g.N() {
				if w.At(i, j) < 0 {
					t.Fatalf("W[%d][%d] = %v", i, j, w.At(i, j))
				}
				sum += w.At(i, j)
			}
			if math.Abs(sum-1) > 1e-14 {
				t.Fatalf("row %d sums to %v", i, sum)
			}
			if row.Self != w.At(i, i) || row.Self <= 0 {
				t.Fatalf("row %d: own weight %v, W has %v", i, row.Self, w.At(i, i))
			}
			if !slices.Equal(row.Out, g.Neighbors(Rank(i))) || len(row.In) != g.Degree(Rank(i)) {
				t.Fatalf("row %d tells %v and hears %v, neighbours are %v", i, row.Out, row.In, g.Neighbors(Rank(i)))
			}
			for at, e := range row.In {
				back := g.Row(e.Peer, 0)
				mirror := back.In[slices.Index(back.Out, Rank(i))]
				if e.Peer != row.Out[at] || e.Weight <= 0 || e.Weight != w.At(i, int(e.Peer)) || mirror.Weight != e.Weight {
					t.Fatalf("row %d: %+v, W has %v, the other end %+v", i, e, w.At(i, int(e.Peer)), mirror)
				}
			}
		}
	})
}

func TestSpectrumKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := New(anySpec(t))
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Values) != g.N() || math.Abs(s.Values[0]-1) > 1e-12 ||
			!slices.IsSortedFunc(s.Values, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
			t.Fatalf("eigenvalues %v", s.Values)
		}
		if !(s.Rho >= 0 && s.Rho < 1) || s.Lambda2 < s.LambdaN {
			t.Fatalf("%+v", s)
		}
		if g.N() > 1 && (s.S < 2-1e-9 || s.S1 < 2-1e-9) {
			t.Fatalf("S = %v, S1 = %v, both are at least 2", s.S, s.S1)
		}
	})
}

func TestSlackMovesEveryEigenvalueTowardsOne(t *testing.T) {
	full, err := build(t, "torus:3x4").Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Spec{Kind: Torus, Rows: 3, Cols: 4, Slack: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	slack, err := g.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	for i, lambda := range full.Values {
		if want := 1 - 0.3*(1-lambda); math.Abs(slack.Values[i]-want) > 1e-12 {
			t.Errorf("eigenvalue %d with slack 0.3 = %v, want %v", i, slack.Values[i], want)
		}
	}
}

// bruteSums computes the sums by their definition: round by round, over all edges.
func bruteSums(g *Graph) (s, s1 float64) {
	rows := g.Rows(0)
	for _, e := range g.Edges() {
		y, next := difference(g.N(), e), make([]float64, g.N())
		sum, sum1 := 0.0, 0.0
		for norm1(y) > 1e-13 {
			mix(next, rows, y)
			sum += norm1(y)
			sum1 += distance1(next, y)
			y, next = next, y
		}
		s, s1 = max(s, sum), max(s1, sum1)
	}
	return s, s1
}

func TestPathSumsEqualTheRoundByRoundSums(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, spec Spec) {
		g, err := New(spec)
		if err != nil {
			t.Fatalf("%v", err)
		}
		got, err := g.Spectrum()
		if err != nil {
			t.Fatalf("%v", err)
		}
		s, s1 := bruteSums(g)
		if math.Abs(got.S-s) > 1e-10*s || math.Abs(got.S1-s1) > 1e-10*s1 {
			t.Fatalf("%v slack %v: S = %v, S1 = %v, want %v, %v", spec, spec.Slack, got.S, got.S1, s, s1)
		}
	}
	for _, text := range []string{"ring:24", "ring:25", "path:18", "star:12", "torus:2x12", "torus:5x6", "exponential:24",
		"hypercube:32"} {
		for _, slack := range []float64{1, 0.4} {
			spec := build(t, text).Spec()
			spec.Slack = slack
			check(t, spec)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		spec := anySpec(t)
		spec.Slack = max(spec.Slack, 0.5)
		check(t, spec)
	})
}

func TestOneAndTwoWorkers(t *testing.T) {
	for _, kind := range staticKinds {
		for n := 1; n <= 2; n++ {
			spec := Spec{Kind: kind, N: n, Slack: 1}
			if kind == Torus {
				spec.Rows, spec.Cols = 1, n
			}
			if kind == EdgeList && n == 2 {
				spec.Edges = [][2]Rank{{1, 0}}
			}
			g, err := New(spec)
			if err != nil {
				t.Errorf("%s of %d: %v", kind, n, err)
				continue
			}
			s, err := g.Spectrum()
			if err != nil {
				t.Fatal(err)
			}
			if g.N() != n || len(g.Edges()) != n-1 || g.Reach() != n-1 || math.Abs(g.Row(0, 0).Self-1/float64(n)) > 1e-15 {
				t.Errorf("%s of %d: N %d, edges %v, diameter %d, W_00 %v", kind, n, g.N(), g.Edges(), g.Reach(), g.Row(0, 0).Self)
			}
			if s.Rho > 1e-12 || math.Abs(s.Gap-1) > 1e-12 || !s.D2Admissible() {
				t.Errorf("%s of %d: %+v", kind, n, s)
			}
			sg, se, err := g.D2Sums(s)
			if want := []float64{0, 4, 0, 6}; err != nil || math.Abs(sg-want[n-1]) > 1e-9 || math.Abs(se-want[n+1]) > 1e-9 {
				t.Errorf("%s of %d: Sg %v, Se %v, error %v", kind, n, sg, se, err)
			}
		}
	}
}

// The values of docs/math.md#the-sums-s-and-s1, and others that no vector file has.
func TestKnownSums(t *testing.T) {
	for _, c := range []struct {
		spec          string
		slack, s, s1  float64
		sg, se, digit float64
	}{
		{"ring:16", 1, 12, 4.59, 0, 0, 0.005},
		{"torus:4x4", 1, 5, 8, 0, 0, 1e-9},
		{"star:8", 1, 14, 3.5, 0, 0, 1e-9},
		{"complete:6", 1, 2, 2, 4, 6, 1e-9},
		{"ring:5", 1, 3.6, 3.78, 12, 22, 0.05},
		{"ring:8", 0.6, 10, 3.19, 15.5, 9.8, 0.06},
	} {
		spec := build(t, c.spec).Spec()
		spec.Slack = c.slack
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.S-c.s) > c.digit || math.Abs(s.S1-c.s1) > c.digit {
			t.Errorf("%s slack %v: S %v, S1 %v, want %v, %v", c.spec, c.slack, s.S, s.S1, c.s, c.s1)
		}
		if c.sg == 0 {
			continue
		}
		sg, se, err := g.D2Sums(s)
		if err != nil || math.Abs(sg-c.sg) > c.digit || math.Abs(se-c.se) > c.digit {
			t.Errorf("%s slack %v: Sg %v, Se %v, error %v, want %v, %v", c.spec, c.slack, sg, se, err, c.sg, c.se)
		}
	}
}

func TestD2RefusesWhatIsUnstable(t *testing.T) {
	for _, text := range []string{"ring:8", "ring:4", "torus:4x4", "hypercube:16"} {
		g := build(t, text)
		s, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		if s.D2Admissible() {
			t.Errorf("%s: admissible with λₙ = %v", text, s.LambdaN)
		}
		if _, _, err := g.D2Sums(s); err == nil || !strings.Contains(err.Error(), "slack") {
			t.Errorf("%s: error %v, want advice on slack", text, err)
		}
	}
	almost, err := New(Spec{Kind: Ring, N: 4, Slack: 1 - 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	s, err := almost.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := almost.D2Sums(s); err == nil || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("ring:4 just inside the bound: error %v, want that an impulse lasts too long", err)
	}
}

func TestSpectrumRefusesWhatWouldTakeHours(t *testing.T) {
	if _, err := build(t, "ring:5000").Spectrum(); err == nil || !strings.Contains(err.Error(), "at most 4096") {
		t.Errorf("error %v", err)
	}
}

func TestDiameter(t *testing.T) {
	for text, want := range map[string]int{
		"ring:8": 4, "ring:9": 4, "torus:4x4": 4, "torus:2x5": 3, "complete:9": 1, "star:9": 2,
		"path:7": 6, "hypercube:16": 4, "exponential:8": 2, "ring:10000": 5000,
	} {
		if got := build(t, text).Reach(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestDiameterIsThatOfAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		var edges [][2]Rank
		for i := 1; i < n; i++ { // a tree, and some edges more
			edges = append(edges, [2]Rank{Rank(rapid.IntRange(max(0, i-3), i-1).Draw(t, "parent")), Rank(i)})
		}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			i := Rank(rapid.IntRange(0, n-1).Draw(t, "i"))
			j := Rank(rapid.IntRange(0, n-1).Draw(t, "j"))
			if e := [2]Rank{min(i, j), max(i, j)}; i != j && !slices.Contains(edges, e) {
				edges = append(edges, e)
			}
		}
		g, err := New(Spec{Kind: EdgeList, Edges: edges, Slack: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i := range n {
			far, _ := g.eccentricity(Rank(i), g.unreached())
			want = max(want, far)
		}
		if got := g.Reach(); got != want {
			t.Errorf("%v: diameter %d, want %d", edges, got, want)
		}
	})
}

// A graph of many workers must not take a walk for each of them. In a ring that is not known to be one, no walk tells
// the diameter.
func TestDiameterOfALargeGraphTakesFewWalks(t *testing.T) {
	const n = 1 << 12
	var ring, star [][2]Rank
	for i := 1; i < n; i++ {
		ring, star = append(ring, [2]Rank{Rank(i - 1), Rank(i)}), append(star, [2]Rank{0, Rank(i)})
	}
	ring = append(ring, [2]Rank{0, n - 1})
	for name, test := range map[string]struct {
		edges       [][2]Rank
		least, most int
	}{"ring": {ring, n / 2, n}, "path": {ring[:n-1], n - 1, n - 1}, "star": {star, 2, 2}} {
		g, err := New(Spec{Kind: EdgeList, Edges: test.edges, Slack: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Reach(); got < test.least || got > test.most {
			t.Errorf("%s: diameter %d, want %d to %d", name, got, test.least, test.most)
		}
	}
}

func TestCycle(t *testing.T) {
	one := []Edge{{Peer: 0, Weight: 1}}
	want := []Row{
		{In: []Edge{{Peer: 2, Weight: 1}}, Out: []Rank{1}},
		{In: one, Out: []Rank{2}},
		{In: []Edge{{Peer: 1, Weight: 1}}, Out: []Rank{0}},
	}
	if diff := cmp.Diff(want, Cycle(3)); diff != "" {
		t.Errorf("Cycle(3) (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Row{{Self: 1}}, Cycle(1)); diff != "" {
		t.Errorf("Cycle(1) (-want +got):\n%s", diff)
	}
}

func TestAGraphCannotBeChangedFromOutside(t *testing.T) {
	edges := [][2]Rank{{0, 1}, {1, 2}}
	g, err := New(Spec{Kind: EdgeList, Edges: edges, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := g.Rows(0)
	edges[0] = [2]Rank{0, 2}
	g.Neighbors(1)[0] = 7
	g.Spec().Edges[1][0] = 7
	g.Edges()[0][0] = 7
	if diff := cmp.Diff(want, g.Rows(0)); diff != "" {
		t.Errorf("rows changed:\n%s", diff)
	}
	if got := g.Spec().Edges[0]; got != [2]Rank{0, 1} {
		t.Errorf("Spec().Edges[0] = %v", got)
	}
}

// The test finds the factor per round of x ← W(2x − x_prev) by running the recursion on the eigenvectors: μ² = 2λμ − λ.
func TestD2RhoIsTheLargestRoot(t *testing.T) {
	for _, spec := range []Spec{{Kind: Ring, N: 5, Slack: 1}, {Kind: Ring, N: 8, Slack: 0.6},
		{Kind: Ring, N: 10, Slack: 0.9}, {Kind: Complete, N: 6, Slack: 1}, {Kind: Torus, Rows: 4, Cols: 4, Slack: 0.75}} {
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, lambda := range s.Values[1:] {
			root := cmplx.Sqrt(complex(lambda*lambda-lambda, 0))
			want = max(want, cmplx.Abs(complex(lambda, 0)+root), cmplx.Abs(complex(lambda, 0)-root))
		}
		if got := s.D2Rho(); math.Abs(got-want) > 1e-7 || got >= 1 {
			t.Errorf("%v: %v, want %v below 1", spec, got, want)
		}
	}
	if got := (Spectrum{}).D2Rho(); got != 0 {
		t.Errorf("a lone worker: %v", got)
	}
}
