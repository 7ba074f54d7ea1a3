package experiment

import (
	"math"

	"gossiptrainer/configs"
)

const (
	// safeChoco is the gamma of Choco as a share of the one at which it stops to
	// converge.
	safeChoco = 0.8
	// safeSqueeze is how far the errors that DeepSqueeze feeds back may move a model
	// in one exchange, as a share of its length.
	safeSqueeze = 0.08
	// sample is the length of the vector that compressors are measured on.
	sample = 1 << 16
)

// A fidelity says how C(z) relates to z, as measured on a normal vector.
type fidelity struct {
	share float64 // s = ⟨C(z), z⟩/|z|²: of z that arrives
	gain  float64 // t = |C(z)|²/⟨C(z), z⟩: 1 for a projection, above 1 with noise
}

// consensusSteps are the rules of algorithm.gamma: the largest safe step of an
// algorithm on a graph with β = 1 − λₙ. docs/slack.md derives them.
var consensusSteps = map[string]func(f fidelity, beta float64) float64{
	"choco": func(f fidelity, beta float64) float64 {
		return safeChoco * (2 - f.gain) / (f.gain/f.share + f.gain/2 - 1) / beta
	},
	"deepsqueeze": func(f fidelity, beta float64) float64 {
		return safeSqueeze * math.Sqrt(f.share/max(f.gain-f.share, 0)) / beta
	},
}

const (
	// mostGain is the gain from which on errors grow in the feedback of any step.
	mostGain = 2
	// mostNoise is the same of random compressors that are no contraction. Models have
	// more outliers than the normal vector has, and their noise grows with outliers.
	mostNoise = 1.2
)

// assembleGamma chooses the consensus step of algorithms that have one. It has two
// digits, as the slack has, so that all workers find the same one.
func (r *Run) assembleGamma() error {
	a := &r.cfg.Algorithm
	rule, ok := consensusSteps[a.Name]
	if !ok || a.Gamma != configs.Computed {
		return nil
	}
	c := a.Compressor
	if r.controlled() {
		c.Bits = a.Controller.MinBits
	}
	f, err := faithful(c, r.dim)
	if err != nil {
		return err
	}
	made, err := newCompressor(c, r.dim, 0)
	if err != nil {
		return err
	}
	fix, most := r.method.unsuited(c, made.Properties()), float64(mostNoise)
	if fix == "" {
		fix, most = "take more bits", mostGain
	}
	if !(f.share > 0) || f.gain >= most {
		return configs.Errorf("algorithm.compressor.name", "%s with %s has no stable gamma: what arrives is %.3g times too large, "+
			"and must be less than %v times: %s; or give an algorithm.gamma of your own", a.Name, c.Name, f.gain, most, fix).
			With("algorithm.name", "algorithm.compressor.bits", "algorithm.controller.min_bits")
	}
	spectrum, err := r.graph.Spectrum()
	if err != nil {
		return configs.Errorf("algorithm.gamma", "%v: give a gamma instead of auto", err).With("topology.size")
	}
	gamma := 1.0
	if beta := spectrum.Beta; beta > 0 && f != lossless {
		gamma = min(1, rule(f, beta))
	}
	a.Gamma = configs.Auto(twoDigits(gamma))
	return nil
}

// lossless is the fidelity of what sends all.
var lossless = fidelity{share: 1, gain: 1}

// faithful measures a compressor for models of d parameters. The error of a grid
// whose step is given does not follow what is sent, so that no feedback lets it grow.
func faithful(c configs.Compressor, d int) (fidelity, error) {
	if c.Name == "linear" {
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
		return fidelity{}, err
	}
	var inner, sent, whole float64
	for i := range z {
		inner += float64(out[i]) * float64(z[i])
		sent += float64(out[i]) * float64(out[i])
		whole += float64(z[i]) * float64(z[i])
	}
	return fidelity{share: inner / whole, gain: sent / inner}, nil
}
