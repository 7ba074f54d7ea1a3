package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
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
func (r *Run) chooseGamma() (configs.Auto, error) {
	if r.method.Gamma == nil {
		return 0, nil
	}
	a := r.cfg.Algorithm
	c := a.Compressor
	if r.controlled() {
		c.Bits = a.Controller.MinBits
	}
	f, err := faithful(c, r.compressed())
	if err != nil {
		return 0, err
	}
	made, err := newCompressor(c, r.compressed(), 0)
	if err != nil {
		return 0, err
	}
	fix, most := r.unsuited(c, made), float64(mostNoise)
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
	if beta := spectrum.Beta; beta > 0 && f != lossless {
		gamma = min(1, r.method.Gamma(f, beta))
	}
	return configs.Auto(twoDigits(gamma)), nil
}

// lossless is the fidelity of a compressor that sends everything.
var lossless = registry.Fidelity{Share: 1, Gain: 1}

// faithful measures a compressor for models of d parameters. The error of a grid with a given step does not depend on
// the vector, so no feedback lets it grow.
func faithful(c configs.Compressor, d int) (registry.Fidelity, error) {
	if row, _ := registry.FindCompressor(c.Name); row.Fixed {
		return lossless, nil
	}
	if c.K > 0 {
		c.K, c.Ratio = 0, float64(c.K)/float64(d)
	}
	if c.Bucket == 0 && d < sample {
		c.Bucket = d
	}
	z := Normal(sample)
	_, _, out, err := compressOnce(c, z)
	if err != nil {
		return registry.Fidelity{}, err
	}
	var inner, sent, whole float64
	for i := range z {
		inner += float64(out[i]) * float64(z[i])
		sent += float64(out[i]) * float64(out[i])
		whole += float64(z[i]) * float64(z[i])
	}
	return registry.Fidelity{Share: inner / whole, Gain: sent / inner}, nil
}
