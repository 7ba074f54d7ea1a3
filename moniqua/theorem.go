package moniqua

import (
	"cmp"
	"fmt"
	"math"
)

// A Theorem is the theta rule of Lu and De Sa (ICML 2020), Theorem 2, and with few bits Theorem 3. It needs only n and
// ρ, and gives a θ several times that of Certified:
//
//	θ_k = 2·α_k·G_∞·C·log(16n)/(1 − ηρ)
//	δ  ≤ (1 − ηρ)/(8·C²·η·log(16n) + 2(1 − ηρ))
//
// It holds for step sizes with α_k ≤ C·η^t·α_{k+t} for all k, t ≥ 0 and ηρ < 1.
type Theorem struct {
	Workers int     // n ≥ 1
	Rho     float64 // ρ of W, in [0, 1)
	C       float64 // C_α ≥ 1, the total decay of falling step sizes (η = 1); 0 means 1
	Eta     float64 // η ≥ 1; 0 means 1
}

// Check returns the reason why the rule does not apply, if any.
func (t Theorem) Check() error {
	c, eta := t.decay()
	switch {
	case t.Workers < 1:
		return fmt.Errorf("moniqua: theorem rule: %d workers: must be at least 1", t.Workers)
	case !(t.Rho >= 0 && t.Rho < 1):
		return fmt.Errorf("moniqua: theorem rule: rho %v: must be in [0, 1): "+
			"the graph must be connected and W admit no sign-flipping mode", t.Rho)
	case !(c >= 1 && eta >= 1) || math.IsInf(c, 0):
		return fmt.Errorf("moniqua: theorem rule: C %v, eta %v: step sizes that do not grow have both at least 1",
			c, eta)
	case eta*t.Rho >= 1:
		return fmt.Errorf("moniqua: theorem rule: eta·rho %v: must be below 1: "+
			"take slower falling step sizes or a denser graph", eta*t.Rho)
	}
	return nil
}

func (t Theorem) decay() (c, eta float64) {
	c, eta = t.C, t.Eta
	c = cmp.Or(c, 1)
	eta = cmp.Or(eta, 1)
	return c, eta
}

// logWorkers returns log(16n): S ≤ log(16n)/(1 − ρ).
func (t Theorem) logWorkers() float64 { return math.Log(16 * float64(t.Workers)) }

// Theta returns θ of Theorem 2 for the step size alpha and updates within ±bound.
func (t Theorem) Theta(alpha, bound float64) float64 {
	c, eta := t.decay()
	return 2 * alpha * bound * c * t.logWorkers() / (1 - float64(eta*t.Rho))
}

// Rule returns θ_k of Theorem 2 along a run. Instead of α_k it takes the
// largest step in the graph's memory, so that falling step sizes need no C and η.
func (t Theorem) Rule(u Updates) (func(k int) float64, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if err := u.check(); err != nil {
		return nil, err
	}
	return proportional(t.Theta(1, u.Bound), 0, t.Rho, u), nil
}
