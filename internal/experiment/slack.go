package experiment

import (
	"fmt"
	"math"
	"strconv"

	"gossiptrainer/configs"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

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
func (r *Run) chooseSlack(g *topology.Graph) (_ *topology.Graph, err error) {
	slack, spec := 1.0, g.Spec()
	noise, noisy := g.Noise, r.quantized()
	if spec.Kind.Static() {
		if noisy, err = r.noisy(g); err != nil {
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
				p := r.settings()
				p.Slack = slack
				return r.method.Theta.Noise(spectrum, p)
			}
		}
	}
	if noisy {
		if slack, err = r.quietSlack(noise, slack); err != nil {
			return nil, err
		}
	}
	spec.Slack = twoDigits(slack)
	return topology.New(spec)
}

// noisy says whether the noise of rounding can be too large on g at all. A quick test suffices where the largest degree
// bounds the amplification.
func (r *Run) noisy(g *topology.Graph) (bool, error) {
	if !r.quantized() {
		return false, nil
	}
	grid, err := r.unitGrid()
	if err != nil {
		return false, err
	}
	degree := 0
	for i := range g.N() {
		degree = max(degree, g.Degree(topology.Rank(i)))
	}
	return !r.method.Theta.ByDegree || grid.Noise(float64(degree)) > safeNoise, nil
}

// unitGrid is the grid of theta = 1 with the fewest levels that the run may use.
func (r *Run) unitGrid() (moniqua.Grid, error) {
	rounding, err := moniqua.ParseRounding(r.cfg.Algorithm.Rounding)
	grid := moniqua.Grid{Theta: 1, Levels: r.levels(), Rounding: rounding}
	if err == nil {
		err = grid.Check()
	}
	if err != nil {
		return grid, configs.Errorf("algorithm.rounding", "%v", err).With("algorithm.bits", "algorithm.levels")
	}
	return grid, nil
}

// quietSlack returns the largest slack up to most at which the noise of rounding is
// safe. The noise grows with the slack.
func (r *Run) quietSlack(amplified func(slack float64) float64, most float64) (float64, error) {
	grid, err := r.unitGrid()
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
