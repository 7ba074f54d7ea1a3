package experiment

import (
	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// admitD2 says why D² does not converge on g, nil if it does.
func admitD2(g *topology.Graph) error {
	spectrum, err := g.Spectrum()
	if err != nil {
		return configs.Errorf("topology.size", "%v", err)
	}
	if spectrum.D2Admissible() {
		return nil
	}
	spec := g.Spec()
	return configs.Errorf("topology.slack", "d2 needs a W with λₙ > -1/3, and %s with slack %.4g has %.4g: set the slack below %.4g, or to auto",
		spec, spec.Slack, spectrum.LambdaN, spec.Slack*spectrum.D2MaxSlack()).With("algorithm.name", "topology.kind", "topology.size")
}

func buildD2(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	codec, err := r.codec(rank)
	if err != nil {
		return nil, err
	}
	return &algos.D2{X: x, Alpha: r.schedule.StepSize, Codec: codec, Every: r.cfg.Algorithm.LocalSteps}, nil
}

// certificate returns what the certified rule needs to know of the graph: its
// path sums, for D² those of the response of z.
func (r *Run) certificate(s topology.Spectrum, rounding moniqua.Rounding) (moniqua.Certified, error) {
	c := moniqua.Certified{S: s.S, S1: s.S1, Rho: s.Rho, Levels: r.levels(), Rounding: rounding}
	if r.cfg.Algorithm.Name != "d2" {
		return c, nil
	}
	var err error
	c.S, c.S1, err = r.graph.D2Sums(s)
	c.Rho = s.D2Rho()
	return c, err
}
