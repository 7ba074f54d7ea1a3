package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/compress"
)

const (
	// mostGain is the gain at and above which error feedback amplifies errors at every step size.
	mostGain = 2
	// mostNoise is the same bound for random compressors that are no contraction. It is lower because models have more
	// outliers than the normal vector, and noise grows with outliers.
	mostNoise = 1.2
)

// chooseGamma returns the consensus step that auto stands for, 0 for algorithms without one. It has two digits, like
// the slack, so that all workers compute the same value.
func chooseGamma(r *Run) (configs.Auto, error) {
	if r.method.Gamma == nil {
		return 0, nil
	}
	a := r.cfg.Algorithm
	c := a.Compressor
	if bits.Controlled(r.cfg.Algorithm.Controller) {
		c.Bits = a.Controller.MinBits
	}
	of := r.compressors
	f, err := compress.Faithful(c, of.Length())
	if err != nil {
		return 0, err
	}
	made, err := compress.New(c, of.Length(), 0)
	if err != nil {
		return 0, err
	}
	fix, most := of.Unsuited(made), float64(mostNoise)
	if fix == "" {
		fix, most = "take more bits", mostGain
	}
	if !(f.Share > 0) || f.Gain >= most {
		return 0, configs.Errorf("algorithm.compressor.name",
			"%s with %s has no stable gamma: the decoded vector is %.3g times too large, "+
				"and must be less than %v times: %s; or give an algorithm.gamma of your own", a.Name, c.Name, f.Gain, most, fix).
			With("algorithm.name", "algorithm.compressor.bits", "algorithm.controller.min_bits")
	}
	spectrum, err := r.graph.Spectrum()
	if err != nil {
		return 0, configs.Errorf("algorithm.gamma", "%v: give a gamma instead of auto", err).With("topology.size")
	}
	gamma := 1.0
	if beta := spectrum.Beta; beta > 0 && f != compress.Lossless {
		gamma = min(1, r.method.Gamma(f, beta))
	}
	return configs.Auto(twoDigits(gamma)), nil
}
