package main

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/vec"
	"gossiptrainer/quant"
)

// A curve is the variance of a quantizer over a run.
type curve struct {
	row
	rounds   []int
	variance []float64 // E |C(g) − g|²/|g|² in those rounds
}

// follow returns the variance in the rounds that the plan looks at. Adaptive levels are fitted to the gradients of the
// plan's fitting rounds.
func (r row) follow(p plan, samples []sample) (curve, error) {
	c := curve{row: r}
	run, err := r.run(p.fits(), p.more)
	if err != nil {
		return c, err
	}
	made, err := run.Compressors().Make(0, nil)
	if err != nil {
		return c, err
	}
	exact, ok := made.(quant.Varied)
	if !ok {
		return c, fmt.Errorf("%s: no variance in closed form", r.name)
	}
	looked := p.looked()
	for _, s := range samples {
		if err := adapt(made, s); err != nil {
			return c, fmt.Errorf("%s: %w", r.name, err)
		}
		if slices.Contains(looked, s.round) {
			relative := exact.Variance(s.gradient) / vec.Dot(s.gradient, s.gradient)
			c.rounds, c.variance = append(c.rounds, s.round), append(c.variance, relative)
		}
	}
	return c, nil
}

// adapt fits the levels of an adaptive compressor in the rounds of its schedule.
func adapt(c quant.Compressor, s sample) error {
	if _, adapts := c.(*quant.Adaptive); !adapts {
		return nil
	}
	_, err := c.Compress(nil, s.round, s.gradient)
	return err
}

// mean returns the mean of the variance over the run.
func (c curve) mean() float64 {
	sum := 0.0
	for _, v := range c.variance {
		sum += v
	}
	return sum / float64(len(c.variance))
}

// last returns the variance at the end.
func (c curve) last() float64 { return c.variance[len(c.variance)-1] }

// above counts the rounds in which the variance exceeds that of another curve.
func (c curve) above(other curve) int {
	count := 0
	for i, v := range c.variance {
		if v > other.variance[i] {
			count++
		}
	}
	return count
}

// named returns the curve of that name.
func named(curves []curve, name string) curve {
	for _, c := range curves {
		if c.name == name {
			return c
		}
	}
	panic("internal error: no curve " + name)
}

// followAll returns the curves of the figure.
func followAll(p plan, samples []sample) ([]curve, error) {
	var curves []curve
	for _, r := range figured() {
		c, err := r.follow(p, samples)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	return curves, nil
}
