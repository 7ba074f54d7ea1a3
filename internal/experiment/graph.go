package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/topology"
)

// newGraph returns the graph of the run, and its slack, which auto may have chosen.
func newGraph(r *Run) (*topology.Graph, configs.Auto, error) {
	t := r.cfg.Topology
	spec := t.Spec()
	spec.Slack, spec.Seed = float64(t.Slack), r.cfg.Seed
	spec.Exchanges = max(1, int(r.cfg.Train.Rounds)/r.cfg.Algorithm.LocalSteps)
	if r.data.Local() && r.cfg.Train.Epochs > 0 {
		spec.Exchanges = topology.DefaultExchanges // the slack must not depend on rows that another machine does not see
	}
	if own := r.method.On.Kind; own != "" {
		spec = topology.Spec{Kind: own, N: t.Size, Slack: 1}
	}
	choose := spec.Slack == float64(configs.Computed)
	if choose {
		spec.Slack = 1
	}
	graph, err := topology.New(spec)
	if err != nil {
		return nil, 0, configs.Errorf("topology.kind", "%v", err).
			With("topology.size", "topology.file", "topology.degree", "topology.chance", "algorithm.reduce")
	}
	slack := t.Slack
	if choose {
		if graph, err = chooseSlack(r, graph); err == nil {
			graph, err = steadySlack(r, graph)
		}
		if err != nil {
			return nil, 0, err
		}
		slack = configs.Auto(graph.Spec().Slack)
	}
	return graph, slack, admit(r, graph)
}

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

// mostChecked is the largest number of members of a run whose algorithm needs a property of W: a check for each number
// takes 24·n² bytes and n³ operations.
const mostChecked = 256

// sized returns a graph for n members. A torus takes the grid nearest to a square.
func sized(spec topology.Spec, n int) topology.Spec {
	spec.N, spec.Rows, spec.Cols = n, 0, 0
	if spec.Kind.Takes("rows") {
		spec.Rows, spec.Cols = topology.Sides(n)
	}
	return spec
}

// steadySlack returns g with a slack, at most its own, at which the algorithm is stable for each number of members.
func steadySlack(r *Run, g *topology.Graph) (*topology.Graph, error) {
	m, need, slack := r.cfg.Membership, r.method.On, g.Spec().Slack
	if !r.cfg.Views() || need.Met == nil || m.Max > mostChecked {
		return g, nil
	}
	for n := m.Min; n <= m.Max; n++ {
		spec := sized(g.Spec(), n)
		if setting, _ := spec.Check(); setting != "" {
			continue // checkSizes says why
		}
		spec.Slack = 1
		other, err := topology.New(spec)
		if err != nil {
			return nil, err
		}
		spectrum, err := other.Spectrum()
		if err != nil {
			return nil, err
		}
		if !need.Met(spectrum) {
			slack = min(slack, twoDigits(autoShare*need.Most(spectrum)))
		}
	}
	spec := g.Spec()
	spec.Slack = slack
	return topology.New(spec)
}
