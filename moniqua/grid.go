// Package moniqua sends models at a few bits per parameter by the modulo codec of Lu and De Sa,
// "Moniqua: Modulo Quantized Communication in Decentralized SGD" (ICML 2020). Give an update
// rule a codec in place of algos.Full:
//
//	theta, err := moniqua.Fixed(0.5) // neighbours' models differ by less, in every parameter
//	codec, err := moniqua.New(256, moniqua.Dither, theta, seed, rank)
//	rule := &algos.DPSGD{X: x, Alpha: step, Codec: codec}
//
// A model travels as its grid indices modulo N. The receiver, whose own model differs by less
// than θ, recovers them exactly. From a bound of the updates, Theorem and Certified
// compute a θ that is large enough; Adaptive and Measured make one that follows the run.
//
// The package mixes no models by a matrix of its own and sends nothing: when a message has to
// be repaired, package gossip asks for that. Between rounds it keeps only what verification
// and the control of θ need.
//
// docs/math.md#the-modulo-codec and docs/math.md#theta derive the formulas.
package moniqua

import (
	"fmt"
	"math"
	"strings"

	"gossiptrainer/quant"
)

// A Rounding says which u turns a coordinate x into the index ⌊x/D + u⌋.
type Rounding uint8

// The rounding modes. Dither is the default: it works with one bit, its error is half that of Shared, and it has no
// dead zone.
const (
	Dither     Rounding = iota // u shared by all workers, known to the decoder (subtractive dither)
	Nearest                    // u = 1/2
	Stochastic                 // u drawn by each worker for itself
	Shared                     // u shared by all workers, not used to decode (the paper's form)
)

var roundingNames = [...]string{"dither", "nearest", "stochastic", "shared"}

// String returns the name that ParseRounding reads.
func (r Rounding) String() string {
	if int(r) < len(roundingNames) {
		return roundingNames[r]
	}
	return fmt.Sprintf("Rounding(%d)", uint8(r))
}

// ParseRounding returns the mode called name: dither, nearest, stochastic or shared.
func ParseRounding(name string) (Rounding, error) {
	for r, known := range roundingNames {
		if name == known {
			return Rounding(r), nil
		}
	}
	return 0, fmt.Errorf("moniqua: rounding %q: must be one of %s", name, strings.Join(roundingNames[:], ", "))
}

// spread is the largest error of an index, in half steps: |x/D − v/D| ≤ spread/2.
func (r Rounding) spread() int {
	if r == Stochastic || r == Shared {
		return 2
	}
	return 1
}

// Check returns the reason why N = levels symbols cannot be used with r, if any.
func (r Rounding) Check(levels int) error {
	switch {
	case int(r) >= len(roundingNames):
		return fmt.Errorf("moniqua: rounding: unknown mode %d", uint8(r))
	case levels < 2 || levels > quant.MaxLevels:
		return fmt.Errorf("moniqua: %d levels: must be 2 to %d (1 to 16 bits)", levels, quant.MaxLevels)
	case levels <= r.spread():
		return fmt.Errorf("moniqua: %d levels: %v rounding needs at least 3, as δ = 1/2 makes the modulus infinite: "+
			"use nearest or dither, or more bits", levels, r)
	}
	return nil
}

// A Grid is the set of values that θ, N and the rounding mode can represent. These are the multiples of the step D,
// known to the receiver modulo B.
type Grid struct {
	Theta    float64 // bound on |x_i − x_j|_∞ over the edges, > 0
	Levels   int     // N, 2 to 65536
	Rounding Rounding
}

// Check returns the reason why the grid cannot be used, if any.
func (g Grid) Check() error {
	if err := g.Rounding.Check(g.Levels); err != nil {
		return err
	}
	switch {
	case math.IsNaN(g.Theta) || math.IsInf(g.Theta, 0) || g.Theta <= 0:
		return fmt.Errorf("moniqua: theta %v: must be finite and greater than 0", g.Theta)
	case g.Modulus() > math.MaxFloat32:
		return fmt.Errorf("moniqua: theta %v: modulus %v is beyond the range of float32 models", g.Theta, g.Modulus())
	case g.Step() == 0:
		return fmt.Errorf("moniqua: theta %v: too small, the step underflows to 0", g.Theta)
	}
	return nil
}

// Delta returns δ, the largest error of a value in units of the modulus:
// 1/(2N), or 1/N with Stochastic and Shared.
func (g Grid) Delta() float64 {
	return float64(g.Rounding.spread()) / float64(2*g.Levels)
}

// Step returns D = B/N, the distance of neighbouring values. It computes 2θ/(N−1), or 2θ/(N−2) with Stochastic and
// Shared. So both ends of a link get the same bits from the same θ.
func (g Grid) Step() float64 {
	return 2 * g.Theta / float64(g.Levels-g.Rounding.spread())
}

// Modulus returns B = 2θ/(1−2δ) (Lemma 2).
func (g Grid) Modulus() float64 {
	return 2 * g.Theta * float64(g.Levels) / float64(g.Levels-g.Rounding.spread())
}

// Noise returns the root mean square difference of neighbours, as a share of θ, that the rounding errors of g alone
// cause. Mixing amplifies errors by a ≥ 0 (topology.Spectrum.Noise).
//
// The errors of neighbours are correlated if the neighbours share u, or use none. At a distance h below the step D, the
// square of their difference is h·(D − h) on average, and D²/4 at most. With h² = a·h·(D − h) the noise feeds on
// itself: h = D·a/(1+a) up to D/2, and above it h² = a·D²/4. With a u for each worker the errors do not depend on h;
// the square of their difference is at most D²/2.
func (g Grid) Noise(a float64) float64 {
	step := g.Step() / g.Theta
	switch {
	case g.Rounding == Stochastic:
		return step * math.Sqrt(a/2)
	case a <= 1:
		return step * a / (1 + a)
	}
	return step * math.Sqrt(a) / 2
}
