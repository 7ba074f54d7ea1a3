package experiment

import (
	"fmt"
	"math"
	"strconv"

	"gossiptrainer/configs"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/topology"
)

const (
	// safeNoise is the share of theta, as a root mean square, that differences between neighbours may have from
	// rounding alone. Runs diverge above about 0.32; with much less than 0.2 they mix too slowly. See
	// docs/design/2026-11-slack.md.
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
