// Package levels fits level tables to the distribution of the values to round, so that rounding
// has less variance than with even levels:
//
//	m := levels.Weighted([]levels.Bucket{levels.Observe(v, norm)})
//	table := levels.ALQ(levels.WithZero, 4, m)
//
// ALQ, ALQG and AMQ are those of Faghri, Tabrizian, Markov, Alistarh, Roy and
// Ramezani-Kebrya, "Adaptive Gradient Quantization for Data-Parallel SGD", NeurIPS 2020.
//
// A bucket of coordinates is seen as norm·sign·r with r = |v|/norm in [0, 1].
// A fit knows the mean and the standard deviation of r, and a table that
// suits several buckets suits the mixture of their truncated normals.
//
// It rounds no vector and knows no payload: package quant does. All of it is
// float64 arithmetic on a few numbers, done once in a while.
package levels

import (
	"fmt"
	"math"
)

// A Component has the statistics of one bucket.
type Component struct {
	Mu, Sigma float64 // mean and population standard deviation of r
	Weight    float64 // its share in the mixture, up to a common factor; ≥ 0
}

// A Mixture is the distribution F = Σ γ_m F_m on [0, 1], where F_m is the
// normal distribution N(μ_m, σ_m²) cut off at 0 and 1:
//
//	F_m(x) = (Φ((x−μ)/σ) − Φ(−μ/σ))/Z,  Z = Φ((1−μ)/σ) − Φ(−μ/σ),
//	p_m(x) = φ((x−μ)/σ)/(σZ).
//
// μ and σ are those of the sample. A component with (nearly) no spread is an atom: all its mass lies
// at μ.
type Mixture struct {
	parts []part
}

// A part is one component with the values that do not depend on x.
type part struct {
	mu, sigma float64 // sigma is 0 for an atom
	scale     float64 // γ/Z
}

const (
	// atomSigma is the spread below which a component is an atom: less than the rounding of one
	// coordinate to float32 adds.
	atomSigma = 1e-9
	// leastMass is the mass in [0, 1] below which a normal distribution counts as an atom at the
	// nearer end. Then 37 σ lie between μ and that end, which is impossible for a mean of numbers in
	// [0, 1].
	leastMass = 1e-300
)

// NewMixture returns the mixture of the components, and at least one must have a weight. It fails
// on numbers that are not finite and on a σ or a weight below 0.
func NewMixture(components ...Component) (*Mixture, error) {
	total := 0.0
	for i, c := range components {
		if !finite(c.Mu) || !finite(c.Sigma) || c.Sigma < 0 || !finite(c.Weight) || c.Weight < 0 {
			return nil, fmt.Errorf("levels: component %d: mean %v, deviation %v, weight %v: must be finite, the last two at "+
				"least 0", i, c.Mu, c.Sigma, c.Weight)
		}
		total += c.Weight
	}
	if !finite(total) || total <= 0 {
		return nil, fmt.Errorf("levels: %d components weigh %v together: must be finite and above 0", len(components), total)
	}
	m := &Mixture{}
	for _, c := range components {
		if c.Weight > 0 {
			m.parts = append(m.parts, newPart(c, c.Weight/total))
		}
	}
	return m, nil
}

func newPart(c Component, gamma float64) part {
	if c.Sigma >= atomSigma {
		p := part{mu: c.Mu, sigma: c.Sigma}
		if mass := p.at(0).massTo(p.at(1)); mass >= leastMass {
			p.scale = gamma / mass
			return p
		}
	}
	// An atom at 0 lies just above it, so that a cell (0, b] holds it.
	return part{mu: min(max(c.Mu, math.SmallestNonzeroFloat64), 1), scale: gamma}
}

// A place is a point relative to one component.
type place struct {
	above   bool    // x ≥ μ
	tail    float64 // mass of N(μ, σ²) beyond x, on x's side of μ
	density float64 // of N(μ, σ²) at x
}

func (p part) at(x float64) place {
	if p.sigma == 0 {
		return place{above: x >= p.mu}
	}
	z := (x - p.mu) / p.sigma
	return place{
		above:   z >= 0,
		tail:    math.Erfc(math.Abs(z)/math.Sqrt2) / 2,
		density: math.Exp(-z*z/2) / (p.sigma * math.Sqrt(2*math.Pi)),
	}
}

// massTo returns the mass of N(μ, σ²) between a and b ≥ a. On one side of μ it
// is a difference of tails, which is precise where Φ itself is 1.
func (a place) massTo(b place) float64 {
	switch {
	case a.above:
		return max(0, a.tail-b.tail)
	case b.above:
		return 1 - a.tail - b.tail
	}
	return max(0, b.tail-a.tail)
}

// A point is a number with its place for each component. Each place is computed once, however many
// cells end there.
type point struct {
	x      float64
	places []place
}

func (m *Mixture) point(x float64) *point {
	p := &point{places: make([]place, len(m.parts))}
	m.move(p, x)
	return p
}

// move moves p to x, limited to [0, 1].
func (m *Mixture) move(p *point, x float64) {
	p.x = min(max(x, 0), 1)
	for i, part := range m.parts {
		p.places[i] = part.at(p.x)
	}
}

// Moments of a cell (a, b] of the mixture, about a: ∫dF, ∫(r−a)dF, ∫(r−a)²dF.
// Those about 0 would cancel in short cells.
type moments struct {
	mass, first, second float64
}

// between returns the moments of the cell from a to b ≥ a. With q(x) the normal
// density, ∫(r−a)q = (μ−a)·∫q − σ²(q(b)−q(a)), and by parts once more for the second.
func (m *Mixture) between(a, b *point) (sum moments) {
	width := b.x - a.x
	for i, p := range m.parts {
		from, to := a.places[i], b.places[i]
		mass, shift, square := from.massTo(to), p.mu-a.x, p.sigma*p.sigma
		first := shift*mass - square*(to.density-from.density)
		second := shift*first + square*(mass-width*to.density)
		sum.mass += p.scale * mass
		sum.first += p.scale * first
		sum.second += p.scale * second
	}
	sum.first = min(max(sum.first, 0), width*sum.mass)
	return sum
}

func (m *Mixture) density(p *point) float64 {
	sum := 0.0
	for i, part := range m.parts {
		sum += part.scale * p.places[i].density
	}
	return sum
}

// F returns the mass of [0, x].
func (m *Mixture) F(x float64) float64 { return m.between(m.point(0), m.point(x)).mass }

// Density returns p(x) = F'(x) for x in [0, 1], without the atoms.
func (m *Mixture) Density(x float64) float64 { return m.density(m.point(x)) }

// Moment returns M(a, b) = ∫ r dF from a to b, 0 ≤ a ≤ b ≤ 1.
func (m *Mixture) Moment(a, b float64) float64 {
	from := m.point(a)
	cell := m.between(from, m.point(b))
	return cell.first + from.x*cell.mass
}

// Quantile returns the x with F(x) = q for q in (0, 1).
func (m *Mixture) Quantile(q float64) float64 {
	zero, p := m.point(0), m.point(1)
	return root(0, 1, func(x float64) (float64, float64) {
		m.move(p, x)
		return m.between(zero, p).mass - q, m.density(p)
	})
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
