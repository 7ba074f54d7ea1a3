package conformance

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"gossiptrainer/moniqua"
)

func TestConformanceTheta(t *testing.T) {
	var file struct {
		Cases []thetaCase
		Steps []struct {
			Levels         int
			Mode           string
			Theta          float64
			Delta, Step, B float64
		}
	}
	Load(t, "theta.json", &file)
	if len(file.Cases) == 0 || len(file.Steps) == 0 {
		t.Fatal("theta.json: no cases or no steps")
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%d: %s", i, c.Topology.Name), func(t *testing.T) {
			c.checkGraph(t)
			c.checkTheorem(t)
			c.checkCertified(t)
		})
	}
	for _, s := range file.Steps {
		t.Run(fmt.Sprintf("step: %d levels %s", s.Levels, s.Mode), func(t *testing.T) {
			g := mustGrid(t, s.Theta, s.Levels, s.Mode)
			relative(t, "delta", g.Delta(), s.Delta)
			relative(t, "step", g.Step(), s.Step)
			relative(t, "modulus", g.Modulus(), s.B)
		})
	}
}

type thetaCase struct {
	Alpha, G       float64
	Topology       topologySpec
	Rho            float64
	CAlpha         float64 `json:"C_alpha"`
	Eta            float64
	Theorem2Theta  float64 `json:"theorem2_theta"`
	Theorem2Delta  float64 `json:"theorem2_delta"`
	BitsNearest    int     `json:"bits_nearest"`
	BitsStochastic int     `json:"bits_stochastic"`
	PaperBits      int     `json:"paper_bits_formula"`
	S, S1          float64
	D2             *struct{ Sg, Se float64 } `json:"d2_series"`
	Certified      map[string]*float64
	Theorem3       *struct {
		Gamma   float64
		RhoBase float64 `json:"rho_base"`
		Theta   float64
	}
	Theorem3Gamma float64 `json:"theorem3_gamma_delta_quarter_K1000"`
}

// checkGraph checks that the spectral numbers of the case are those of its graph.
func (c *thetaCase) checkGraph(t *testing.T) {
	g := c.Topology.graph(t)
	s, err := g.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "rho", s.Rho, c.Rho, 1e-9) // 0 up to rounding on the complete graph
	near(t, "S", s.S, c.S, 1e-6)
	near(t, "S1", s.S1, c.S1, 1e-6)
	sg, se, err := g.D2Sums(s)
	if c.D2 == nil {
		if err == nil {
			t.Errorf("D² sums %v, %v on a graph that D² does not admit", sg, se)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Sg", sg, c.D2.Sg, 1e-6)
	near(t, "Se", se, c.D2.Se, 1e-6)
}

func (c *thetaCase) checkTheorem(t *testing.T) {
	n := c.Topology.graph(t).N()
	rule := moniqua.Theorem{Workers: n, Rho: c.Rho, C: c.CAlpha, Eta: c.Eta}
	if err := rule.Check(); err != nil {
		t.Fatal(err)
	}
	relative(t, "theorem 2 theta", rule.Theta(c.Alpha, c.G), c.Theorem2Theta)
	relative(t, "theorem 2 delta", c.delta(n), c.Theorem2Delta)
	for mode, want := range map[moniqua.Rounding]int{
		moniqua.Nearest: c.BitsNearest, moniqua.Dither: c.BitsNearest,
		moniqua.Stochastic: c.BitsStochastic, moniqua.Shared: c.BitsStochastic,
	} {
		if got := fewestBits(c.delta(n), mode); got != want {
			t.Errorf("bits with %v: %d, want %d", mode, got, want)
		}
	}
	// The paper counts the two ends of the unit interval as two symbols, although they are one: wrap-around saves a bit.
	if got := int(math.Ceil(math.Log2(1/(2*c.delta(n)) + 1))); got != c.PaperBits || c.BitsNearest > got ||
		c.BitsStochastic > got+1 || c.BitsNearest < got-1 {
		t.Errorf("the paper's bits: %d, want %d, and ours are %d and %d", got, c.PaperBits, c.BitsNearest,
			c.BitsStochastic)
	}

	// Theorem 3 is about the matrix without slack.
	base := c.Topology
	base.Slack = 1
	s, err := base.graph(t).Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	slack := moniqua.Theorem{Workers: n, Rho: s.Rho}
	relative(t, "theorem 3 gamma", smallGamma(n, s.Rho, 0.25, 1000), c.Theorem3Gamma)
	if c.Theorem3 != nil {
		near(t, "rho without slack", s.Rho, c.Theorem3.RhoBase, 1e-9)
		relative(t, "theorem 3 theta", slack.Theta(c.Alpha, c.G)/c.Theorem3.Gamma, c.Theorem3.Theta)
	}
}

// delta returns the largest δ that Theorem 2 admits.
func (c *thetaCase) delta(n int) float64 {
	gap := 1 - max(1, c.Eta)*c.Rho
	decay := max(1, c.CAlpha)
	return gap / (8*decay*decay*max(1, c.Eta)*math.Log(16*float64(n)) + 2*gap)
}

// fewestBits returns the smallest b whose 2^b symbols have at most the error δ.
func fewestBits(delta float64, mode moniqua.Rounding) int {
	b := 1
	for (moniqua.Grid{Levels: 1 << b, Rounding: mode}).Delta() > delta {
		b++
	}
	return b
}

// smallGamma returns the slack γ of Theorem 3, with which any δ < 1/2 converges in the given number of rounds.
func smallGamma(n int, rho, delta, rounds float64) float64 {
	gap := 1 - rho
	noise := 16 * delta * delta / ((1 - 2*delta) * (1 - 2*delta))
	return min(1, 2/(gap+noise*64*math.Log(4*float64(n))*math.Log(rounds)/gap))
}

func (c *thetaCase) checkCertified(t *testing.T) {
	for name, want := range c.Certified {
		bits, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []moniqua.Rounding{moniqua.Nearest, moniqua.Dither} {
			rule := moniqua.Certified{S: c.S, S1: c.S1, Rho: c.Rho, Levels: 1 << bits, Rounding: mode}
			got, err := rule.Theta(c.Alpha, c.G)
			switch {
			case want == nil && err == nil:
				t.Errorf("%d bits, %v: theta %v, want no certificate", bits, mode, got)
			case want != nil && err != nil:
				t.Errorf("%d bits, %v: %v, want %v", bits, mode, err, *want)
			case want != nil:
				relative(t, fmt.Sprintf("certified theta with %d bits", bits), got, *want)
			}
		}
	}
}

// relative checks that got equals want to relative 1e-9.
func relative(t *testing.T, what string, got, want float64) {
	t.Helper()
	if difference := got - want; !(difference <= 1e-9*max(want, -want) && -difference <= 1e-9*max(want, -want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func mustGrid(t *testing.T, theta float64, levels int, mode string) moniqua.Grid {
	t.Helper()
	rounding, err := moniqua.ParseRounding(mode)
	if err != nil {
		t.Fatal(err)
	}
	g := moniqua.Grid{Theta: theta, Levels: levels, Rounding: rounding}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}
