package experiment

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// autoShare is the slack that topology.auto_slack takes, as a share of the
// largest that D² admits: at the bound itself an error never dies out.
const autoShare = 0.9

// admitD2 returns g, or with topology.auto_slack g with less slack, if D²
// converges on it.
func admitD2(r *Run, g *topology.Graph) (*topology.Graph, error) {
	spectrum, err := g.Spectrum()
	if err != nil {
		return nil, configs.Errorf("topology.size", "%v", err)
	}
	if spectrum.D2Admissible() {
		return g, nil
	}
	spec := g.Spec()
	largest := spec.Slack * spectrum.D2MaxSlack()
	if !r.cfg.Topology.AutoSlack {
		return nil, configs.Errorf("topology.slack", "d2 needs a W with λₙ > -1/3, and %s with slack %.4g has %.4g: set the slack below %.4g, or topology.auto_slack: true",
			spec, spec.Slack, spectrum.LambdaN, largest).With("algorithm.name", "topology.kind", "topology.size")
	}
	spec.Slack = autoShare * largest
	r.warnings = append(r.warnings, fmt.Sprintf("d2: topology.slack is %.4g instead of %.4g, for d2 needs less than %.4g here", spec.Slack, r.cfg.Topology.Slack, largest))
	return topology.New(spec)
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
