package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// thetaRules are the ways to choose the bound of the modulo codec.
var thetaRules = map[string]func(r *Run, rounding moniqua.Rounding) (func(k int) float64, error){
	"certified": certifiedTheta,
	"theorem":   theoremTheta,
	"fixed":     fixedTheta,
}

// defaultBound is the G_∞ of a run file that says 0.
const defaultBound = 1

// assembleTheta chooses the bound at once: that there is none for these bits on
// this graph is a mistake of the run file.
func (r *Run) assembleTheta() error {
	if !r.quantized() {
		return nil
	}
	a := r.cfg.Algorithm
	rounding, err := moniqua.ParseRounding(a.Rounding)
	if err != nil {
		return configs.Errorf("algorithm.rounding", "%v", err)
	}
	r.theta, err = thetaRules[a.Theta.Rule](r, rounding)
	if err != nil {
		return configs.Errorf("algorithm.theta.rule", "%v", err).
			With("algorithm.bits", "algorithm.levels", "algorithm.rounding", "algorithm.theta.value", "algorithm.theta.bound", "topology.kind", "topology.slack")
	}
	return nil
}

func fixedTheta(r *Run, _ moniqua.Rounding) (func(k int) float64, error) {
	return moniqua.Fixed(r.cfg.Algorithm.Theta.Value)
}

func certifiedTheta(r *Run, rounding moniqua.Rounding) (func(k int) float64, error) {
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	certificate, err := r.certificate(spectrum, rounding)
	if err != nil {
		return nil, err
	}
	return certificate.Rule(updates)
}

func theoremTheta(r *Run, _ moniqua.Rounding) (func(k int) float64, error) {
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	return moniqua.Theorem{Workers: r.N(), Rho: spectrum.Rho}.Rule(updates)
}

// bounded bounds the update direction, as both rules that compute theta need
// it, and returns what else they need.
func (r *Run) bounded() (topology.Spectrum, moniqua.Updates, error) {
	r.bound = r.cfg.Algorithm.Theta.Bound
	if r.bound == 0 {
		r.bound = defaultBound
	}
	spectrum, err := r.graph.Spectrum()
	return spectrum, moniqua.Updates{Step: r.schedule.At, Rounds: r.cfg.Train.Rounds, Bound: r.bound}, err
}
