package topology

import "math"

// The path sums S and S1 add |y(t)|₁ over all rounds t, with y(t) = Wᵗ(e_i − e_j). On a long ring or path the gap is of
// order 1/n², so the terms vanish slowly. So only the first rounds are walked one by one. From there on, each
// coordinate is a sum of few slowly decaying exponentials
//
//	y_c(2τ) = Σ_m q_m[c]·b_m·μ_mᵗᵃᵘ,  μ_m = λ_m² ∈ [0, 1),
//
// and likewise for odd rounds. While its sign lasts, the sum of its absolute values from τ = p to q is |F(p) − F(q)|,
// where F(τ) = Σ_m q_m[c]·b_m·μ_mᵗᵃᵘ/(1 − μ_m).
const (
	walked   = 128   // rounds walked one by one
	settled  = 1e-14 // a term of this size no longer counts
	strideBy = 8     // a stride is this fraction of the time so far
)

// pathSums returns S and S1 of pairs on a static graph whose W has the eigenpairs m.
func (g *Graph) pathSums(m modes, pairs [][2]Rank) (s, s1 float64) {
	rows := g.Rows(0)
	for _, e := range pairs {
		y, next := difference(g.N(), e), make([]float64, g.N())
		sum, sum1 := 0.0, 0.0
		term := norm1(y)
		for t := 0; t < walked && term > settled; t++ {
			mix(next, rows, y)
			sum += term
			sum1 += distance1(next, y)
			y, next = next, y
			term = norm1(y)
		}
		if term > settled {
			rest, rest1 := m.rest(y)
			sum, sum1 = sum+rest, sum1+rest1
		}
		s, s1 = max(s, sum), max(s1, sum1)
	}
	return s, s1
}

// typicalEdges returns edges that represent all others: a renaming of the workers turns every edge of g into one of
// them.
func (g *Graph) typicalEdges() [][2]Rank {
	edges := g.Edges()
	switch {
	case g.family.alike:
		return edges[:min(len(edges), 1)]
	case g.family.symmetric:
		return edges[:g.Degree(0)]
	}
	return edges
}

// rest returns Σ_{t≥0} |Wᵗy|₁ and Σ_{t≥0} |(W − I)Wᵗy|₁ for a y with mean 0.
func (m modes) rest(y []float64) (sum, sum1 float64) {
	var even, odd, even1, odd1 exponentials
	for i, q := range m.vectors[1:] {
		lambda := m.values[i+1]
		b := dot(q, y)
		mode := exponential{mu: lambda * lambda, shape: q}
		even = append(even, mode.times(b))
		odd = append(odd, mode.times(b*lambda))
		even1 = append(even1, mode.times(b*(lambda-1)))
		odd1 = append(odd1, mode.times(b*(lambda-1)*lambda))
	}
	n := len(y)
	return even.absSum(n) + odd.absSum(n), even1.absSum(n) + odd1.absSum(n)
}

// An exponential is the vector b·μᵗᵃᵘ·shape, a function of τ.
type exponential struct {
	mu, b float64
	shape []float64
}

func (e exponential) times(b float64) exponential {
	e.b = b
	return e
}

type exponentials []exponential

// absSum returns Σ_{τ≥0} |Σ_m b_m·μ_mᵗᵃᵘ·shape_m|₁ over vectors of length n.
func (e exponentials) absSum(n int) float64 {
	sum, elapsed := 0.0, walked/2
	e = e.alive()
	y, f := e.at(n)
	for len(e) > 0 {
		stride := elapsed / strideBy
		later := e.after(stride).alive()
		yLater, fLater := later.at(n)
		for c := range y {
			if y[c]*yLater[c] >= 0 || (math.Abs(y[c])+math.Abs(yLater[c]))*float64(stride) < settled {
				sum += math.Abs(f[c] - fLater[c])
			} else {
				sum += e.coordinate(c).absSum(stride)
			}
		}
		e, y, f = later, yLater, fLater
		elapsed += stride
	}
	return sum + norm1(f)
}

// after returns e as seen from τ = stride.
func (e exponentials) after(stride int) exponentials {
	later := make(exponentials, len(e))
	for i, mode := range e {
		later[i] = mode.times(mode.b * math.Pow(mode.mu, float64(stride)))
	}
	return later
}

// alive leaves out exponentials that no longer count.
func (e exponentials) alive() exponentials {
	kept := e[:0]
	for _, mode := range e {
		if math.Abs(mode.b) > settled*(1-mode.mu) {
			kept = append(kept, mode)
		}
	}
	return kept
}

// at returns the vector at τ = 0 and its sum F from there to infinity.
func (e exponentials) at(n int) (y, f []float64) {
	y, f = make([]float64, n), make([]float64, n)
	for _, mode := range e {
		all := mode.b / (1 - mode.mu)
		for c, q := range mode.shape {
			y[c] += mode.b * q
			f[c] += all * q
		}
	}
	return y, f
}

// A scalar is one coordinate of exponentials.
type scalar []exponential

func (e exponentials) coordinate(c int) scalar {
	s := make(scalar, len(e))
	for i, mode := range e {
		s[i] = exponential{mu: mode.mu, b: mode.b * mode.shape[c]}
	}
	return s
}

// at returns the value at τ and its sum from there to infinity.
func (s scalar) at(tau int) (y, f float64) {
	for _, mode := range s {
		b := mode.b * math.Pow(mode.mu, float64(tau))
		y += b
		f += b / (1 - mode.mu)
	}
	return y, f
}

// absSum returns Σ |y(τ)| over 0 ≤ τ < end for a y that changes sign once.
func (s scalar) absSum(end int) float64 {
	first, all := s.at(0)
	low, high := 0, end // y(low) has the sign of first, y(high) has the other sign, or high is end
	for high-low > 1 {
		middle := (low + high) / 2
		if y, _ := s.at(middle); y*first >= 0 {
			low = middle
		} else {
			high = middle
		}
	}
	_, turn := s.at(high)
	_, rest := s.at(end)
	return math.Abs(all-turn) + math.Abs(turn-rest)
}

// difference returns e_i − e_j.
func difference(n int, e [2]Rank) []float64 {
	y := make([]float64, n)
	y[e[0]], y[e[1]] = 1, -1
	return y
}

// mix computes dst ← W·x.
func mix(dst []float64, rows []Row, x []float64) {
	for i, row := range rows {
		sum := row.Self * x[i]
		for _, e := range row.In {
			sum += e.Weight * x[e.Peer]
		}
		dst[i] = sum
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func norm1(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(v)
	}
	return sum
}

func distance1(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += math.Abs(v - y[i])
	}
	return sum
}
