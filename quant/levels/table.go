package levels

import "math"

// A Form says which magnitudes a table of h levels lists, ascending up to 1. The sign of a coordinate
// is stored apart.
type Form int

const (
	// WithZero tables are 0 = l_0 < ... < l_{h−1} = 1.
	WithZero Form = iota
	// Symmetric tables are 0 < l_1 < ... < l_h = 1: there is no zero, and values below l_1 are rounded
	// to −l_1 or l_1.
	Symmetric
)

// Uniform returns h levels at equal distances: j/(h−1), or, symmetric,
// (2j−1)/(2h−1), which with their negatives lie at equal distances. h ≥ 2.
func Uniform(form Form, h int) []float64 {
	table := make([]float64, h)
	for j := range table {
		if form == Symmetric {
			table[j] = float64(2*j+1) / float64(2*h-1)
		} else {
			table[j] = float64(j) / float64(h-1)
		}
	}
	return table
}

// Exponential returns the h levels ..., p², p, 1 with 0 < p < 1. In tables with a zero, 0 replaces the
// lowest. p = 1/2 gives the levels of NUQSGD.
func Exponential(form Form, h int, p float64) []float64 {
	table := make([]float64, h)
	level := 1.0
	for j := h - 1; j >= 0; j-- {
		table[j] = level
		level *= p
	}
	if form == WithZero {
		table[0] = 0
	}
	return table
}

// Quantiles returns h levels such that m has equal mass between any two. They may coincide if m has an
// atom.
func Quantiles(form Form, h int, m *Mixture) []float64 {
	table := Uniform(form, h)
	for j, q := range table[:h-1] {
		if q > 0 {
			table[j] = m.Quantile(q)
		}
	}
	return table
}

// ascending reports whether each level exceeds the one before, and the first has its required value.
func ascending(form Form, table []float64) bool {
	if form == Symmetric && !(table[0] > 0) {
		return false
	}
	for j := 1; j < len(table); j++ {
		if !(table[j] > table[j-1]) {
			return false
		}
	}
	return true
}

// Variance returns the expected squared error of random rounding to the table, E (C(r) − r)² over m.
// It is the objective of all fits,
//
//	Ψ = Σ ∫ (l_{j+1} − r)(r − l_j) dF,  and ∫ (l_1² − r²) dF up to l_1 if symmetric.
//
// An unbiased compressor has the mean squared error Ψ·norm² per coordinate.
func Variance(form Form, table []float64, m *Mixture) float64 {
	sum, below := 0.0, m.point(table[0])
	if form == Symmetric {
		cell := m.between(m.point(0), below)
		sum = max(0, table[0]*table[0]*cell.mass-cell.second)
	}
	for _, l := range table[1:] {
		above := m.point(l)
		cell := m.between(below, above)
		sum += max(0, (above.x-below.x)*cell.first-cell.second)
		below = above
	}
	return sum
}

// Probabilities returns how often each magnitude of the table is drawn. Its
// cell [a, b] of mass P sends (M − aP)/(b−a) up to b and the rest down to a.
func Probabilities(form Form, table []float64, m *Mixture) []float64 {
	p := make([]float64, len(table))
	below := m.point(table[0])
	if form == Symmetric {
		p[0] = m.between(m.point(0), below).mass
	}
	for j, l := range table[1:] {
		above := m.point(l)
		cell := m.between(below, above)
		up := 0.0
		if above.x > below.x {
			up = cell.first / (above.x - below.x)
		}
		p[j] += cell.mass - up
		p[j+1] += up
		below = above
	}
	return p
}

// Entropy returns −Σ p·log2 p, in bits.
func Entropy(probabilities []float64) float64 {
	sum := 0.0
	for _, p := range probabilities {
		if p > 0 {
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
