package modulo

import (
	"fmt"
	"math"

	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// rules are the ways to choose the bound of the modulo codec in advance.
var rules = map[string]func(m *Maker) ([]func(k int) float64, error){
	"certified": certified,
	"theorem":   theorem,
	"fixed":     fixed,
}

func fixed(m *Maker) ([]func(k int) float64, error) {
	values := []float64{m.Algorithm.Theta.Value, m.Algorithm.Theta.Second}
	all := make([]func(k int) float64, len(m.Method.Lanes()))
	for lane := range all {
		var err error
		if all[lane], err = moniqua.Fixed(values[lane]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func certified(m *Maker) ([]func(k int) float64, error) {
	spectrum, updates, err := m.bounded()
	if err != nil {
		return nil, err
	}
	certificate, err := m.certificate(spectrum)
	if err != nil {
		return nil, err
	}
	if m.Method.Theta.Tracks {
		all, err := m.Graph.AllPathSums()
		if err != nil {
			return nil, err
		}
		models, directions, err := moniqua.Tracked{Certified: certificate, AllS1: all.S1}.Rules(updates)
		return []func(int) float64{models, directions}, err
	}
	return alone(certificate.Rule(updates))
}

// alone returns the rule of the only lane.
func alone(rule func(k int) float64, err error) ([]func(k int) float64, error) {
	return []func(k int) float64{rule}, err
}

func theorem(m *Maker) ([]func(k int) float64, error) {
	if kind := m.Graph.Spec().Kind; !kind.Static() {
		return nil, fmt.Errorf("modulo: the theorem has no bound for a graph that changes or is directed, like %s: "+
			"use the rule certified or adaptive", kind)
	}
	spectrum, updates, err := m.bounded()
	if err != nil {
		return nil, err
	}
	return alone(moniqua.Theorem{Workers: m.Workers, Rho: spectrum.Rho}.Rule(updates))
}

// bounded returns the bounded updates and the spectrum, which both rules that compute theta need.
func (m *Maker) bounded() (topology.Spectrum, moniqua.Updates, error) {
	spectrum, err := m.spectrum()
	return spectrum, moniqua.Updates{
		Step: m.Step, Rounds: m.Rounds, Bound: m.Bound, Every: m.Algorithm.LocalSteps,
	}, err
}

// certificate returns the values of the graph from which the certified rule computes theta.
func (m *Maker) certificate(s topology.Spectrum) (moniqua.Certified, error) {
	if m.Method.Theta.Certificate == nil {
		return moniqua.Certified{}, fmt.Errorf("modulo: the certified theta has no bound for the algorithm %s", m.Method)
	}
	sums, err := m.Method.Theta.Certificate(m.Graph, s, m.Settings)
	return moniqua.Certified{
		S: sums.S, S1: sums.S1, Rho: sums.Rho, Levels: Levels(m.Algorithm), Rounding: m.rounding(),
	}, err
}

// smallRing is the size up to which the path sums of rings may shrink as the ring grows.
const smallRing = 8

// spectrum returns the spectrum of a static graph. A ring that closes its gaps may become any smaller ring, so its path
// sums are the largest of theirs; ρ is largest for the full ring.
func (m *Maker) spectrum() (topology.Spectrum, error) {
	if !m.Graph.Spec().Kind.Static() {
		return topology.Spectrum{}, nil
	}
	s, err := m.Graph.Spectrum()
	if err != nil || !m.Reweights {
		return s, err
	}
	slack := m.Graph.Spec().Slack
	specs := []topology.Spec{{Kind: topology.Path, N: 2, Slack: slack * 2 / 3}} // two survivors: an edge of γ/3
	for n := 3; n < min(m.Workers, smallRing); n++ {
		specs = append(specs, topology.Spec{Kind: topology.Ring, N: n, Slack: slack})
	}
	for _, spec := range specs {
		g, err := topology.New(spec)
		if err != nil {
			return s, err
		}
		smaller, err := g.Spectrum()
		if err != nil {
			return s, err
		}
		s.S, s.S1, s.Rho = max(s.S, smaller.S), max(s.S1, smaller.S1), max(s.Rho, smaller.Rho)
	}
	return s, nil
}

// portable rounds the values of a rule up to a float32. Rules use functions like the cosine whose last bits may depend
// on the CPU, and all workers need the same bits of theta.
func portable(theta func(k int) float64) func(k int) float64 {
	return func(k int) float64 {
		exact := theta(k)
		rounded := float32(exact)
		if float64(rounded) < exact {
			rounded = math.Nextafter32(rounded, math.MaxFloat32)
		}
		return float64(rounded)
	}
}
