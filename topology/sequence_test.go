package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// anySequence draws a graph of any kind that is not static, up to about 40 workers.
func anySequence(t *rapid.T) Spec {
	changing := slices.DeleteFunc(Kinds(), Kind.Static)
	s := Spec{Kind: rapid.SampledFrom(changing).Draw(t, "kind"), Seed: rapid.Uint64().Draw(t, "seed"),
		Slack: rapid.SampledFrom([]float64{1, 0.5, 0.3}).Draw(t, "slack"), Exchanges: 20}
	s.N = rapid.IntRange(1, 40).Draw(t, "n")
	if s.Kind == OnePeerHypercube {
		s.N = 1 << rapid.IntRange(0, 5).Draw(t, "dimension")
	}
	return s
}

func TestEveryExchangeMixesFairly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := anySequence(t)
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		all := g.Sequences()
		for s := range max(g.Period(), 7) + 3 {
			checkExchange(t, g, all, s)
		}
	})
}

// checkExchange checks that the matrix of exchange s is doubly stochastic, and that its rows agree with each other and
// with the sequences of the workers.
func checkExchange(t *rapid.T, g *Graph, all []Sequence, s int) {
	t.Helper()
	w := g.W(s)
	columns := make([]float64, g.N())
	for i := range g.N() {
		row, sum := g.Row(Rank(i), s), 0.0
		if diff := cmp.Diff(row, all[i].At(s), noneIsEmpty); diff != "" {
			t.Fatalf("exchange %d worker %d: its sequence differs (-graph +sequence):\n%s", s, i, diff)
		}
		for j := range g.N() {
			if w.At(i, j) < 0 {
				t.Fatalf("exchange %d: W[%d][%d] = %v", s, i, j, w.At(i, j))
			}
			sum, columns[j] = sum+w.At(i, j), columns[j]+w.At(i, j)
			sends := slices.Contains(row.Out, Rank(j))
			if sends != (i != j && w.At(j, i) > 0) {
				t.Fatalf("exchange %d: worker %d sends to %v, but W[%d][%d] = %v", s, i, row.Out, j, i, w.At(j, i))
			}
			if g.Symmetric() && w.At(i, j) != w.At(j, i) {
				t.Fatalf("exchange %d: W[%d][%d] differs from its mirror", s, i, j)
			}
		}
		if math.Abs(sum-1) > 1e-14 || !slices.IsSortedFunc(row.In, func(a, b Edge) int { return int(a.Peer - b.Peer) }) {
			t.Fatalf("exchange %d: row %d: %+v", s, i, row)
		}
		for _, j := range row.Neighbours() {
			if !slices.Contains(g.Neighbors(Rank(i)), j) || j == Rank(i) {
				t.Fatalf("exchange %d: worker %d meets %d, its neighbours are %v", s, i, j, g.Neighbors(Rank(i)))
			}
		}
	}
	for j, sum := range columns {
		if math.Abs(sum-1) > 1e-14 {
			t.Fatalf("exchange %d: column %d sums to %v", s, j, sum)
		}
	}
}

func TestBase2IsExactAfterItsPeriod(t *testing.T) {
	for n := 1; n <= 64; n++ {
		checkExact(t, Base2, n)
	}
}

func TestPowersOfTwoAreExactAfterTheirPeriod(t *testing.T) {
	for n := 1; n <= 128; n *= 2 {
		for _, kind := range []Kind{OnePeerExponential, OnePeerHypercube, Base2} {
			checkExact(t, kind, n)
		}
	}
}

func checkExact(t *testing.T, kind Kind, n int) {
	t.Helper()
	g, err := New(Spec{Kind: kind, N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	after, deviation, err := g.ExactAfter()
	if err != nil || after != g.Period() || deviation > 1e-12 {
		t.Errorf("%s of %d: exact after %d of %d exchanges, deviation %v, %v", kind, n, after, g.Period(), deviation, err)
	}
	if n == 1 {
		return
	}
	if slack, err := New(Spec{Kind: kind, N: n, Slack: 0.5}); err != nil {
		t.Error(err)
	} else if after, _, err = slack.ExactAfter(); err != nil || after != 0 {
		t.Errorf("%s of %d with slack: exact after %d, %v", kind, n, after, err)
	}
}

// On graphs that are symmetric and do not change, the sums over windows are those of the spectrum.
func TestWindowSumsOfPowersOfTwo(t *testing.T) {
	for n := 2; n <= 32; n *= 2 {
		g := build(t, fmt.Sprintf("one-peer-exponential:%d", n))
		sums, err := g.PathSums()
		if want := 2 * float64(g.Period()); err != nil || math.Abs(sums.S-want) > 1e-12 || math.Abs(sums.S1-want) > 1e-12 {
			t.Errorf("n = %d: %+v, %v, want %v", n, sums, err, want)
		}
	}
}

func TestStaticGraphsHaveTheSumsOfTheirSpectrum(t *testing.T) {
	for _, text := range []string{"ring:5", "star:6", "torus:3x4"} {
		g := build(t, text)
		spectrum, err := g.Spectrum()
		if err != nil {
			t.Fatal(err)
		}
		sums, err := g.PathSums()
		if err != nil || sums != (Sums{spectrum.S, spectrum.S1}) {
			t.Errorf("%s: %+v, %v, want %v and %v", text, sums, err, spectrum.S, spectrum.S1)
		}
	}
}

// A bit set tells the same as products of matrices.
func TestReachIsThatOfProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := anySequence(t)
		spec.N, spec.Exchanges = min(spec.N, 16), rapid.IntRange(1, 30).Draw(t, "exchanges")
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		starts, most := g.Period(), 0
		if starts == 0 {
			starts = spec.Exchanges
		}
		for s := range starts {
			p, steps := g.product(), 0
			for slices.Contains(p.p.RawMatrix().Data, 0) {
				p.exchange(s + steps)
				steps++
			}
			most = max(most, steps)
		}
		if got := g.Reach(); got != most {
			t.Errorf("%v: reach %d, want %d", spec, got, most)
		}
	})
}

// counted are links that count the rows that they are asked for.
type counted struct {
	links
	rows int
}

func (l *counted) fill(row *Row, i Rank, s int) {
	l.rows++
	l.links.fill(row, i, s)
}

// A long run draws each exchange once for its reach, and leaves out most of its starts.
func TestReachOfALongRunIsFoundFast(t *testing.T) {
	const n, exchanges = 65, 3000
	g, err := New(Spec{Kind: RandomMatching, N: n, Slack: 1, Exchanges: exchanges})
	if err != nil {
		t.Fatal(err)
	}
	l := &counted{links: g.links}
	g.links = l
	w, spread, want := newNews(g), 0, 0
	for s := exchanges - 1; s >= 0; s-- {
		want = max(want, w.spread(s))
	}
	l.rows = 0
	fast := newNews(g)
	got := longest(exchanges, func(s int) int {
		spread++
		return fast.spread(s)
	})
	if got != want || l.rows > n*(exchanges+want) || spread > exchanges/2 {
		t.Errorf("reach %d from %d rows and %d starts, want %d from %d and %d at most", got, l.rows, spread, want,
			n*(exchanges+want), exchanges/2)
	}
}

// Path sums of a long run hold the rows of few exchanges.
func TestPathSumsForgetEarlierExchanges(t *testing.T) {
	g, err := New(Spec{Kind: RandomShift, N: 9, Slack: 1, Exchanges: 2000})
	if err != nil {
		t.Fatal(err)
	}
	w, most, held := newWindow(g), Sums{}, 0
	for s := range w.starts {
		most = most.join(w.sums(s, [2]Rank{0, 1}))
		w.forget(s)
		now := 0
		for _, rows := range w.rows {
			if rows != nil {
				now++
			}
		}
		held = max(held, now)
	}
	if held > 2*w.deepest+1 || w.deepest > 200 || most.S < 2 {
		t.Errorf("holds the rows of %d exchanges, a sum has %d, and S is %v", held, w.deepest, most.S)
	}
}

func TestDistancesOfARing(t *testing.T) {
	g := build(t, "ring:8")
	s, err := g.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	distances, err := g.Distances(5, 0)
	if err != nil || len(distances) != 5 {
		t.Fatal(distances, err)
	}
	for k, got := range distances {
		if want := math.Pow(s.Rho, float64(k+1)); math.Abs(got-want) > 1e-12 {
			t.Errorf("exchange %d: %v, want %v", k, got, want)
		}
	}
	if distances, err = build(t, "base2:12").Distances(100, 1e-9); err != nil || len(distances) != 7 {
		t.Errorf("base2: %v, %v", distances, err)
	}
}

func TestDrawnGraphsFollowTheirSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 30).Draw(t, "n")
		degree := 2 * rapid.IntRange(2, 3).Draw(t, "half the degree")
		spec := Spec{Kind: RandomRegular, N: max(n, degree+1), Degree: degree, Slack: 1, Seed: rapid.Uint64().Draw(t, "seed")}
		g, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.N() {
			if g.Degree(Rank(i)) != degree {
				t.Fatalf("worker %d has %d neighbours, want %d", i, g.Degree(Rank(i)), degree)
			}
		}
		again, err := New(spec)
		if err != nil || !cmp.Equal(g.Edges(), again.Edges()) {
			t.Fatal("the same seed gives another graph", err)
		}
		spec.Kind = SmallWorld
		if g, err = New(spec); err != nil || len(g.Edges()) != min(g.N()*degree/2, g.N()*(g.N()-1)/2) {
			t.Fatalf("%v: %v", spec, err)
		}
	})
}

func TestSeedsDrawOtherGraphs(t *testing.T) {
	for _, kind := range []Kind{RandomRegular, SmallWorld, ErdosRenyi} {
		seen := map[string]bool{}
		for seed := range 5 {
			g, err := New(Spec{Kind: kind, N: 20, Slack: 1, Seed: uint64(seed)})
			if err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprint(g.Edges())] = true
		}
		if len(seen) < 5 {
			t.Errorf("%s: 5 seeds give %d graphs", kind, len(seen))
		}
	}
}

func TestSpectrumIsThatOfStaticGraphs(t *testing.T) {
	_, err := build(t, "static-exponential:2").Spectrum()
	if err == nil || !strings.Contains(err.Error(), "only a static graph has one") {
		t.Errorf("error %v", err)
	}
}

// The rows of an Endless kind cost no memory once they were drawn.
func TestRowsOfDrawnExchangesAllocateNothing(t *testing.T) {
	for _, text := range []string{"random-matching:9", "random-shift:9", "one-peer-exponential:9"} {
		rows, s := build(t, text).Sequence(3), 0
		for range 2 * keptMatchings {
			rows.At(s)
			s++
		}
		if n := testing.AllocsPerRun(100, func() { rows.At(s); s++ }); n != 0 {
			t.Errorf("%s: %v allocations for a row", text, n)
		}
	}
}

// noneIsEmpty equates nil with an empty list.
var noneIsEmpty = cmpopts.EquateEmpty()
