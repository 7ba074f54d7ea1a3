package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/topology"
)

// mostClosed is the largest ring that closes the gaps of lost workers: that takes 16·n² bytes in a simulation.
const mostClosed = 1 << 12

// admit refuses graphs on which the algorithm does not converge. Metropolis weights on
// a connected graph are symmetric, doubly stochastic and have ρ < 1: all that most
// algorithms ask of W (docs/math.md#admissibility).
func admit(r *Run, g *topology.Graph) error {
	if n := g.N(); n > mostClosed && r.cfg.Reweights() && g.Spec().Kind.Closes() {
		return configs.Errorf("topology.size", "%d workers: a %s that closes its gaps has at most %d, because each worker "+
			"keeps the order of all others", n, g.Spec().Kind, mostClosed).With("faults.on_lost_neighbor")
	}
	on := r.method.On
	if on.Met == nil {
		return nil
	}
	spectrum, err := g.Spectrum()
	if err != nil {
		return configs.Errorf("topology.size", "%v", err)
	}
	if on.Met(spectrum) {
		return nil
	}
	spec := g.Spec()
	return configs.Errorf("topology.slack",
		"%s needs %s, and %s with slack %.4g has %.4g: set the slack below %.4g, or to auto",
		r.method, on.Need, spec, spec.Slack, spectrum.LambdaN, spec.Slack*on.Most(spectrum)).With("algorithm.name",
		"topology.kind", "topology.size")
}
