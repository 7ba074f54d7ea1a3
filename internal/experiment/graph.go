package experiment

import (
	"fmt"
	"math"
	"strconv"

	"gossiptrainer/configs"
	"gossiptrainer/internal/modulo"
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

const (
	// safeNoise is the share of theta, as a root mean square, that differences between neighbours may have from
	// rounding alone. Runs diverge above about 0.32 (docs/slack.md); with much less than 0.2 they mix too slowly.
	safeNoise = 0.2
	// autoShare bounds the slack of an algorithm that needs one, as a share of the slack at which an error never dies
	// out.
	autoShare = 0.9
)

// chooseSlack returns g with the largest slack at which the algorithm is stable and the noise of rounding is safe. All
// workers must compute the same slack: it has two digits, so that the last bits of a processor's arithmetic play no
// part.
func chooseSlack(r *Run, g *topology.Graph) (_ *topology.Graph, err error) {
	slack, spec := 1.0, g.Spec()
	noise, noisy := g.Noise, quantized(r)
	if spec.Kind.Static() {
		if noisy, err = amplifies(r, g); err != nil {
			return nil, err
		}
		if need := r.method.On; noisy || need.Met != nil {
			spectrum, err := g.Spectrum()
			if err != nil {
				return nil, configs.Errorf("topology.slack", "%v: give a slack below 1 instead of auto", err).With("topology.size")
			}
			if need.Met != nil && !need.Met(spectrum) {
				slack = autoShare * need.Most(spectrum)
			}
			noise = func(slack float64) float64 {
				p := Settings(r.cfg)
				p.Slack = slack
				return r.method.Theta.Noise(spectrum, p)
			}
		}
	}
	if noisy {
		if slack, err = quietSlack(r, noise, slack); err != nil {
			return nil, err
		}
	}
	spec.Slack = twoDigits(slack)
	return topology.New(spec)
}

// amplifies says whether the noise of rounding can be too large on g at all. A quick test suffices where the largest
// degree bounds the amplification.
func amplifies(r *Run, g *topology.Graph) (bool, error) {
	if !quantized(r) {
		return false, nil
	}
	grid, err := modulo.UnitGrid(r.cfg.Algorithm)
	if err != nil {
		return false, err
	}
	degree := 0
	for i := range g.N() {
		degree = max(degree, g.Degree(topology.Rank(i)))
	}
	return !r.method.Theta.ByDegree || grid.Noise(float64(degree)) > safeNoise, nil
}

// quietSlack returns the largest slack up to most at which the noise of rounding is
// safe. The noise grows with the slack.
func quietSlack(r *Run, amplified func(slack float64) float64, most float64) (float64, error) {
	grid, err := modulo.UnitGrid(r.cfg.Algorithm)
	if err != nil {
		return 0, err
	}
	if grid.Noise(amplified(most)) <= safeNoise {
		return most, nil
	}
	least := 0.0
	if noise := grid.Noise(amplified(least)); noise >= safeNoise {
		return 0, configs.Errorf("algorithm.bits", "%s never loses rounding errors: with %d levels they reach %.2g theta "+
			"at any slack, but must stay below %v: take at least 3 bits, or set topology.slack yourself",
			r.cfg.Algorithm.Name, grid.Levels, noise, safeNoise).
			With("algorithm.name", "algorithm.levels", "algorithm.rounding", "algorithm.controller.min_bits")
	}
	for range 50 {
		middle := (least + most) / 2
		if grid.Noise(amplified(middle)) <= safeNoise {
			least = middle
		} else {
			most = middle
		}
	}
	return least, nil
}

// twoDigits rounds v > 0 to two significant digits.
func twoDigits(v float64) float64 {
	text := strconv.FormatFloat(v, 'e', 1, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(rounded, 0) {
		panic(fmt.Sprintf("internal error: experiment: %v is not a factor", v))
	}
	return rounded
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
