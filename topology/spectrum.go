package topology

import (
	"fmt"
	"math"
	"slices"
)

// A Spectrum holds the numbers of W that the theory needs. With one worker there is no second eigenvalue: Lambda2 and
// LambdaN are then 0, as in a complete graph.
type Spectrum struct {
	Values  []float64 // eigenvalues, decreasing; Values[0] = 1
	Lambda2 float64   // λ₂, below 1
	LambdaN float64   // λₙ, above −1
	Rho     float64   // max(|λ₂|, |λₙ|): factor per round on the way to consensus
	Gap     float64   // 1 − ρ
	Beta    float64   // 1 − λₙ

	// The path sums of the certified theta rule, over all edges (i, j):
	//	S  = max Σ_{t≥0} |Wᵗ(e_i − e_j)|₁
	//	S1 = max Σ_{t≥0} |(W − I)Wᵗ(e_i − e_j)|₁
	// 0 without edges.
	S, S1 float64
}

// errTooLarge refuses a computation on n workers.
func errTooLarge(what string, n int) error {
	return fmt.Errorf("topology: %s: %d workers: at most %d", what, n, maxSpectrum)
}

// maxSpectrum bounds the n³ operations of the eigenvalue solver to minutes.
const maxSpectrum = 1 << 12

// Spectrum computes the spectrum of the W of a static graph. It costs O(n³) operations and about 24·n² bytes: a second
// at a thousand workers. It refuses more than 4096 workers.
func (g *Graph) Spectrum() (Spectrum, error) {
	n := g.N()
	switch {
	case g.links != nil:
		return Spectrum{}, fmt.Errorf("topology: spectrum: %v has directed edges or changes: only a static graph has one",
			g.spec)
	case n > maxSpectrum:
		return Spectrum{}, errTooLarge("spectrum", n)
	}
	m, err := g.modes()
	if err != nil {
		return Spectrum{}, err
	}
	s := Spectrum{Values: slices.Clone(m.values)}
	if n > 1 {
		s.Lambda2, s.LambdaN = m.values[1], m.values[n-1]
	}
	s.Rho = max(math.Abs(s.Lambda2), math.Abs(s.LambdaN))
	s.Gap = 1 - s.Rho
	s.Beta = 1 - s.LambdaN
	s.S, s.S1 = g.pathSums(m, g.typicalEdges())
	return s, nil
}
