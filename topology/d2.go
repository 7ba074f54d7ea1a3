package topology

import (
	"fmt"
	"math"
	"slices"
)

// D²: decentralized training over decentralized data (Tang et al. 2018), needs λₙ > −1/3, strictly. Otherwise x_{k+1} =
// W·z_k with z_k = 2x_k − x_{k−1} − … is unstable. Even rings and tori with Metropolis weights lie exactly on or beyond
// the bound. A tolerance therefore separates equality from rounding errors.
const (
	d2Bound     = -1.0 / 3
	d2Tolerance = 1e-9
	d2Rounds    = 1 << 20 // for the impulse response to die out
)

// D2Admissible reports whether D² converges on W: λₙ > −1/3.
func (s Spectrum) D2Admissible() bool { return s.LambdaN > d2Bound+d2Tolerance }

// D2MaxSlack returns 4/(3(1−λₙ)), the slack below which γW + (1−γ)I is admissible for D². It may exceed 1. It refers to
// the W of s, which includes slack.
func (s Spectrum) D2MaxSlack() float64 { return 4 / (3 * s.Beta) }

// D2Rho returns the factor per round by which D² forgets, in [0, 1) if W is admissible. With x_k ∝ μ^k an eigenvalue λ
// < 1 of W has μ² − 2λμ + λ = 0. Hence |μ| = √λ, or |λ| + √(λ² − λ) where λ is negative.
func (s Spectrum) D2Rho() float64 {
	return max(math.Sqrt(max(s.Lambda2, 0)), math.Sqrt(max(s.LambdaN*s.LambdaN-s.LambdaN, 0))-s.LambdaN)
}

// D2Sums returns the path sums of the certified theta rule for D². They are the largest over all edges (i, j), with v =
// e_i − e_j and the recursion x ← W·z, z ← 2x − x_prev:
//
//	Sg = Σ_t |z_t − z_{t−1}|₁ where z_0 = v,         the response to gradients
//	Se = Σ_t |z_t|₁           where x_0 = (W − I)v,  the response to grid errors
//
// s is the spectrum of g. Without edges both are 0. The computation goes round by round and takes O(edges/gap) steps on
// graphs without symmetry. It returns an error for a W that is too close to its bounds.
func (g *Graph) D2Sums(s Spectrum) (sg, se float64, err error) {
	if !s.D2Admissible() {
		return 0, 0, fmt.Errorf("topology: %v: D² needs λₙ > −1/3, and it is %.4g: use slack below %.4g times %.4g",
			g.spec, s.LambdaN, s.D2MaxSlack(), g.spec.Slack)
	}
	rows := g.Rows(0)
	for _, e := range g.typicalEdges() {
		v := difference(g.N(), e)
		_, changes, gradientDies := d2Response(rows, make([]float64, g.N()), v)

		x, z := make([]float64, g.N()), make([]float64, g.N())
		mix(x, rows, v)
		for c := range x {
			x[c] -= v[c]
			z[c] = 2 * x[c]
		}
		values, _, errorDies := d2Response(rows, x, z)
		if !gradientDies || !errorDies {
			return 0, 0, fmt.Errorf("topology: %v: D²: an impulse lasts longer than %d rounds: gap %.3g, λₙ %.9g", g.spec,
				d2Rounds, s.Gap, s.LambdaN)
		}
		sg, se = max(sg, changes), max(se, values)
	}
	return sg, se, nil
}

// d2Response runs the recursion from x and z, without gradients, until it has died out. It returns Σ_t |z_t|₁ and, with
// z_{−1} = 0, Σ_t |z_t − z_{t−1}|₁. It keeps the mean over the workers at 0, because a rounding error in the mean would
// grow with t.
func d2Response(rows []Row, x, z []float64) (values, changes float64, dies bool) {
	x, z = slices.Clone(x), slices.Clone(z)
	before, next := make([]float64, len(x)), make([]float64, len(x))
	for range d2Rounds {
		if norm1(x)+norm1(z)+norm1(before) <= settled {
			return values, changes, true
		}
		values += norm1(z)
		changes += distance1(z, before)
		mix(next, rows, z)
		mean := 0.0
		for _, v := range next {
			mean += v / float64(len(next))
		}
		for c, v := range next {
			v -= mean
			before[c], z[c], x[c] = z[c], 2*v-x[c], v
		}
	}
	return values, changes, false
}
