package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/bits"
)

// checkController makes sure that there are bits for the controller to choose.
func checkController(r *Run) error {
	if !bits.Controlled(r.cfg.Algorithm.Controller) {
		return nil
	}
	a := r.cfg.Algorithm
	plan := gossip.AgreementPlan{Diameter: r.graph.Reach(), Every: a.LocalSteps}
	if _, err := bits.Agree(a.Controller, r.cfg.Seed, 0, plan); err != nil {
		return configs.Errorf("algorithm.controller.min_bits", "%v", err).With("algorithm.controller.max_bits")
	}
	switch {
	case quantized(r):
	case !r.compressors.HasBits():
		return configs.Errorf("algorithm.controller.name", "the compressor %s has no bits to choose: "+
			"must be fix, or the compressor one with bits, like minmax, got %s", a.Compressor.Name, a.Controller.Name).
			With("algorithm.compressor.name")
	default:
		if _, err := r.compressors.Make(0, nil); err != nil {
			return configs.Errorf("algorithm.controller.min_bits", "%v", err).
				With("algorithm.controller.max_bits", "algorithm.compressor.name")
		}
	}
	return nil
}
