package registry

import "gossiptrainer/topology"

// The update rules that are linear in their inputs, for their certificates.

// qgRule is QG-DSGDm: x, and α m̂.
func qgRule(p Settings) topology.Rule {
	beta := float64(p.Momentum)
	return topology.Rule{
		Message: func(v topology.State, u float64) float64 { return v[0] - (u + beta*v[1]) },
		Next: func(v topology.State, u, message, moved float64) topology.State {
			return topology.State{message + moved, beta*v[1] + (1-beta)*(u+beta*v[1]-moved)}
		},
	}
}

// decentlamRule is DecentLaM: x, and α m.
func decentlamRule(p Settings) topology.Rule {
	beta := float64(p.Momentum)
	return topology.Rule{
		Message: func(v topology.State, u float64) float64 { return v[0] - u },
		Next: func(v topology.State, u, _, moved float64) topology.State {
			m := beta*v[1] + u - moved
			return topology.State{v[0] - m, m}
		},
	}
}

// impulses returns the certificate of a linear rule.
func impulses(of func(Settings) topology.Rule) func(*topology.Graph, topology.Spectrum, Settings) (Sums, error) {
	return func(g *topology.Graph, _ topology.Spectrum, p Settings) (Sums, error) {
		sums, err := g.Impulses(of(p))
		return Sums{S: sums.Input, S1: sums.Error, Rho: sums.Rho}, err
	}
}

// impulseNoise returns the noise of a linear rule.
func impulseNoise(of func(Settings) topology.Rule) func(topology.Spectrum, Settings) float64 {
	return func(s topology.Spectrum, p Settings) float64 { return s.NoiseOf(of(p), p.Slack) }
}
